//! Panes of a team: made beside their master, told apart, verified, arranged, and closed in order.

use dogwatch_testkit::{TestEnv, dogwatch, eventually};
use serde_json::Value;

/// Windows and their panes.
pub(crate) trait Panes {
    /// A person's window with a shell in it; its pane.
    fn open_window(&self, width: u16, height: u16) -> String;
    /// A member of the team that does nothing, led by this pane.
    fn member(&self, role: &str, master: &str) -> Value;
    /// `PANE LEFT,TOP WIDTHxHEIGHT` of all panes of a window, in their order.
    fn places(&self, pane: &str) -> Vec<String>;
    /// Left, top, width and height of all panes of a window, in their order.
    fn boxes(&self, pane: &str) -> Vec<[u32; 4]>;
    fn option(&self, pane: &str, name: &str) -> String;
}

impl Panes for TestEnv {
    fn open_window(&self, width: u16, height: u16) -> String {
        let (width, height) = (width.to_string(), height.to_string());
        let size = ["-x", width.as_str(), "-y", height.as_str()];
        let mut words = vec!["new-session", "-d", "-s", "w", "-P", "-F", "#{pane_id}"];
        words.extend(size);
        words.push("cat");
        self.tmux(&words)
    }

    fn member(&self, role: &str, master: &str) -> Value {
        let words = ["pane", "spawn", "--role", role, "--master", master, "--json", "--", "cat"];
        self.dogwatch(&words).success().json()
    }

    fn places(&self, pane: &str) -> Vec<String> {
        let format = "#{pane_id} #{pane_left},#{pane_top} #{pane_width}x#{pane_height}";
        let listed = self.tmux(&["list-panes", "-t", pane, "-F", format]);
        listed.lines().map(ToOwned::to_owned).collect()
    }

    fn boxes(&self, pane: &str) -> Vec<[u32; 4]> {
        let format = "#{pane_left} #{pane_top} #{pane_width} #{pane_height}";
        let listed = self.tmux(&["list-panes", "-t", pane, "-F", format]);
        let numbers = |line: &str| -> Vec<u32> {
            line.split(' ').map(|word| word.parse().unwrap()).collect()
        };
        listed.lines().map(|line| numbers(line).try_into().unwrap()).collect()
    }

    fn option(&self, pane: &str, name: &str) -> String {
        self.tmux(&["display-message", "-p", "-t", pane, &format!("#{{{name}}}")])
    }
}

#[derive(Clone, Copy)]
enum Axis {
    Across,
    Down,
}

/// Panes share a place evenly, one after the other with a line between any two. Versions of tmux give what is left over to the first, to
/// the last, or to several.
#[track_caller]
fn is_shared(panes: &[[u32; 4]], axis: Axis, [left, top, width, height]: [u32; 4]) {
    let count = u32::try_from(panes.len()).unwrap();
    let (mut at, end, all) = match axis {
        Axis::Across => (left, left + width, width),
        Axis::Down => (top, top + height, height),
    };
    let fair = (all + 1 - count) / count;
    for pane in panes {
        let [x, y, w, h] = *pane;
        let size = match axis {
            Axis::Across => {
                assert_eq!((x, y, h), (at, top, height), "{panes:?}");
                w
            }
            Axis::Down => {
                assert_eq!((x, y, w), (left, at, width), "{panes:?}");
                h
            }
        };
        assert!(size.abs_diff(fair) <= count, "{panes:?}");
        at += size + 1;
    }
    assert_eq!(at, end + 1, "{panes:?}");
}

/// tmux's own layouts leave the others one column of the 80 that most windows have.
#[test]
fn a_usual_window_has_room_for_a_team() {
    let env = TestEnv::new();
    let master = env.open_window(80, 24);
    for (count, role) in ["dev", "qa", "architect", "pm"].into_iter().enumerate() {
        env.member(role, &master);
        let boxes = env.boxes(&master);
        assert_eq!(boxes[0], [0, 0, 39, 24], "{count}");
        is_shared(&boxes[1..], Axis::Down, [40, 0, 40, 24]);
    }
    // A fifth would have less than five lines: nothing is done, and nothing is written down.
    let words = ["pane", "spawn", "--role", "ux", "--task", "x", "--master", &master, "--", "cat"];
    let output = env.dogwatch(&words).code(4);
    assert!(output.stderr.contains("no room for another pane"), "{}", output.stderr);
    assert_eq!(env.boxes(&master).len(), 5);
    assert!(!env.dogwatch(&["task", "list"]).text().contains("TASK"));
}

#[test]
fn a_window_without_room_is_left_alone() {
    for (width, height, side) in [(40, 24, "left"), (80, 10, "top"), (30, 8, "right")] {
        let env = TestEnv::new();
        let master = env.open_window(width, height);
        let before = env.places(&master);
        let words =
            ["pane", "spawn", "--role", "dev", "--side", side, "--master", &master, "--json"];
        let mut command = env.command(&words);
        let output = env.run(command.args(["--task", "x", "--", "cat"])).code(4);
        assert_eq!(output.json()["error"]["code"], "no_room");
        assert_eq!(env.places(&master), before);
        assert!(!env.work().join(".agents").exists(), "nothing was written down");
        assert_eq!(env.seen("work-dev"), Value::Null);
    }
}

/// A file's name has the second in which it was chosen.
#[test]
fn members_that_are_started_at_once_share_one_session_file() {
    let env = TestEnv::new();
    let master = env.open_window(200, 50);
    let roles = ["dev", "qa", "architect", "pm", "ux"];
    let mut files: Vec<String> = std::thread::scope(|scope| {
        let start = |role: &'static str| {
            let (env, master) = (&env, &master);
            // Over more than a second, so that not all choose the same name.
            scope.spawn(move || {
                let said = env.member(role, master);
                said["session_file"].as_str().unwrap_or_default().to_owned()
            })
        };
        let hands: Vec<_> = roles
            .into_iter()
            .map(|role| {
                // sleep: over more than a second, so that not all choose the same name.
                std::thread::sleep(std::time::Duration::from_millis(250));
                start(role)
            })
            .collect();
        hands.into_iter().map(|hand| hand.join().unwrap()).collect()
    });
    files.dedup();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(roles.iter().all(|role| text.contains(&format!("{role}-agent"))), "{text}");
}

#[test]
fn a_team_around_its_master() {
    let env = TestEnv::new();
    let master = env.open_window(200, 50);
    let dev = env.member("dev", &master);
    for role in ["qa", "architect", "gardener"] {
        env.member(role, &master);
    }
    let boxes = env.boxes(&master);
    assert_eq!((boxes.len(), boxes[0]), (5, [0, 0, 80, 50]));
    is_shared(&boxes[1..], Axis::Down, [81, 0, 119, 50]);
    assert_eq!(env.option(&master, "pane_active"), "1", "who looks at the master still does");
    assert_eq!(env.option(&master, "pane_title"), env.option(&master, "host"), "left as it was");
    assert_eq!(
        (&dev["role"], &dev["master"], &dev["spawner"]),
        (&"dev".into(), &"%0".into(), &"%0".into())
    );
    assert_eq!((&dev["name"], &dev["told"]["by"]), (&"work-dev".into(), &"prompt".into()));
    for (pane, role, border) in
        [("%1", "dev", "#4a6e38"), ("%2", "qa", "#783a3c"), ("%4", "gardener", "#784848")]
    {
        assert_eq!(env.option(pane, "pane_title"), format!("{role}-{pane}"));
        assert_eq!(env.option(pane, "@dogwatch_border"), border);
        assert_eq!(env.option(pane, "@dogwatch_title"), format!("{role}-{pane}"));
        let options = env.tmux(&["show-options", "-p", "-t", pane]);
        assert!(
            options.contains("allow-rename off") && options.contains("remain-on-exit on"),
            "{options}"
        );
    }
    let style = env.tmux(&["show-options", "-wv", "-t", &master, "pane-border-style"]);
    assert_eq!(
        style, "#{?@dogwatch_border,fg=#{@dogwatch_border},default}",
        "once, for all of them"
    );
    insta::assert_snapshot!(env.dogwatch(&["team"]).success(), @r"
    ROLE       PANE  NAME            AGENT    STATE    TASK  CLOSING  DETAIL
    master     %0    -               -        -
    dev        %1    work-dev        command  working        active
    qa         %2    work-qa         command  working        active
    architect  %3    work-architect  command  working        active
    gardener   %4    work-gardener   command  working        active
    ");
}

/// Wherever it is, and wherever it is in the order of the panes, it stays there.
#[test]
fn the_master_keeps_its_place() {
    for (side, expected, axis, rest) in [
        ("left", "%0 0,0 80x50", Axis::Down, [81, 0, 119, 50]),
        ("right", "%0 120,0 80x50", Axis::Down, [0, 0, 119, 50]),
        ("top", "%0 0,0 200x24", Axis::Across, [0, 25, 200, 25]),
        ("bottom", "%0 0,26 200x24", Axis::Across, [0, 0, 200, 25]),
    ] {
        let env = TestEnv::new();
        let master = env.open_window(200, 50);
        let spawn =
            ["pane", "spawn", "--role", "dev", "--master", "%0", "--side", side, "--", "cat"];
        assert_eq!(env.dogwatch(&spawn).success().text(), "%1\n");
        // Without being told again.
        let second = env.member("qa", &master);
        assert_eq!(
            (&second["layout"]["side"], &second["layout"]["proven"]),
            (&side.into(), &true.into())
        );
        let is_first = matches!(side, "left" | "top");
        let order = if is_first { ["%0", "%1", "%2"] } else { ["%1", "%2", "%0"] };
        let places = env.places(&master);
        assert!(places.iter().zip(order).all(|(place, id)| place.starts_with(id)), "{places:?}");
        assert!(places.contains(&expected.to_owned()), "{side}: {places:?}");
        let boxes = env.boxes(&master);
        is_shared(if is_first { &boxes[1..] } else { &boxes[..2] }, axis, rest);
        env.tmux(&["swap-pane", "-d", "-s", "%1", "-t", "%2"]);
        env.tmux(&["resize-pane", "-t", "%1", "-x", "10", "-y", "5"]);
        let said = env.dogwatch(&["pane", "rebalance", "--master", "%0"]).success().text();
        assert_eq!(said, format!("balanced: 3 panes, %0 on the {side}\n"));
        assert!(env.places(&master).contains(&expected.to_owned()), "{side}");
        env.tmux(&["kill-pane", "-t", "%1"]);
        let _ = env.dogwatch(&["pane", "close", "%1"]).success();
        assert_eq!(env.places(&master).len(), 2);
        let [left, top] = [env.option("%0", "pane_left"), env.option("%0", "pane_top")];
        assert!(expected.starts_with(&format!("%0 {left},{top} ")), "{side}: {left},{top}");
    }
}

#[test]
fn a_layout_is_made_around_a_master_that_is_not_first() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    env.tmux(&["split-window", "-h", "-b", "-d", "-t", "%0", "cat"]);
    // The order is %1 %0; the master is on the right.
    let made = env.member("dev", "%0");
    assert_eq!(made["layout"]["side"], "right");
    assert_eq!(env.places("%0"), ["%1 0,0 119x24", "%2 0,25 119x25", "%0 120,0 80x50"]);
    let said = env.dogwatch(&["pane", "rebalance", "--master", "%0", "--side", "left"]).success();
    assert_eq!(said.text(), "balanced: 3 panes, %0 on the left\n");
    assert_eq!(env.places("%0")[0], "%0 0,0 80x50");
}

#[test]
fn verified_or_not() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["pane", "verify", "%7"]).code(1), @"
    INVALID: no tmux server is running
    [exit code: 1]
    ");
    env.open_window(200, 50);
    env.member("dev", "%0");
    insta::assert_snapshot!(env.dogwatch(&["pane", "verify", "work-dev"]).success(), @"VALID: %1 w @0 dev-%1");
    insta::assert_snapshot!(env.dogwatch(&["pane", "verify", "%1", "--json"]).success(), @r#"{"valid":true,"pane":"%1","session":"w","window":"@0","title":"dev-%1"}"#);
    let invalid = |words: &[&str]| {
        let mut all = vec!["pane", "verify"];
        all.extend(words);
        env.dogwatch(&all).code(1).text()
    };
    assert_eq!(invalid(&["%7"]), "INVALID: no pane %7\n");
    assert_eq!(invalid(&["nobody"]), "INVALID: no session \"nobody\"\n");
    assert_eq!(invalid(&["%1", "--session", "x"]), "INVALID: %1 is in session w\n");
    assert_eq!(invalid(&["%1", "--window", "@9"]), "INVALID: %1 is in window @0\n");
    env.tmux(&["send-keys", "-t", "%1", "C-d"]);
    eventually("it is dead", || env.option("%1", "pane_dead") == "1");
    assert_eq!(invalid(&["%1"]), "INVALID: the program in %1 has ended\n");
}

#[test]
fn closed_only_when_it_is_ready() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    env.member("dev", "%0");
    insta::assert_snapshot!(env.dogwatch(&["pane", "close", "%1"]).code(4), @r"
    ------- stderr -------
    error: %1 is not ready to close: not marked ready-to-close, no report received, task not done, session id not saved
    hint: `dogwatch team` shows its progress; to close it anyway: dogwatch pane close --force %1
    [exit code: 4]
    ");
    let _ = env.dogwatch(&["task", "add", "--role", "dev", "It."]).success();
    let _ = env.dogwatch(&["agent", "register", "--pane", "%1"]).success();
    let _ = env.dogwatch(&["pane", "close", "%1"]).code(4);
    let done = env
        .dogwatch(&["agent", "complete", "--result", "pass", "--pane", "%1", "--json"])
        .success()
        .json();
    assert_eq!(
        (&done["told"]["by"], &done["ready_to_close"]),
        (&"session_file".into(), &true.into())
    );
    insta::assert_snapshot!(env.dogwatch(&["pane", "close", "%1"]).success(), @"%1 dev: closed, ended by TERM (signal 15 (TERM))");
    assert_eq!(env.places("%0"), ["%0 0,0 200x50"]);
    insta::assert_snapshot!(env.dogwatch(&["pane", "close", "%1"]).success(), @"%1: closed, already gone");
    let _ = env.dogwatch(&["pane", "close", "%44"]).code(3);
    let _ = env.dogwatch(&["pane", "close", "nobody"]).code(3);
    let _ = env.dogwatch(&["pane", "close", "%0"]).code(3);
    assert_eq!(env.places("%0").len(), 1, "not ours, and left alone");
}

#[test]
fn killed_behind_our_back() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    for role in ["dev", "qa", "ux"] {
        env.member(role, "%0");
    }
    let _ = env.dogwatch(&["task", "add", "--role", "qa", "Half done."]).success();
    let _ = env.dogwatch(&["agent", "register", "--pane", "%2"]).success();
    env.tmux(&["kill-pane", "-t", "%2"]);
    let state = |env: &TestEnv| {
        let team = env.dogwatch(&["team", "%0", "--json"]).success().json();
        let members = team["members"].as_array().unwrap().clone();
        members.into_iter().find(|m| m["pane"] == "%2").map(|m| m["session"]["state"].clone())
    };
    eventually("it is missed", || state(&env).is_some_and(|state| state == "stopped"));
    insta::assert_snapshot!(env.dogwatch(&["pane", "close", "%2"]).success(), @"%2 qa: closed, already gone");
    assert_eq!(state(&env), None);
    let boxes = env.boxes("%0");
    assert_eq!((boxes.len(), boxes[0]), (3, [0, 0, 80, 50]));
    is_shared(&boxes[1..], Axis::Down, [81, 0, 119, 50]);
    let tasks = env.dogwatch(&["task", "list", "--json"]).success().json();
    assert_eq!(tasks["tasks"][0]["status"], "pending", "left undone, for another");
}

#[test]
fn four_at_once() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    let names = std::thread::scope(|scope| {
        let made: Vec<_> = (0..4).map(|_| scope.spawn(|| env.member("dev", "%0"))).collect();
        let mut names: Vec<String> = made
            .into_iter()
            .map(|made| made.join().unwrap()["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    });
    assert_eq!(names, ["work-dev", "work-dev-n2", "work-dev-n3", "work-dev-n4"]);
    let _ = env.dogwatch(&["pane", "rebalance", "--master", "%0"]).success();
    let places = env.places("%0");
    assert_eq!((places.len(), places[0].as_str()), (5, "%0 0,0 80x50"));
    let team = env.dogwatch(&["team", "%0", "--json"]).success().json();
    let active = |m: &&Value| m["closing"]["status"] == "active";
    assert_eq!(team["members"].as_array().unwrap().iter().filter(active).count(), 4, "{team:#}");
}

/// From within the pane, by whatever name.
#[test]
fn nobody_closes_their_own_pane() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    let line = format!(
        "for target in \"$TMUX_PANE\" work-dev \"$DOGWATCH_SESSION\"; do '{}' pane close --force \"$target\"; echo \"code $?\"; done > own 2>&1; exec cat",
        dogwatch()
    );
    let words = ["pane", "spawn", "--role", "dev", "--master", "%0", "--", "sh", "-c", &line];
    let _ = env.dogwatch(&words).success();
    let file = env.work().join("own");
    let said = || std::fs::read_to_string(&file).unwrap_or_default();
    eventually("it has tried", || said().matches("code ").count() == 3);
    assert_eq!(said().matches("code 4").count(), 3, "{}", said());
    assert!(said().contains("an agent cannot close itself"), "{}", said());
    assert_eq!(env.dogwatch(&["pane", "verify", "%1"]).success().text(), "VALID: %1 w @0 dev-%1\n");
}

/// An agent with the screens of Claude Code to be recognised by, that never shows one.
const NEVER_READY: &str = "[slash]\nrename = '/rename @name@'\n";

#[test]
fn one_that_never_gets_ready_is_tried_three_times_and_leaves_nothing() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    env.add_profile("claude", NEVER_READY, "echo $$ >> starts; exec sleep 300");
    let words = [
        "pane", "spawn", "--role", "dev", "--master", "%0", "--task", "It.", "--ready", "300ms",
        "claude",
    ];
    let output = env.dogwatch(&words).code(7);
    assert!(
        output.to_string().contains("(attempt 3 of 3): it was not at its prompt after 0.3 s"),
        "{output}"
    );
    let starts = std::fs::read_to_string(env.work().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 3);
    assert_eq!(env.places("%0"), ["%0 0,0 200x50"]);
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 0);
    let task = env.dogwatch(&["task", "list", "--json"]).success().json()["tasks"][0].clone();
    assert_eq!((&task["status"], &task["pane"]), (&"pending".into(), &Value::Null));
}

#[test]
fn what_is_wrong_is_said_before_anything_is_done() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    let refused = |words: &[&str], code: i32, said: &str| {
        let mut all = vec!["pane", "spawn", "--role"];
        all.extend(words);
        let output = env.dogwatch(&all).code(code);
        assert!(output.to_string().contains(said), "{output}");
    };
    refused(&["Two Words", "--master", "%0", "--", "cat"], 2, "is not a valid role");
    refused(&["dev", "--", "cat"], 2, "not inside tmux");
    refused(&["dev", "--master", "%9", "--", "cat"], 3, "no pane \"%9\"");
    refused(&["dev", "--master", "%0", "nosuch"], 7, "unknown agent \"nosuch\"");
    refused(&["dev", "--master", "%0", "--", "nosuch"], 7, "was not found");
    refused(&["dev", "--master", "%0", "--task", " ", "--", "cat"], 2, "the task is empty");
    refused(&["dev", "--master", "%0", "--task-id", "x", "--", "cat"], 2, "is not a task id");
    refused(&["dev", "--master", "%0", "--cwd", "nowhere", "--", "cat"], 2, "does not exist");
    env.member("dev", "%0");
    refused(&["dev", "--master", "%0", "--name", "work-dev", "--", "cat"], 4, "already exists");
    refused(&["dev", "--master", "%0", "--task-id", "TASK-9", "--", "cat"], 3, "no task TASK-009");
    assert_eq!(env.places("%0").len(), 2);
}

/// Started from a pane of the team, the window's master is still the master, and who started it is told.
#[test]
fn a_member_starts_another() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    let line = format!("'{}' pane spawn --role qa --json -- cat > made; exec cat", dogwatch());
    let words = ["pane", "spawn", "--role", "dev", "--master", "%0", "--", "sh", "-c", &line];
    let _ = env.dogwatch(&words).success();
    let read = || std::fs::read(env.work().join("made")).unwrap_or_default();
    let made = || serde_json::from_slice::<Value>(&read()).ok();
    eventually("it has started one", || made().is_some());
    let made = made().unwrap();
    assert_eq!((&made["master"], &made["spawner"]), (&"%0".into(), &"%1".into()));
    assert_eq!(env.places("%0").len(), 3);
}
