//! The tabs of a session, and the views beside the queue.

use std::process::Stdio;

use dogwatch_testkit::{Project, TestEnv, eventually};

use super::terminal::Terminal;

#[test]
fn a_question_is_answered() {
    let env = TestEnv::new();
    let raise =
        ["escalations", "raise", "commit_failed", "conflict in parser.rs", "--story", "1.2"];
    let _ = env.dogwatch(&raise).success();
    let terminal = Terminal::top(&env, (100, 30));
    terminal.keys(&["Q"]);
    terminal.shows("story 1.2: conflict in parser.rs");
    terminal.shows("Continue without a commit");
    terminal.keys(&["a"]);
    terminal.shows("choose an option");
    terminal.keys(&["2"]);
    terminal.shows("question 1: option 2");
    terminal.shows("no open questions");
    let shown = env.dogwatch(&["escalations", "show", "1", "--json"]).success().json();
    assert_eq!(shown["settled"]["option"], 2, "{shown:#}");
}

const FLOW: &str = r#"
name = "two"
items = ["alpha", "beta"]
[[step]]
id = "write"
run = ["sh", "-c", "[ -e $NOTES/tried ] || { touch $NOTES/tried; exit 1; }; echo {item} > {item}.txt"]
verify = [{ kind = "files", glob = "{item}.txt", count = 1 }]
retry = { crash = { times = 3 }, unverified = { times = 3 } }
[[step]]
id = "check"
run = ["sh", "-c", "while [ ! -e $NOTES/go ]; do sleep 0.05; done; echo ok > {item}.ok"]
verify = [{ kind = "files", glob = "{item}.ok" }]
"#;

#[test]
fn a_run_is_followed() {
    let project = Project::new(FLOW);
    let terminal = Terminal::top(&project.env, (120, 30));
    terminal.keys(&["S"]);
    terminal.shows("no runs of stories");
    let mut run = project.begin(&[]);
    terminal.shows("running  0 of 2 done");
    // The second attempt succeeded, the next step works, the other story waits.
    terminal.until("its steps are shown", |screen| {
        let story = screen.lines().find(|line| line.trim_start().starts_with("alpha"));
        story.is_some_and(|line| line.contains("done ×2") && line.contains("working"))
    });
    terminal.shows("STORY  write    check");
    // Its session is in the queue, and belongs to the run.
    terminal.keys(&["q"]);
    terminal.keys(&["g", "g", "g", "g"]);
    terminal.until("it is grouped by run", |screen| {
        screen.contains("grouped by run") && screen.contains("── run ")
    });
    std::fs::write(project.notes().join("go"), "").unwrap();
    assert!(run.wait().unwrap().success());
    terminal.keys(&["S"]);
    terminal.shows("complete  2 of 2 done");
}

#[test]
fn changes_of_a_folder_are_shown_with_their_files() {
    let project = Project::new(FLOW);
    project.env.spawn_script("editor", "exec sleep 300");
    let terminal = Terminal::top(&project.env, (120, 40));
    terminal.selects("editor");
    terminal.keys(&["d"]);
    terminal.shows("what is not committed in");
    terminal.shows("no changes");
    project.env.write("new.txt", "an added line\n");
    terminal.keys(&["r"]);
    terminal.shows("new.txt | 1 +");
    terminal.shows("+an added line");
    let coloured = terminal.tmux(&["capture-pane", "-p", "-e", "-t", "=outer:"]);
    assert!(coloured.contains("\x1b[32m+an added line"), "{coloured}");
}

#[test]
fn changes_of_a_worktree_are_shown_against_its_base() {
    let project = Project::new(FLOW);
    let script = "echo more > made.txt; git add made.txt; git commit -qm made; exec sleep 300";
    project.env.spawn(&["--name", "apart", "--worktree=topic", "--", "sh", "-c", script]);
    let terminal = Terminal::top(&project.env, (120, 40));
    terminal.selects("apart");
    eventually("it has committed", || {
        project.git(&["log", "--all", "--format=%s"]).contains("made")
    });
    terminal.keys(&["d"]);
    terminal.shows("branch topic against main");
    terminal.shows("made.txt | 1 +");
    terminal.shows("+more");
}

#[test]
fn a_screen_is_scrolled_through_its_history() {
    let env = TestEnv::new();
    env.spawn_script("long", "for i in $(seq 1 500); do echo line-$i; done; exec sleep 300");
    let terminal = Terminal::top(&env, (100, 30));
    terminal.shows("line-500");
    for _ in 0..20 {
        terminal.keys(&["PPage"]);
    }
    terminal.until("it is scrolled", |screen| {
        screen.contains("scrolled, Esc returns") && screen.contains("line-290")
    });
    terminal.keys(&["Escape"]);
    terminal.shows("line-500");
}

#[test]
fn the_other_views_say_what_is_missing() {
    let env = TestEnv::new();
    let terminal = Terminal::top(&env, (100, 30));
    for (key, text) in [
        ("J", "no jobs; to submit one"),
        ("M", "no messages; m sends one"),
        ("F", "no broker is configured"),
        ("U", "no usage found"),
        ("?", "any other key back"),
    ] {
        terminal.keys(&[key]);
        terminal.shows(text);
    }
    terminal.keys(&["x", "q"]);
    terminal.shows("No agents here yet.");
}

/// All keys can be read in a terminal of 24 lines.
#[test]
fn the_help_is_scrolled() {
    let env = TestEnv::new();
    let terminal = Terminal::top(&env, (80, 24));
    terminal.keys(&["?"]);
    terminal.shows("more below");
    terminal.keys(&["NPage", "NPage"]);
    terminal.until("its end is shown", |screen| {
        screen.contains("quit") && !screen.contains("more below")
    });
}

#[test]
fn nothing_is_coloured_if_no_color_is_set() {
    let env = TestEnv::new();
    env.spawn_script("red", "printf '\\033[31mred words\\033[0m\\n'; exec sleep 300");
    env.spawn_script("fails", "exit 3");
    let terminal = Terminal::open(&env, "outer", (100, 30));
    terminal.run(&format!("NO_COLOR=1 {}", dogwatch_testkit::dogwatch()));
    terminal.selects("fails");
    terminal.keys(&["j"]);
    terminal.shows("red words");
    let coloured = terminal.tmux(&["capture-pane", "-p", "-e", "-t", "=outer:"]);
    let colours = (30..=37).chain(90..=97).map(|number| format!("\x1b[{number}m"));
    let found: Vec<String> = colours.filter(|colour| coloured.contains(colour)).collect();
    assert!(found.is_empty(), "{found:?}");
    // Without a terminal for its output nothing is drawn at all.
    let mut command = env.command(&["top"]);
    let printed = command.stdin(Stdio::null()).output().unwrap();
    assert!(!String::from_utf8_lossy(&printed.stdout).contains('\x1b'));
}
