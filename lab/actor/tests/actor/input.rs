//! Typed and pasted input, and its effects.

use std::fs::File;

use dogwatch_testkit::wait_until;
use rustix::termios::{LocalModes, tcgetattr};

use crate::pane::Pane;
use crate::script::Script;

const RAW_AND_READY: &str = r#"
    record = "received"
    [[step]]
    raw = true
    [[step]]
    bracketed_paste = true
    [[step]]
    print = "ready> "
"#;

fn script(steps: &str) -> Script {
    Script::new(&format!("{RAW_AND_READY}\n{steps}"))
}

#[test]
fn a_large_bracketed_paste_is_recorded_byte_for_byte() {
    let script = script(
        r#"
        [[step]]
        input = { want = "line", paste_shown_as = "[Pasted {lines} lines]" }
        [[step]]
        write_file = { path = "answer", text = "{input}" }
        "#,
    );
    let pane = Pane::play(&script);
    pane.wait_for_screen("ready>");
    let line = "Grüße | : ; $ \\ `\" ' # % {} \t 日本語 🦀👩‍💻\n";
    let text = line.repeat(1_000);
    pane.paste(&text);
    pane.wait_for_screen("[Pasted 1000 lines]");
    pane.keys(&["Enter"]);
    assert_eq!(pane.exit_code(), "0");
    let recorded = script.read("received");
    assert!(recorded == format!("\x1b[200~{text}\x1b[201~\r"), "bytes differ");
    assert!(script.read("answer") == text, "the answer differs");
}

#[test]
fn keys_are_recorded_as_the_terminal_sends_them() {
    let script = script("[[step]]\ninput = { want = { contains = \"done\" } }");
    let pane = Pane::play(&script);
    pane.wait_for_screen("ready>");
    pane.keys(&["a", "Tab", "Up", "C-u", "BSpace", "Escape"]);
    pane.keys(&["-l", "ü done"]);
    assert_eq!(pane.exit_code(), "0");
    assert_eq!(script.read("received"), "a\t\x1b[A\x15\x7f\x1bü done");
}

#[test]
fn swallowed_enters_leave_the_text_in_the_box() {
    let script = script("[[step]]\ninput = { want = \"line\", swallow_enters = 1 }");
    let pane = Pane::play(&script);
    pane.wait_for_screen("ready>");
    pane.keys(&["hello", "Enter"]);
    script.wait_for("received", |bytes| bytes == "hello\r");
    pane.wait_for_screen("ready> hello");
    assert!(!script.path("code").exists());
    pane.keys(&["Enter"]);
    assert_eq!(pane.exit_code(), "0");
}

#[test]
fn a_late_echo_comes_after_the_bytes() {
    let script = script(
        r#"
        [[step]]
        input = { want = "line", echo = { late = "1500ms" } }
        "#,
    );
    let pane = Pane::play(&script);
    pane.wait_for_screen("ready>");
    pane.keys(&["late"]);
    script.wait_for("received", |bytes| bytes == "late");
    assert!(!pane.screen().contains("late"), "shown too early");
    pane.wait_for_screen("ready> late");
    pane.keys(&["Enter"]);
    assert_eq!(pane.exit_code(), "0");
}

#[test]
fn no_echo_shows_nothing() {
    let script = script(
        r#"
        [[step]]
        input = { want = "line", echo = "never" }
        [[step]]
        print = "got it"
        [[step]]
        stall = "forever"
        "#,
    );
    let pane = Pane::play(&script);
    pane.wait_for_screen("ready>");
    pane.keys(&["secret", "Enter"]);
    let screen = pane.wait_for_screen("got it");
    assert!(!screen.contains("secret"));
}

#[test]
fn text_typed_before_a_redraw_stays_in_the_box() {
    let script = script(
        r#"
        [[step]]
        label = "box"
        [[step]]
        input = { want = "line", timeout = { after = "300ms", goto = "redraw" } }
        [[step]]
        write_file = { path = "answer", text = "{input}" }
        [[step]]
        exit = 0
        [[step]]
        label = "redraw"
        [[step]]
        print = "\e[2J\e[Hpainted over "
        [[step]]
        goto = "box"
        "#,
    );
    let pane = Pane::play(&script);
    pane.wait_for_screen("painted over");
    pane.keys(&["one "]);
    script.wait_for("received", |bytes| bytes == "one ");
    wait_until("the redraw", || (!pane.screen().contains("one")).then_some(()));
    pane.keys(&["two", "Enter"]);
    assert_eq!(pane.exit_code(), "0");
    assert_eq!(script.read("answer"), "one two");
}

#[test]
fn a_dialog_obeys_only_the_keys_it_lists() {
    for (keys, code) in [(["x", "2"], "20"), (["stop", "Enter"], "10")] {
        let script = script(
            r#"
            [[step]]
            [step.input]
            want = "key"
            on = [
              { input = "1", goto = "yes" },
              { input = "enter", goto = "yes" },
              { input = "2", goto = "no" },
            ]
            [[step]]
            label = "yes"
            [[step]]
            exit = 10
            [[step]]
            label = "no"
            [[step]]
            exit = 20
            "#,
        );
        let pane = Pane::play(&script);
        pane.wait_for_screen("ready>");
        pane.keys(&keys);
        assert_eq!(pane.exit_code(), code, "{keys:?}");
    }
}

#[test]
fn ctrl_c_in_raw_mode_does_what_the_scenario_says() {
    let cases: [(&str, &[&str], &str); 4] = [
        ("on_ctrl_c = \"exit\"", &["C-c"], "130"),
        ("ctrl_c_code = 0", &["C-c"], "0"),
        ("on_ctrl_c = \"exit-on-second\"", &["C-c", "x", "C-c", "C-c"], "130"),
        ("on_ctrl_c = \"ignore\"", &["C-c", "C-c", "q"], "0"),
    ];
    for (setting, keys, code) in cases {
        let toml = format!(
            "{setting}\n{RAW_AND_READY}\n[[step]]\ninput = {{ want = {{ contains = \"q\" }} }}"
        );
        let script = Script::new(&toml);
        let pane = Pane::play(&script);
        pane.wait_for_screen("ready>");
        pane.keys(keys);
        assert_eq!(pane.exit_code(), code, "{setting}");
    }
}

#[test]
fn raw_mode_ends_with_the_play() {
    let script = script("[[step]]\ninput = { want = \"key\" }");
    let pane = Pane::play(&script);
    pane.wait_for_screen("ready>");
    let tty = File::open(pane.show("#{pane_tty}")).expect("the pane's terminal");
    let cooked = || {
        let modes = tcgetattr(&tty).expect("its modes").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    };
    assert!(!cooked());
    pane.keys(&["q"]);
    assert_eq!(pane.exit_code(), "0");
    assert!(cooked());
}

#[test]
fn a_cooked_line_is_taken_too() {
    let script = Script::new(
        r#"
        [[step]]
        print = "name? "
        [[step]]
        input = { want = "line" }
        [[step]]
        write_file = { path = "answer", text = "{input}" }
        "#,
    );
    let pane = Pane::play(&script);
    pane.wait_for_screen("name?");
    pane.keys(&["Jörg", "Enter"]);
    assert_eq!(pane.exit_code(), "0");
    assert_eq!(script.read("answer"), "Jörg");
}

#[test]
fn input_that_ends_is_an_error() {
    let script = Script::new("[[step]]\ninput = { want = \"line\" }");
    let output = script.on_pipes().output().expect("the actor runs");
    assert_eq!(output.status.code(), Some(74));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "actor: line 1: the input ended while it was waited for\n");
}
