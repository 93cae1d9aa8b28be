use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use dogwatch_testkit::{PrivateTmux, eventually, is_since, new_session};
use dogwatch_tmux::{Command, Error, PaneDetail, PaneId, Version, escape_format};

const SYMBOLS: &str = " !\"#$%&'()*+,-/;<=>?@[\\]^_`{|}~";

fn detail(tmux: &PrivateTmux, pane: PaneId) -> PaneDetail {
    let panes = tmux.server.panes_detailed().unwrap();
    panes.into_iter().find(|detail| detail.row.pane_id == pane).unwrap()
}

#[test]
fn a_live_pane_is_listed() {
    let tmux = PrivateTmux::idle();
    tmux.sized_session("web", 120, 39);
    let rows = tmux.server.panes().unwrap();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(row.session_name, "web");
    assert_eq!((row.width, row.height), (120, 39));
    assert!(!row.dead && !row.in_mode && !row.alternate_on);
    assert_eq!((row.dead_status, row.dead_signal, row.session_attached), (None, None, 0));
    assert_eq!(Some(row.server_pid), tmux.server_pid());
    assert_eq!(row.server_start.to_string(), tmux.ask("#{start_time}").unwrap());
    assert!(row.window_activity >= row.server_start);
    assert!(row.version.as_ref().is_some_and(Version::is_supported));
}

#[test]
fn dead_panes_show_how_they_ended() {
    let tmux = PrivateTmux::running();
    tmux.server
        .run_one(Command::new("set-option").flag('g').args(["remain-on-exit", "on"]))
        .unwrap();
    let exited = tmux.session_with("exited", &["sh", "-c", "exit 3"]);
    let killed = tmux.session_with("killed", &["sh", "-c", "kill -9 $$"]);
    // 3.2 does not report the signal.
    let signal = is_since("3.3").then_some(9);
    for (pane, status, signal) in [(exited, Some(3), None), (killed, None, signal)] {
        eventually("the status is known", || {
            // A server that lost the SIGCHLD reaps when another child ends.
            tmux.server.run_one(Command::new("run-shell").flag('b').arg("true")).unwrap();
            let row = detail(&tmux, pane).row;
            row.dead && (row.dead_status, row.dead_signal) == (status, signal)
        });
    }
}

#[test]
fn copy_mode_and_the_alternate_screen_are_reported() {
    let tmux = PrivateTmux::running();
    let pane = tmux.session_with("alt", &["sh", "-c", "printf '\\033[?1049h'; exec cat"]);
    eventually("alternate screen", || detail(&tmux, pane).row.alternate_on);
    assert!(tmux.words(&["copy-mode", "-t", &pane.to_string()]).status.success());
    assert!(detail(&tmux, pane).row.in_mode);
}

#[test]
fn names_with_every_symbol() {
    let tmux = PrivateTmux::running();
    let mut expected = vec!["main".to_owned()];
    for symbol in SYMBOLS.chars() {
        expected.push(format!("x{symbol}y 1 {symbol}"));
    }
    for name in ["日本 ✳", "größe", "e\u{301}", "$5", "%1 @2 $3", "@0", "%0"] {
        expected.push(name.to_owned());
    }
    for name in &expected[1..] {
        tmux.session(name);
    }
    let mut found: Vec<_> =
        tmux.server.panes().unwrap().into_iter().map(|row| row.session_name).collect();
    // tmux prints the backslash, and some versions `$` before a letter, with one or two backslashes before it.
    for name in expected.iter_mut().chain(&mut found) {
        *name = name.replace('\\', "");
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn titles_paths_and_commands_may_contain_anything() {
    let tmux = PrivateTmux::running();
    let dirs: [&[u8]; 6] = [
        b"plain",
        b"two\nlines\n",
        b"tab\tbell\x07",
        b"latin1-\xe9\xff",
        "日本 ✳".as_bytes(),
        b"%begin 1 2 1\n%end 1 2 1",
    ];
    let titles = ["plain", "✳ claude", "a|b", SYMBOLS, "Ünï", "%end 1 2 1"];
    for (at, (dir, title)) in dirs.iter().zip(titles).enumerate() {
        let path = tmux.path().join(OsStr::from_bytes(dir));
        fs::create_dir(&path).unwrap();
        let path = path.canonicalize().unwrap();
        // `exec`: dash, which tmux uses if SHELL is not set, would stay in front of it.
        let new = new_session(&format!("s{at}")).option('c', escape_format(&path)).arg("exec cat");
        let pane: PaneId = tmux.server.run_one(new).unwrap().first_line().parse().unwrap();
        let set = Command::new("select-pane").option('T', escape_format(title)).target(pane);
        tmux.server.run_one(set).unwrap();
        // 3.4 and 3.5 print control bytes and non-UTF-8 as escapes (`\\a`, `\\351`), and leave backslashes unchanged.
        let is_told = !is_since("3.4") || is_since("3.6") || (at != 2 && at != 3);
        // The program runs a moment before its directory can be read.
        eventually("cat runs in its directory", || {
            let detail = detail(&tmux, pane);
            detail.current_command == "cat" && (detail.current_path == path || !is_told)
        });
        let detail = detail(&tmux, pane);
        assert_eq!(detail.row.session_name, format!("s{at}"));
        // 3.7 doubles backslashes in a title that a command sets.
        assert_eq!(detail.title.replace("\\\\", "\\"), title, "{at}");
    }
    // A row that was parsed wrongly would have shifted the others.
    assert_eq!(tmux.server.panes_detailed().unwrap().len(), dirs.len() + 1);
}

#[test]
fn anchors_are_not_listed() {
    let tmux = PrivateTmux::running();
    tmux.session("_dogwatch-1");
    tmux.session("_dogwatch");
    assert_eq!(tmux.server.panes().unwrap().len(), 1);
    assert_eq!(tmux.server.panes_detailed().unwrap().len(), 1);
}

#[test]
fn no_server_is_a_typed_error() {
    let tmux = PrivateTmux::idle();
    assert!(matches!(tmux.server.panes(), Err(Error::NoServer)));
}

#[test]
fn titles_set_by_programs_do_not_shift_fields() {
    let tmux = PrivateTmux::running();
    let script = "printf '\\033]2;two\\nlines\\tand a tab\\007'; printf '\\033]2;\\377\\376\\033\\\\'; \
                  echo END; exec cat";
    let pane = tmux.session_with("odd", &["sh", "-c", script]);
    eventually("printed", || {
        let screen = tmux.server.capture(pane, dogwatch_tmux::CaptureOptions::default()).unwrap();
        screen.text().contains("END")
    });
    let detail = detail(&tmux, pane);
    assert_eq!((detail.row.session_name.as_str(), detail.row.pane_id), ("odd", pane));
    assert_eq!(tmux.server.panes_detailed().unwrap().len(), 2);
}
