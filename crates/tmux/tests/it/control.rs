//! One control client: requests, quoting, and what it must not disturb.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::thread;

use dogwatch_testkit::{PATIENCE, PrivateTmux, eventually, name, new_session, print};
use dogwatch_tmux::control::{Control, Note};
use dogwatch_tmux::{
    ANCHOR_PREFIX, CaptureOptions, Command, Error, Input, PaneId, Reply, Server, escape_format,
};
use proptest::prelude::*;

fn anchors(server: &Server) -> Vec<String> {
    let list = Command::new("list-sessions").option('F', "#{session_name}");
    let reply = server.run_one(list).unwrap();
    let names = reply.lines().map(|line| String::from_utf8(line.to_vec()).unwrap());
    names.filter(|name| name.starts_with(ANCHOR_PREFIX)).collect()
}

#[test]
fn every_command_has_its_own_answer() {
    let tmux = PrivateTmux::running();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    let missing = Command::new("list-panes").target(PaneId(99));
    let answers =
        control.request(&[print("a\nb"), missing, Command::new("frobnicate"), print("c")]).unwrap();
    let [a, missing, unknown, c] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(a.as_ref().unwrap().text(), "a\nb\n");
    assert!(matches!(missing, Err(Error::NotFound { target }) if target.contains("%99")));
    assert!(
        matches!(unknown, Err(Error::Failed { message, .. }) if message.contains("frobnicate"))
    );
    assert_eq!(c.as_ref().unwrap().first_line(), "c");
    assert!(control.request(&[]).unwrap().is_empty());
}

#[test]
fn requests_from_several_threads_do_not_mix() {
    let tmux = PrivateTmux::running();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    thread::scope(|scope| {
        for worker in 0..4 {
            let control = &control;
            scope.spawn(move || {
                for round in 0..50 {
                    let texts = [0, 1, 2].map(|part| format!("{worker}-{round}-{part}"));
                    let answers =
                        control.request(&texts.each_ref().map(|text| print(text))).unwrap();
                    for (text, answer) in texts.iter().zip(answers) {
                        assert_eq!(answer.unwrap().first_line(), *text);
                    }
                }
            });
        }
    });
}

#[test]
fn the_hooks_of_the_user_do_not_confuse_the_answers() {
    let tmux = PrivateTmux::running();
    let hook =
        Command::new("set-hook").flag('g').args(["after-list-panes", "display-message -p hook"]);
    tmux.server.run_one(hook).unwrap();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    let list = Command::new("list-panes").option('F', "pane").target(&name("main"));
    let answers = control.request(&[list.clone(), print("b"), list, print("d")]).unwrap();
    let texts: Vec<_> =
        answers.into_iter().map(|answer| answer.unwrap().text().into_owned()).collect();
    assert_eq!(texts, ["pane\n", "b\n", "pane\n", "d\n"]);
}

#[test]
fn lists_and_captures_equal_those_of_the_other_transport() {
    let tmux = PrivateTmux::running();
    let dir = tmux.path().join("two\nlines\n%end 1 2 1");
    fs::create_dir(&dir).unwrap();
    let new = new_session("日本 ✳").option('c', escape_format(&dir)).arg("cat");
    let odd = tmux.server.run_one(new).unwrap().first_line().parse::<PaneId>().unwrap();
    let title = Command::new("select-pane").option('T', "✳ Ünï").target(odd);
    tmux.server.run_one(title).unwrap();
    tmux.server.type_into(&Input::text(odd, "größe ❯ 日本")).unwrap();
    let screen = CaptureOptions::default();
    eventually("typed", || tmux.server.capture(odd, screen).unwrap().text().contains("❯ 日本"));
    eventually("in its directory", || {
        tmux.server.panes_detailed().unwrap().iter().any(|pane| pane.current_path == dir)
    });

    let (control, _notes) = Control::open(&tmux.server).unwrap();
    assert_eq!(control.panes().unwrap(), tmux.server.panes().unwrap());
    assert_eq!(control.panes_detailed().unwrap(), tmux.server.panes_detailed().unwrap());
    let panes = [PaneId(0), PaneId(99), odd];
    let texts = |captured: Vec<Result<Reply, Error>>| {
        captured.into_iter().map(Result::ok).collect::<Vec<_>>()
    };
    let captured = texts(control.capture_many(&panes, screen).unwrap());
    assert!(captured[1].is_none());
    assert_eq!(captured, texts(tmux.server.capture_many(&panes, screen).unwrap()));
}

#[test]
fn pane_text_that_looks_like_the_protocol() {
    let tmux = PrivateTmux::running();
    let script = "printf '%%begin 1 2 1\\n%%end 1 2 1\\n%%exit\\n%%sessions-changed\\n'; exec cat";
    let pane = tmux.session_with("liar", &["sh", "-c", script]);
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    let capture = CaptureOptions::default().command(pane);
    eventually("printed", || {
        let answers = control.request(&[capture.clone(), print("next")]).unwrap();
        assert_eq!(answers[1].as_ref().unwrap().first_line(), "next");
        let text = answers[0].as_ref().unwrap().text();
        text.starts_with("%begin 1 2 1\n%end 1 2 1\n%exit\n%sessions-changed\n")
    });
}

#[test]
fn a_megabyte_as_one_argument() {
    let tmux = PrivateTmux::running();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    let text = "0123456789\n".repeat(100_000);
    let set = Command::new("set-buffer").option('b', "big").arg(&text);
    let answers = control.request(&[set, print("done")]).unwrap();
    assert_eq!(answers[1].as_ref().unwrap().first_line(), "done");
    let shown = tmux.server.run_one(Command::new("show-buffer").option('b', "big")).unwrap();
    assert!(shown.text() == text);
}

#[test]
fn stdin_is_refused() {
    let tmux = PrivateTmux::running();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    let load = Command::new("load-buffer").arg("-").stdin(b"x".to_vec());
    assert!(matches!(control.request(&[load]), Err(Error::Unsendable { .. })));
    assert_eq!(control.request_one(print("a")).unwrap().first_line(), "a");
}

/// No argument may become another command, an expansion or be lost.
#[test]
fn quoting_round_trips_through_tmux() {
    let tmux = PrivateTmux::running();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    let piece = prop_oneof![
        proptest::collection::vec(1_u8..=255, 0..20),
        "\\PC{0,10}".prop_map(String::into_bytes),
        prop::sample::select(vec![
            "\n",
            ";",
            " ; kill-server\n",
            "#{pid}",
            "#(id)",
            "$(id)",
            "${HOME}",
            "$HOME",
            "~",
            "~root",
            "\\",
            "\"",
            "'",
            "\\n",
            "\\012",
            "\\u0041",
            "{",
            "}",
            "%if",
            "%endif",
            "# x",
            "-t",
            "--",
            "\r\n",
            "\\$",
            "\t",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let text = proptest::collection::vec(piece, 1..6)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("tmux keeps no empty buffers", |text| !text.is_empty());
    let mut cases = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    cases
        .run(&text, |text| {
            let set =
                Command::new("set-buffer").option('b', "odd").arg(OsString::from_vec(text.clone()));
            let answers = control.request(&[print("before"), set, print("after")]).unwrap();
            prop_assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            prop_assert_eq!(answers[2].as_ref().unwrap().first_line(), "after");
            let shown =
                tmux.server.run_one(Command::new("show-buffer").option('b', "odd")).unwrap();
            prop_assert_eq!(shown.into_bytes(), text);
            Ok(())
        })
        .unwrap();
}

#[test]
fn window_sizes_are_left_alone() {
    let tmux = PrivateTmux::idle();
    tmux.sized_session("user", 120, 39);
    let size = || {
        tmux.server.panes().unwrap().iter().map(|row| (row.width, row.height)).collect::<Vec<_>>()
    };
    assert_eq!(size(), [(120, 39)]);
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    control.request_one(CaptureOptions::default().command(PaneId(0))).unwrap();
    assert_eq!(size(), [(120, 39)]);
    // Even when the client is moved onto that session.
    tmux.server.run_one(Command::new("switch-client").target(&name("user"))).unwrap();
    control.request_one(print("a")).unwrap();
    assert_eq!(size(), [(120, 39)]);
    drop(control);
    assert_eq!(size(), [(120, 39)]);
}

#[test]
fn the_anchor_is_hidden_and_leaves_with_the_client() {
    let tmux = PrivateTmux::running();
    let (first, _notes) = Control::open(&tmux.server).unwrap();
    let (second, _more_notes) = Control::open(&tmux.server).unwrap();
    assert_eq!(anchors(&tmux.server).len(), 2);
    assert_eq!(tmux.server.panes().unwrap().len(), 1);
    assert_eq!(tmux.server.panes().unwrap()[0].session_attached, 0);
    drop(first);
    assert_eq!(anchors(&tmux.server).len(), 1);
    assert_eq!(second.request_one(print("a")).unwrap().first_line(), "a");
    drop(second);
    assert!(anchors(&tmux.server).is_empty());
    assert!(tmux.has_session("main"));
}

#[test]
fn options_of_the_user_do_not_keep_the_anchor() {
    let tmux = PrivateTmux::running();
    for setting in
        [["detach-on-destroy", "off"], ["remain-on-exit", "on"], ["destroy-unattached", "off"]]
    {
        tmux.server.run_one(Command::new("set-option").flag('g').args(setting)).unwrap();
    }
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    drop(control);
    assert!(anchors(&tmux.server).is_empty());
    eventually("the client is gone", || tmux.server.panes().unwrap()[0].session_attached == 0);
}

#[test]
fn sessions_of_the_user_are_announced() {
    let tmux = PrivateTmux::running();
    let (_control, notes) = Control::open(&tmux.server).unwrap();
    tmux.session("new");
    tmux.server.run_one(Command::new("kill-session").target(&name("new"))).unwrap();
    let mut wanted = vec!["add", "changed", "close"];
    while !wanted.is_empty() {
        let heard = match notes.recv_timeout(PATIENCE).unwrap() {
            Note::UnlinkedWindowAdd(_) => "add",
            Note::SessionsChanged => "changed",
            Note::UnlinkedWindowClose(_) => "close",
            _ => continue,
        };
        wanted.retain(|&note| note != heard);
    }
}
