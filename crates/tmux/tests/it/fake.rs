//! The fake answers like a real tmux: the same calls to both.

use dogwatch_testkit::{PrivateTmux, name, new_session, print};
use dogwatch_tmux::fake::{FakeTmux, Input as Typed};
use dogwatch_tmux::{CaptureOptions, Command, Error, Input, PaneId, PaneList, RowQuery, Server};

/// Runs a case on a real server and on the fake, and compares the texts.
fn same(what: &str, case: impl Fn(&Server) -> String) {
    let private = PrivateTmux::idle();
    let fake = FakeTmux::new();
    let folder = tempfile::tempdir().unwrap();
    let real = case(&private.server);
    assert_eq!(case(&fake.server(folder.path().join("s"))), real, "{what}");
}

fn shown<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error}"),
    }
}

fn session(server: &Server, name: &str) -> PaneId {
    let reply = server.run_one(new_session(name).arg("cat")).unwrap();
    reply.first_line().parse().unwrap()
}

#[test]
fn without_a_server() {
    same("no server", |server| {
        let asked = server.run(&PaneList::commands());
        let killed = server.run_one(Command::new("kill-server"));
        format!("{} {} {}", shown(asked), shown(killed), shown(server.panes()))
    });
}

#[test]
fn targets_and_their_errors() {
    same("targets", |server| {
        session(server, "web");
        let has =
            |session: &str| server.run_one(Command::new("has-session").target(&name(session)));
        let again = server.run_one(new_session("web").arg("cat"));
        let gone = server.capture(PaneId(99), CaptureOptions::default());
        let about = server.run_one(Command::about_pane(PaneId(99), "#{pane_id}"));
        let unknown = server.run_one(Command::new("frobnicate"));
        let all = [has("web"), has("we"), has("other"), again, gone, about];
        let words: Vec<String> = all.into_iter().map(shown).collect();
        format!("{words:#?} {}", unknown.is_err())
    });
}

#[test]
fn a_chain_ends_at_its_first_error() {
    same("chain", |server| {
        let pane = session(server, "web");
        let kill = Command::new("kill-pane").target(PaneId(99));
        let chain = [print("one"), kill, Command::new("kill-pane").target(pane)];
        let broken = shown(server.run(&chain));
        let rest =
            server.run(&[print("a;"), print("b"), print("#{session_name}").runs_on(), print("c")]);
        format!("{broken} {} {}", shown(rest), server.panes().unwrap().len())
    });
}

#[test]
fn panes_are_listed_the_same_way() {
    same("panes", |server| {
        session(server, "a b");
        let pane = session(server, "web");
        let split = Command::new("split-window").flag('d').flag('P').target(pane);
        let beside = server.run_one(split.option('F', "#{pane_id} #{window_id}").arg("cat"));
        let query = RowQuery::new();
        let faces = query.parse_faces(&server.run_one(query.faces_command()).unwrap()).unwrap();
        let list = PaneList::parse(&server.run(&PaneList::commands()).unwrap()).unwrap();
        let rows: Vec<_> = faces
            .iter()
            .map(|face| &face.row)
            .map(|row| {
                (row.session_no, row.session_name.clone(), row.window_id, row.pane_id, row.dead)
            })
            .collect();
        let listed: Vec<_> = list.panes.iter().map(|p| (p.pane_id, p.session_no, p.dead)).collect();
        let one = server.run_one(Command::about_pane(pane, "#{pane_id} #{pane_dead}"));
        format!("{rows:?} {listed:?} {} {}", shown(beside), shown(one))
    });
}

#[test]
fn a_screen_has_as_many_lines_as_its_pane() {
    same("capture", |server| {
        let pane = session(server, "web");
        let height = server.run_one(Command::about_pane(pane, "#{pane_height}")).unwrap();
        let height: usize = height.first_line().parse().unwrap();
        let lines = server.capture(pane, CaptureOptions::default()).unwrap().lines().count();
        let many = server.capture_many(&[pane, PaneId(99), pane], CaptureOptions::default());
        let many: Vec<bool> = many.unwrap().iter().map(Result::is_ok).collect();
        format!("{} {many:?}", lines == height)
    });
}

#[test]
fn the_server_ends_with_its_last_session() {
    same("end", |server| {
        let pane = session(server, "web");
        session(server, "more");
        server.run_one(Command::new("kill-session").target(&name("more"))).unwrap();
        let left = server.panes().unwrap().len();
        server.run_one(Command::new("kill-pane").target(pane)).unwrap();
        // A real server takes a moment.
        dogwatch_testkit::eventually("the server is gone", || {
            server.panes().is_err_and(|error| error.is_no_server())
        });
        format!("{left}")
    });
}

#[test]
fn input_reaches_the_program() {
    let fake = FakeTmux::new();
    let server = fake.server("/none");
    let pane = fake.session("web");
    fake.play(pane, |pane, input| pane.screen = format!("{input:?}"));
    server.type_into(&Input::paste(pane, "b", "hello; you")).unwrap();
    assert_eq!(fake.pane(pane).unwrap().screen, r#"Paste("hello; you")"#);
    server.type_into(&Input::keys(pane, ["C-c", "Enter"])).unwrap();
    server.type_into(&Input::text(pane, "-x;")).unwrap();
    let typed = &fake.pane(pane).unwrap().typed[1..];
    let keys = ["C-c", "Enter"].map(|key| Typed::Key(key.to_owned()));
    assert_eq!(typed, [&keys[..], &[Typed::Text("-x;".to_owned())]].concat());
}

#[test]
fn panes_that_take_no_input() {
    same("input", |server| {
        let dead = session(server, "dead");
        session(server, "alive");
        server.run_one(Command::new("kill-pane").target(dead)).unwrap();
        let inputs = [
            Input::keys(dead, ["Enter"]),
            Input::text(dead, "x"),
            Input::paste(dead, "b", "x"),
            Input::keys(PaneId(99), ["Enter"]),
        ];
        let each = inputs.iter().map(|input| shown(server.type_into(input)));
        let each: Vec<String> =
            each.chain(server.type_all(&inputs).into_iter().map(shown)).collect();
        let open = server.type_into(&Input::text(PaneId(1), "x"));
        format!("{each:#?} {}", shown(open))
    });
    // Of a dead pane, too. A real one is in `input.rs`, on every version.
    for version in ["3.3a", "3.4"] {
        let fake = FakeTmux::new();
        fake.set_version(version);
        let server = fake.server("/none");
        let pane = fake.session("web");
        fake.change(pane, |pane| pane.dead = true);
        for input in [Input::keys(pane, ["Enter"]), Input::paste(pane, "b", "x")] {
            let ended = server.type_into(&input).unwrap_err();
            assert!(matches!(ended, Error::PaneEnded { pane: of } if of == pane), "{ended}");
        }
        assert!(fake.pane(pane).unwrap().typed.is_empty());
        assert!(fake.identity().is_some());
    }
}

#[test]
fn a_fake_that_hangs_or_refuses() {
    let fake = FakeTmux::new();
    let server = fake.server("/none");
    fake.session("web");
    fake.hang(true);
    assert!(matches!(server.panes(), Err(Error::Timeout { .. })));
    fake.hang(false);
    fake.refuse("list-panes", "access not allowed");
    assert!(matches!(server.panes(), Err(Error::Denied { .. })));
    assert_eq!(server.panes().unwrap().len(), 1);
    assert_eq!(fake.take_ran(), ["list-panes", "list-panes"]);
}
