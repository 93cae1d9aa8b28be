use super::*;

fn plain(table: &Table) -> String {
    anstream::adapter::strip_str(&table.to_string()).to_string()
}

#[test]
fn aligned_and_wrapped() {
    let mut table = Table::new(&["NAME", "WHY"], Some(18));
    table.row(["日本".into(), "short".into()]);
    table.row(["a".into(), "rather too long".into()]);
    assert_eq!(plain(&table), "NAME\n  WHY\n日本\n  short\na\n  rather too long");
}

#[test]
fn no_blanks_at_the_end() {
    let mut table = Table::new(&["NAME", "FOUND", "REMEDY"], None);
    table.row(["tmux".into(), "3.3a".into(), "".into()]);
    assert_eq!(plain(&table), "NAME  FOUND  REMEDY\ntmux  3.3a");
}

#[test]
fn colours_take_no_room() {
    let mut table = Table::new(&["S", "W"], None);
    table.row([Cell::painted("ok", AnsiColor::Green), "x".into()]);
    let text = table.to_string();
    assert!(text.contains("\u{1b}[32mok\u{1b}[0m  x"), "{text:?}");
}

fn sessions(width: usize) -> Table {
    let header = ["NAME", "AGENT", "STATE", "AGE", "FOLDER", "WHY"];
    let mut table = Table::new(&header, Some(width)).spare(&["WHY"]);
    let row = |name: &str| -> [Cell; 6] {
        let folder = "~/projects/customers/acme/api";
        let why = "the pane exists; the agent has not started yet";
        [name.into(), "claude".into(), "alive".into(), "12s".into(), folder.into(), why.into()]
    };
    table.row(row("api"));
    table.row(row("sa-work-261115-121134-e1-s1-2-dev"));
    table
}

#[test]
fn a_column_is_left_out_and_paths_lose_their_beginning() {
    let drawn = plain(&sessions(80));
    assert_eq!(
        drawn,
        "NAME                               AGENT   STATE  AGE  FOLDER\n\
         api                                claude  alive  12s  …/customers/acme/api\n\
         sa-work-261115-121134-e1-s1-2-dev  claude  alive  12s  …/customers/acme/api"
    );
    assert!(plain(&sessions(200)).contains("has not started yet"));
}

#[test]
fn texts_of_people_are_cut() {
    let mut table = Table::new(&["ID", "TEXT"], Some(24));
    table.row(["0123".into(), "Write the tests, please".into()]);
    assert_eq!(plain(&table), "ID    TEXT\n0123  Write the tests, …");
}

#[test]
fn a_remedy_goes_on_below() {
    let header = ["CHECK", "HEALTH", "FOUND", "REMEDY"];
    let mut table = Table::new(&header, Some(60));
    let remedy = "npm install -g @anthropic-ai/claude-code and log in once";
    table.row(["claude".into(), "missing".into(), "not found".into(), remedy.into()]);
    let expected = [
        "CHECK   HEALTH   FOUND      REMEDY",
        "claude  missing  not found  npm install -g",
        "                            @anthropic-ai/claude-code and",
        "                            log in once",
    ];
    assert_eq!(plain(&table), expected.join("\n"));
}

/// Whatever the width: no line is wider, and every name, state and diagnosis is there in full.
#[test]
fn nothing_that_matters_is_lost_at_any_width() {
    for width in 12..120 {
        let mut table =
            Table::new(&["NAME", "AGENT", "STATE", "FOR", "BASIS", "DETAIL"], Some(width));
        table = table.spare(&["BASIS"]);
        let detail = "permission: Bash rm -rf /tmp/x and then much more";
        table.row([
            "api".into(),
            "claude".into(),
            "waiting".into(),
            "4s".into(),
            "asserted".into(),
            detail.into(),
        ]);
        let drawn = plain(&table);
        assert!(drawn.lines().all(|line| line.width() <= width), "{width}:\n{drawn}");
        let squeezed: String = drawn.split_whitespace().collect();
        for word in ["api", "claude", "waiting", "4s", &detail.replace(' ', "")] {
            assert!(squeezed.contains(word), "{width}: {word}\n{drawn}");
        }
    }
}

fn statuses(width: usize) -> String {
    let header = [
        "NAME", "AGENT", "STATE", "FOR", "TITLE", "PROJECT", "CONTEXT", "TOKENS", "COST", "BASIS",
        "DETAIL",
    ];
    let mut table = Table::new(&header, Some(width)).optional(
        &["BASIS"],
        &["AGENT"],
        &["TOKENS", "COST", "PROJECT", "CONTEXT", "TITLE"],
    );
    let row = |name: &str, detail: &str| -> Vec<Cell> {
        let title = "Rate limits of the public API and their documentation";
        let cells = [
            "claude",
            "waiting",
            "3m",
            title,
            "shop@main",
            "62% left",
            "12.3k",
            "$0.42",
            "asserted",
            detail,
        ];
        [name].iter().chain(&cells).map(|text| (*text).into()).collect()
    };
    table.row(row("api", "permission: Bash rm -rf build; this is a rather long command"));
    table.row(row("login-page", ""));
    plain(&table)
}

#[test]
fn columns_are_chosen_by_width() {
    assert_eq!(
        statuses(80),
        "NAME        STATE    FOR  TITLE               PROJECT    CONTEXT   TOKENS  COST\n\
         \x20 DETAIL\n\
         api         waiting  3m   Rate limits of th…  shop@main  62% left  12.3k   $0.42\n\
         \x20 permission: Bash rm -rf build; this is a rather long command\n\
         login-page  waiting  3m   Rate limits of th…  shop@main  62% left  12.3k   $0.42"
    );
    for (width, shown, hidden) in [
        (70, "COST", "TOKENS"),
        (40, "TITLE", "CONTEXT"),
        (100, "AGENT", "BASIS"),
        (200, "BASIS", "nothing"),
    ] {
        let drawn = statuses(width);
        assert!(drawn.contains(shown) && !drawn.contains(hidden), "{width}\n{drawn}");
        let widest = drawn.lines().map(UnicodeWidthStr::width).max().unwrap();
        assert!(widest <= width, "{width}\n{drawn}");
    }
}
