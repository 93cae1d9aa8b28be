//! Chains, words and targets.

use std::fs;

use dogwatch_testkit::{PrivateTmux, eventually, name, new_session, print};
use dogwatch_tmux::{Command, Error, Input, PaneId, Target, escape_format};

#[test]
fn each_command_has_its_own_reply() {
    let tmux = PrivateTmux::running();
    let replies = tmux
        .server
        .run(&[
            print("a"),
            Command::new("set-option").flag('g').args(["@x", "1"]),
            print("b"),
            print("c"),
        ])
        .unwrap();
    let texts: Vec<_> = replies.iter().map(|reply| reply.text().into_owned()).collect();
    assert_eq!(texts, ["a\n", "", "b\n", "c\n"]);
}

#[test]
fn no_command_does_nothing() {
    let tmux = PrivateTmux::idle();
    assert!(tmux.server.run(&[]).unwrap().is_empty());
    assert!(!tmux.socket().exists());
}

#[test]
fn a_chain_can_start_the_server_and_use_it() {
    let tmux = PrivateTmux::idle();
    let replies =
        tmux.server.run(&[new_session("a").arg("cat"), print("#{session_name}")]).unwrap();
    assert_eq!(replies[0].first_line(), "%0");
    assert_eq!(replies[1].first_line(), "a");
}

#[test]
fn other_work_can_be_done_meanwhile() {
    let tmux = PrivateTmux::running();
    let running = tmux.server.start(&[print("a")]).unwrap();
    let other = tmux.server.run(&[print("b")]).unwrap();
    assert_eq!(running.finish().unwrap()[0].first_line(), "a");
    assert_eq!(other[0].first_line(), "b");
}

#[test]
fn the_first_error_ends_a_chain_and_is_named() {
    let tmux = PrivateTmux::running();
    let set = |value: &str| Command::new("set-option").flag('g').args(["@x", value]);
    let wrong = Command::new("resize-pane").option('x', "wrong");
    let error = tmux.server.run(&[set("1"), wrong, set("2")]).unwrap_err();
    let Error::Failed { command, message, status } = error else { panic!("{error}") };
    assert_eq!(command, "resize-pane -x wrong");
    assert!(message.contains("invalid"), "{message}");
    assert_eq!(status, Some(1));
    assert_eq!(tmux.ask("#{@x}").unwrap(), "1");
}

#[test]
fn arguments_arrive_as_they_are() {
    let tmux = PrivateTmux::running();
    let odd = [
        ";",
        "a;",
        "a\\;",
        ";;",
        "a ; kill-server",
        "kill-server;",
        "\\",
        "a\\",
        "",
        " ",
        "-t",
        "--",
        "-",
        "two\nlines\n",
        "tab\there",
        "\"quoted\" 'it'",
        "$(id) ${HOME} $HOME ~ `id`",
        "#{pid} #(id) ##",
        "%1",
        "{",
        "}",
        "größe ✳ 日本",
        "\u{1b}[31m",
        "FOO=bar",
    ];
    for text in odd {
        let set = Command::new("set-buffer").option('b', "odd").arg(text);
        tmux.server.run(&[print("before"), set, print("after")]).unwrap();
        let show = Command::new("show-buffer").option('b', "odd");
        let shown = tmux.server.run_one(show);
        if text.is_empty() {
            // tmux keeps no empty buffers: the previous one stays.
            continue;
        }
        assert_eq!(shown.unwrap().text(), text, "{text:?}");
    }
}

#[test]
fn a_megabyte_goes_through_stdin() {
    let tmux = PrivateTmux::running();
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| b'a' + u8::try_from(n % 26).unwrap()).collect();
    let load = Command::new("load-buffer").option('b', "big").arg("-").stdin(bytes.clone());
    let replies = tmux.server.run(&[print("first"), load, print("#{buffer_size}")]).unwrap();
    assert_eq!(replies[0].first_line(), "first");
    let shown = tmux.server.run_one(Command::new("show-buffer").option('b', "big")).unwrap();
    assert!(shown.into_bytes() == bytes);
}

#[test]
fn what_is_pasted_arrives_as_it_is() {
    let tmux = PrivateTmux::running();
    let out = tmux.path().join("pasted");
    let pane = tmux.session_with(
        "sink",
        &["sh", "-c", &format!("stty -echo; head -n 2 > {}; exec cat", out.display())],
    );
    eventually("stty ran", || tmux.ask("#{pid}").is_some() && out.exists());
    tmux.server.type_into(&Input::paste(pane, "p", "one;\n#{two}\n")).unwrap();
    eventually("pasted", || fs::read(&out).unwrap() == b"one;\n#{two}\n");
}

#[test]
fn targets_are_exact() {
    let tmux = PrivateTmux::running();
    tmux.session("web_12345");
    let list = |target: Target| tmux.server.run_one(Command::new("list-panes").target(target));
    for absent in ["web", "web_", "mai", "*", "w?b_12345"] {
        let error = list(Target::session(&name(absent))).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{absent}: {error}");
        let kill = Command::new("kill-session").target(&name(absent));
        assert!(tmux.server.run_one(kill).is_err(), "{absent}");
    }
    assert!(list(Target::session(&name("web_12345"))).is_ok());
    assert!(tmux.has_session("main") && tmux.has_session("web_12345"));
}

#[test]
fn odd_names_can_be_addressed() {
    let tmux = PrivateTmux::running();
    for session in [
        "a b", "größe", "日本", "a;b", "x;", "a\"b", "it's", "(x)", "a#b", "#{pid}", "##", "a/b",
        "-dash", "!", "+", "~", "{x}", "a=b", "a,b", "a|b", "a*", "a@b%c",
    ] {
        let pane = tmux.session(session);
        let show = Command::new("list-panes")
            .target(&name(session))
            .option('F', "#{pane_id} #{session_name}");
        let reply = tmux.server.run_one(show).unwrap();
        assert_eq!(reply.first_line(), format!("{pane} {session}"));
        tmux.server.run_one(Command::new("kill-session").target(&name(session))).unwrap();
        assert!(!tmux.has_session(session), "{session}");
    }
}

#[test]
fn a_directory_with_a_format_in_its_name_is_taken_literally() {
    let tmux = PrivateTmux::running();
    let dir = tmux.path().join("a#{pid}b #h");
    fs::create_dir(&dir).unwrap();
    let new = new_session("here").option('c', escape_format(&dir)).arg("cat");
    let pane = tmux.server.run_one(new).unwrap().first_line().parse::<PaneId>().unwrap();
    let show = Command::about_pane(pane, "#{pane_current_path}");
    eventually("it is there", || {
        tmux.server.run_one(show.clone()).unwrap().first_line() == dir.to_str().unwrap()
    });
}
