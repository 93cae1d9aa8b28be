use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::rules::RULES;
use super::{Known, Masks, secrets_of};
use crate::screen::grid::{Grid, Row};

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn masks() -> Masks {
    Masks::new(Known {
        homes: strings(&["/home/ada", "/"]),
        names: strings(&["ada", "lovelace.example", "lovelace", "root", "me"]),
        secrets: strings(&["correct-horse-battery", "abc"]),
    })
}

/// Letters and digits of a key, assembled here so that secret scanners do not report this file.
fn key(length: usize) -> String {
    "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0".chars().cycle().take(length).collect()
}

/// Keys of all kinds that are recognised by their form.
fn keys() -> Vec<String> {
    let upper = key(16).to_uppercase();
    [
        format!("sk-ant-api03-{}", key(95)),
        format!("sk-proj-{}", key(48)),
        format!("sk-{}", key(40)),
        format!("AIza{}", key(35)),
        format!("ghp_{}", key(36)),
        format!("github_pat_{}", key(60)),
        format!("glpat-{}", key(20)),
        format!("xoxb-123456789012-{}", key(24)),
        format!("AKIA{upper}"),
        format!("sk_live_{}", key(24)),
        format!("eyJ{}.eyJ{}.{}", key(20), key(40), key(43)),
    ]
    .into()
}

#[test]
fn secrets_in_texts_are_hidden() {
    let k = key(30);
    let table: Vec<(String, String)> = vec![
        (format!("key sk-ant-api03-{k}."), format!("key sk-ant-api03-{}.", "x".repeat(30))),
        (format!("sk-ant-...{}", key(20)), format!("sk-ant-...{}", "x".repeat(20))),
        (format!("a AIza{k} b"), format!("a AIza{} b", "x".repeat(30))),
        (format!("ghp_{k}"), format!("ghp_{}", "x".repeat(30))),
        (format!("Authorization: Bearer {k}"), format!("Authorization: Bearer {}", "x".repeat(30))),
        (format!("bearer {k}"), format!("bearer {}", "x".repeat(30))),
        ("password=hunter2 x".into(), "password=xxxxxxx x".into()),
        ("password: 'correct horse'".into(), "password: 'xxxxxxx xxxxx'".into()),
        (r#"{\"token\": \"a b\"}"#.into(), r#"{\"token\": \"x x\"}"#.into()),
        ("GITHUB_TOKEN=abc1 make".into(), "GITHUB_TOKEN=xxxx make".into()),
        ("api_key: 4f2a99b1".into(), "api_key: xxxxxxxx".into()),
        ("--token 4f2a".into(), "--token xxxx".into()),
        ("https://u:p4ss@h.test/".into(), "https://u:xxxx@x.xxxx/".into()),
        ("?a=1&key=4f2a#x".into(), "?a=1&key=xxxx#x".into()),
        ("ada.l+x@mail.example.com,".into(), "xxx.x.x@xxxx.xxxxxxx.xxx,".replace("x.x.x", "x.xxx")),
        ("in /home/ada/p, /home/ada.".into(), "in ~/p, ~.".into()),
        ("/home/adam /srv/home/ada".into(), "/home/adam /srv/home/xxx".into()),
        (".claude/projects/-home-ada-p/x".into(), ".claude/projects/~-p/x".into()),
        ("ada@lovelace:~$ malice".into(), "xxx@xxxxxxxx:~$ malice".into()),
        ("on lovelace.example".into(), "on xxxxxxxxxxxxxxxx".into()),
        ("x correct-horse-battery y abc".into(), "x xxxxxxxxxxxxxxxxxxxxx y abc".into()),
    ];
    for (text, masked) in table {
        assert_eq!(masks().text(&text), masked, "{text}");
    }
}

#[test]
fn what_is_not_a_secret_stays() {
    for text in [
        "root and me, the user of localhost",
        "max_tokens: 4096, input_tokens=12",
        "token: expired; the token is missing",
        "password=$DB_PASSWORD token=${TOKEN} secret=<secret> api_key=null",
        "risk-averse task-force sk-learn-contrib-package",
        "esc to interrupt · ctrl+c to quit",
        "npm install -g @openai/codex@0.166.0",
        "bearer of bad news, bearer authentication",
        "cookies are fine",
    ] {
        assert_eq!(masks().text(text), text);
    }
}

#[test]
fn visible_parts_of_private_keys_are_hidden() {
    let begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
    let end = "-----END OPENSSH PRIVATE KEY-----";
    let (k, x) = (key(64), "x".repeat(64));
    let masked = |text: &str| masks().screen(text, 80);
    let whole = |k: &str, l: &str| format!("│ {begin} │\n│ 1 {k} │\n│ {l} │\n{end}\nDone.\n");
    let numbered = whole(&x, "xxxx").replace("│ 1 ", "│ x ");
    assert_eq!(masked(&whole(&k, "AAA=")), numbered);
    let upper = |k: &str| format!("{begin}\n  {k}\n\nesc to interrupt\n");
    assert_eq!(masked(&upper(&k)), upper(&x));
    let lower = |k: &str| format!("Here it is:\n  {k}\n  {end}\nDone.\n");
    assert_eq!(masked(&lower(&k)), lower(&x));
    let line = |k: &str, n: &str| format!("{begin}\\{n}{k}\\{n}{end}");
    assert_eq!(masks().text(&line(&k, "n")), line(&"x".repeat(65), "").replace("\\-", "\\x-"));
}

#[test]
fn long_secrets_are_hidden_to_their_end() {
    for length in [500, 5_000, 50_000] {
        let token = format!("eyJ{}.eyJ{}.{}", key(40), key(length), key(43));
        let masked = masks().text(&format!("token {token}\nthe end"));
        assert!(masked.ends_with("xxx\nthe end") && !masked.contains("Ab1"), "{length}");
    }
    // After many words that are not secrets.
    let none = "a token, a key and a secret: nothing to hide, me@home. ".repeat(200);
    let masked = masks().text(&format!("{none}password=hunter2 {none}"));
    assert_eq!(masked, format!("{none}password=xxxxxxx {none}"));
}

#[test]
fn json_stays_json() {
    let value = json!({
        "/home/ada/p": {"cwd": "/home/ada", "n": 3.5, "none": null},
        "env": {"PGPASSWORD": "a \"b\"", "tokens": 12, "key": "Enter"},
        "auth": {"accessToken": ["abcdef", {"x": "y"}]},
        "text": format!("line\n\"sk-ant-api03-{}\"\n", key(40)),
    });
    let masked = masks().json(value);
    assert_eq!(
        masked,
        json!({
            "~/p": {"cwd": "~", "n": 3.5, "none": null},
            "env": {"PGPASSWORD": "x xxx", "tokens": 12, "key": "Enter"},
            "auth": {"accessToken": ["xxxxxx", {"x": "x"}]},
            "text": format!("line\n\"sk-ant-api03-{}\"\n", "x".repeat(40)),
        })
    );
    let command = json!(["x", "--api-token", "4f2a", "--token=4f2a", "-v", "4f2a"]);
    let masked = json!(["x", "--api-token", "xxxx", "--token=xxxx", "-v", "4f2a"]);
    assert_eq!(masks().json(command), masked);
    let endpoint = json!({"port": 1, "password": "4f2a", "more": {"api_key": "b"}, "key": "c"});
    assert_eq!(secrets_of(&endpoint), ["4f2a", "b"]);
    let homes = json!({"/home/ada": 1, "~": 2});
    assert_eq!(masks().json(homes), json!({"~": 1, "~#2": 2}));
    let lines = "{\"a\":\"/home/ada\"}\nno json: /home/ada\n";
    assert_eq!(masks().json_lines(lines), "{\"a\":\"~\"}\nno json: ~\n");
}

#[test]
fn a_screen_keeps_its_columns_and_its_colours() {
    let screen = "\x1b[1m/home/ada/p\x1b[0m  \x1b[2mada\x1b[22m  │ é correct-\x1b[31mhorse-battery │\r\n\t/home/ada \x1b]8;;file:///home/ada/p\x1b\\link\x1b]8;;\x1b\\";
    let masked = "\x1b[1m~~~~~~~~~/p\x1b[0m  \x1b[2mxxx\x1b[22m  │ é xxxxxxxx\x1b[31mxxxxxxxxxxxxx │\r\n\t~~~~~~~~~ \x1b]8;;file://~/p\x1b\\link\x1b]8;;\x1b\\";
    assert_eq!(masks().screen(screen, 80), masked);
    assert_eq!(masks().screen("password=日本 é", 80), "password=ｘｘ é");
}

/// How real agents broke an answer with two long keys, in panes of 80 and 150 columns.
#[test]
fn keys_that_real_agents_broke() {
    let screens = [
        (include_str!("../../testdata/masked/claude-80.txt"), 80),
        (include_str!("../../testdata/masked/codex-80.txt"), 80),
        (include_str!("../../testdata/masked/gemini-80.txt"), 80),
        (include_str!("../../testdata/masked/opencode-80.txt"), 80),
        (include_str!("../../testdata/masked/opencode-150.txt"), 150),
    ];
    for (screen, width) in screens {
        // See `key`.
        let screen = screen.replace("sk-lab-", "sk-ant-").replace("lab_", "ghp_");
        let masked = masks().screen(&screen, width);
        assert!(screen.contains("Mn7Op8Qr9St0"), "the keys are there");
        for part in ["Ab1", "Cd2", "Ef3", "Gh4", "Yz6", "Wx2", "AbCdEfAA", "v1W", "5Yz6"] {
            assert!(!masked.contains(part), "{part} in\n{masked}");
        }
        for word in [
            "show me the key",
            "asked for:",
            "sk-ant-api03-",
            "that is",
            "all of it.",
            "item with",
            "Done.",
        ] {
            assert!(masked.contains(word), "{word:?} is missing in\n{masked}");
        }
        assert_eq!(widths(&masked), widths(&screen));
    }
}

fn widths(screen: &str) -> Vec<usize> {
    let mut grid = Grid::parse(screen.as_bytes());
    grid.keep_last(0);
    grid.rows().iter().map(Row::columns).collect()
}

#[test]
fn a_key_below_a_sentence_leaves_the_next_row_alone() {
    let screen = format!("  use ghp_{}\n\n  esc to interrupt\n  Working\n", key(36));
    assert!(masks().screen(&screen, 80).ends_with("\n\n  esc to interrupt\n  Working\n"));
    let screen = format!("  use ghp_{}\n  esc to interrupt\n", key(36));
    assert!(masks().screen(&screen, 80).ends_with("\n  esc to interrupt\n"));
}

#[test]
fn a_key_ends_where_its_row_is_full_except_for_a_column() {
    let screen = "  ┃  and the key AKIA   a panel\n  ┃  AB1CD2EF3GH4IJ5K   a panel\n  ┃  a                  a panel\n";
    assert!(!masks().screen(screen, 41).contains("GH4IJ5K"));
}

#[test]
fn every_rule_has_a_part_to_hide_and_a_name() {
    for rule in &RULES.rules {
        assert!(!rule.name.is_empty() && rule.has_hidden_part(), "{}", rule.name);
    }
}

/// How a row of an agent's text is drawn.
#[derive(Debug, Clone, Copy)]
enum Look {
    /// The terminal breaks at its last column.
    Terminal,
    Indented,
    Framed,
    BesidePanel,
}

/// Breaks words into rows as agents do: a word that does not fit goes to the next row or, if it is longer than a
/// row, is broken.
fn laid_out(words: &[String], width: usize, look: Look, eager: bool) -> String {
    let inner = match look {
        Look::Terminal => width,
        Look::Indented => width - 4,
        Look::Framed => width - 6,
        Look::BesidePanel => width - 24,
    };
    let mut rows = vec![String::new()];
    for word in words {
        let mut rest = word.as_str();
        let row = rows.last().map_or(0, |row| row.width());
        if row > 0 && row + 1 + rest.width() > inner && !eager {
            rows.push(String::new());
        } else if row > 0 {
            rows.last_mut().unwrap().push(' ');
        }
        while !rest.is_empty() {
            let row = rows.last_mut().unwrap();
            let room = inner.saturating_sub(row.width());
            let cut = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            let cut = cut.take_while(|at| rest[..*at].width() <= room).last().unwrap_or(0);
            row.push_str(&rest[..cut]);
            rest = &rest[cut..];
            if !rest.is_empty() {
                rows.push(String::new());
            }
        }
    }
    let drawn = rows.iter().enumerate().map(|(n, row)| {
        let gap = " ".repeat(inner.saturating_sub(row.width()));
        match look {
            Look::Terminal => format!("{row}\n"),
            Look::Indented if n == 0 => format!("● {row}\n"),
            Look::Indented => format!("  {row}\n"),
            Look::Framed => format!("│ \x1b[2m{row}\x1b[0m{gap}  │\n"),
            Look::BesidePanel => format!("  ┃  {row}{gap}   a panel, row {n}\n"),
        }
    });
    drawn.collect()
}

/// Joins the rows of a screen again.
fn put_together(screen: &str, look: Look) -> String {
    let grid = Grid::parse(screen.as_bytes());
    let rows = grid.rows().iter().map(|row| {
        let row = match look {
            Look::BesidePanel => row.text().split("   a panel").next().unwrap_or_default(),
            _ => row.text(),
        };
        row.trim_matches(|c: char| " │┃●".contains(c)).to_owned()
    });
    rows.collect()
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,9}", "[a-z]{1,4}[.,]", "[日本語é]{1,3}", Just("/home/ada/p".to_owned())]
}

fn any_look() -> impl Strategy<Value = Look> {
    prop_oneof![
        Just(Look::Terminal),
        Just(Look::Indented),
        Just(Look::Framed),
        Just(Look::BesidePanel)
    ]
}

proptest! {
    #[test]
    fn no_secret_survives_however_it_is_broken(
        before in prop::collection::vec(word(), 0..20),
        which in 0_usize..12,
        after in prop::collection::vec(word(), 0..20),
        width in 40_usize..120,
        look in any_look(),
        eager in any::<bool>(),
    ) {
        let mut secrets = keys();
        secrets.push("correct-horse-battery".to_owned());
        let secret = secrets[which].clone();
        let words = [before, vec![secret.clone()], after].concat();
        let screen = laid_out(&words, width, look, eager);
        prop_assert!(put_together(&screen, look).contains(&secret), "{screen}");
        let masked = masks().screen(&screen, width);
        let together = put_together(&masked, look);
        prop_assert!(!together.contains(&secret), "{masked}");
        // Nor a large part of it.
        let tail: String = secret.chars().skip(secret.chars().count() - 8).collect();
        prop_assert!(!together.contains(&tail), "{tail} in {masked}");
        prop_assert!(!masked.contains("/home/ada"), "{masked}");
        prop_assert_eq!(widths(&masked), widths(&screen));
        prop_assert_eq!(masks().screen(&masked, width), masked);
    }

    #[test]
    fn anything_keeps_its_columns_and_is_masked_once(
        text in "([ -~]|\n|\t|\x1b\\[[0-9;]{0,4}m|é|日|password=|sk-ant-|/home/ada|@|│|\u{301}){0,120}",
        width in 0_usize..90,
    ) {
        let masked = masks().screen(&text, width);
        prop_assert_eq!(widths(&masked), widths(&text));
        prop_assert_eq!(masks().screen(&masked, width), masked);
        let flat = masks().text(&text);
        prop_assert_eq!(masks().text(&flat), flat);
    }

    #[test]
    fn any_json_stays_json_and_no_text_of_it_has_a_secret(text in "[ -~é\n]{0,40}", which in 0_usize..11) {
        let value = json!({ "a": format!("{text} {} {text}", keys()[which]), "b": [text] });
        let masked = masks().json(value.clone());
        let written = masked.to_string();
        prop_assert!(!written.contains(&keys()[which]));
        prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), masked.clone());
        prop_assert_eq!(masks().json(masked.clone()), masked);
    }
}
