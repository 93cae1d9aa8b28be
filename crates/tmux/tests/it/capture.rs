use dogwatch_testkit::{PrivateTmux, eventually};
use dogwatch_tmux::{CaptureOptions, Command, Error, PaneId};

const PLAIN: CaptureOptions = CaptureOptions { lines: None, ansi: false, joined: false };

fn shows(tmux: &PrivateTmux, pane: PaneId, text: &str) -> bool {
    tmux.server.capture(pane, PLAIN).unwrap().text().contains(text)
}

#[test]
fn screen_history_colours_and_joined_lines() {
    let tmux = PrivateTmux::running();
    let script = "printf 'top\\n'; seq 1 100; printf '\\033[31mred\\033[0m '; printf '%0100d' 7; printf '\\nEND'; exec cat";
    let pane = tmux.session_with("p", &["sh", "-c", script]);
    eventually("printed", || shows(&tmux, pane, "END"));

    let capture = |options| tmux.server.capture(pane, options).unwrap().text().into_owned();
    assert!(!capture(PLAIN).contains("top"));
    assert!(capture(CaptureOptions { lines: Some(500), ..PLAIN }).starts_with("top\n1\n2\n"));
    assert!(capture(CaptureOptions { ansi: true, ..PLAIN }).contains("\x1b[31mred"));
    let long = format!("red {}7", "0".repeat(99));
    assert!(!capture(PLAIN).contains(&long));
    assert!(capture(CaptureOptions { joined: true, ..PLAIN }).contains(&long));
}

#[test]
fn many_panes_in_order_with_missing_ones_named() {
    let tmux = PrivateTmux::running();
    let texts: Vec<String> = (0..6).map(|n| format!("text-{n}")).collect();
    let panes: Vec<PaneId> = texts
        .iter()
        .map(|text| tmux.session_with(text, &["sh", "-c", &format!("echo {text}; exec cat")]))
        .collect();
    for (pane, text) in panes.iter().zip(&texts) {
        eventually("printed", || shows(&tmux, *pane, text));
    }
    tmux.server.run_one(Command::new("kill-pane").target(panes[0])).unwrap();
    tmux.server.run_one(Command::new("kill-pane").target(panes[3])).unwrap();

    let captured = tmux.server.capture_many(&panes, PLAIN).unwrap();
    assert_eq!(captured.len(), panes.len());
    for (at, reply) in captured.iter().enumerate() {
        match reply {
            Ok(reply) => assert!(reply.text().starts_with(&texts[at]), "{at}"),
            Err(error) => {
                assert!(matches!(error, Error::NotFound { .. }), "{error}");
                assert!(at == 0 || at == 3, "{at}");
            }
        }
    }
}

#[test]
fn more_panes_than_one_command_line_holds() {
    let tmux = PrivateTmux::running();
    let pane = tmux.session_with("p", &["sh", "-c", "echo hello; exec cat"]);
    eventually("printed", || shows(&tmux, pane, "hello"));
    let options = CaptureOptions { lines: Some(99_999), ansi: true, joined: true };
    let captured = tmux.server.capture_many(&[pane; 450], options).unwrap();
    assert_eq!(captured.len(), 450);
    assert!(captured.iter().all(|reply| reply.as_ref().unwrap().text().starts_with("hello")));
}

#[test]
fn without_a_server_it_is_one_error() {
    let tmux = PrivateTmux::idle();
    assert!(matches!(tmux.server.capture_many(&[PaneId(0)], PLAIN), Err(Error::NoServer)));
    assert!(tmux.server.capture_many(&[], PLAIN).unwrap().is_empty());
}
