//! Screens of programs without rules.

use super::super::{Need, Reading, Screen, State, read};

fn of(agent: &str, text: &str) -> Reading {
    read(agent, &Screen { bytes: text.as_bytes(), ..Screen::default() })
}

fn unknown(text: &str) -> State {
    let reading = of("somebody", text);
    let told =
        reading.reasons.first().is_some_and(|reason| reason.rule.starts_with("by structure"));
    assert!(told || reading.state == State::Unknown, "{reading:?}");
    reading.state
}

#[test]
fn patterns_are_sound() {
    let shapes = super::SHAPES.as_ref().unwrap();
    let super::Shapes {
        cursor,
        option,
        choice,
        yes_or_no,
        keys_in_brackets,
        question,
        keys,
        confirms,
        secret,
        any_key,
        number_wanted,
        permission,
        trust,
        login,
        spinner,
        prompt,
        named_prompt,
        placeholder,
    } = shapes;
    let single = [
        cursor,
        option,
        choice,
        yes_or_no,
        keys_in_brackets,
        question,
        keys,
        confirms,
        secret,
        any_key,
        number_wanted,
        permission,
        trust,
        login,
        prompt,
        named_prompt,
        placeholder,
    ];
    for pattern in single.into_iter().chain(spinner) {
        assert_eq!(pattern.check(), Ok(()));
    }
}

#[test]
fn dialogs() {
    for text in [
        "Do you want to run rm?\n\n❯ 1. Yes\n  2. No\n",
        "╭──────────────╮\n│ Allow edit?  │\n│ ● 1. Yes     │\n│   2. No      │\n╰──────────────╯\n",
        "Run this command?\n> Allow once\n  Allow always\n  Reject\n\n↑↓ navigate · enter select",
        "Apply the edit? (Y)es/(N)o/(D)on't ask again [Yes]: ",
        "Allow this tool? [y/N] ",
        "Proceed (y/n)?",
        "╭─ Approval ───────────╮\n│ ./deploy.sh          │\n│ [a] Accept  [d] Decline │\n╰──────────╯",
        "Run shell command `ls`?\n\n  Allow once   Allow always   Reject    enter confirm · esc cancel",
    ] {
        let state = unknown(text);
        assert_eq!(state, State::Waiting { need: Need::Permission }, "{text}");
    }
    let question = "Which one?\n\n1. PostgreSQL\n2. SQLite\n\nChoose an option [1-2]: ";
    assert_eq!(unknown(question), State::Waiting { need: Need::Question });
    let stops =
        "Which?\n\n› 1. A\n  2. B\n\ntab to add notes | enter to submit answer | esc to interrupt";
    assert_eq!(unknown(stops), State::Waiting { need: Need::Question });
    let trust = "Do you trust the files in this folder?\n\n› 1. Yes\n  2. No\n";
    assert_eq!(unknown(trust), State::Waiting { need: Need::Trust });
    assert_eq!(unknown("[sudo] password for me: "), State::Waiting { need: Need::Login });
}

#[test]
fn a_dialog_tells_what_can_be_chosen() {
    let reading = of("somebody", "Run `rm x`?\n  1. Yes\n❯ 2. No\n\nenter to confirm");
    assert_eq!(reading.details.question.as_deref(), Some("Run `rm x`?"));
    assert_eq!(reading.details.options, ["Yes", "No"]);
    assert_eq!(reading.details.hands.marked, Some(1));
}

#[test]
fn work() {
    for text in [
        "⠹ Thinking\n\n────────────\n> \n────────────\n",
        "✶ Reading files… (12s)\n\n>\n",
        "Generating... 12s\n",
        "| Looking...\n",
        "some text\n\n  working   esc to interrupt\n╭──────╮\n│ >    │\n╰──────╯\n  model · 12%",
        "Allow? (y/n) y\n\n⠋ Running rm",
    ] {
        assert_eq!(unknown(text), State::Working, "{text}");
    }
}

#[test]
fn rest() {
    for text in [
        "An answer.\n\n╭──────────────────╮\n│ > Type a message │\n╰──────────────────╯\n  model · 12%",
        "An answer with `esc` in it.\n\n────────────────\n❯ \n────────────────\n",
        "An answer.\n\n> ",
        "An answer.\n\narchitect> ",
        "Should I do that? [y/n] is what I would ask.\n\n> \n",
        "1. first\n2. second\n\n╭────────╮\n│ ❯ 1. one │\n│   2. two │\n╰────────╯\n",
    ] {
        assert_eq!(unknown(text), State::Idle { done: false }, "{text}");
    }
    assert_eq!(unknown("Some words\nthat nobody draws"), State::Unknown);
    assert_eq!(of("somebody", "bye\nme@host:~$ ").state, State::Exited);
}

#[test]
fn a_plain_command_asks_on_its_last_line_only() {
    for text in [
        "After this operation, 12 MB will be used.\nDo you want to continue? [Y/n] ",
        "Overwrite a.txt? (yes/no): ",
        "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
        "? Ok to proceed? (y) ",
        "Password: ",
        "Enter passphrase for key '/home/me/.ssh/id_ed25519': ",
        "Press ENTER to continue",
    ] {
        assert_eq!(of("command", text).state.as_str(), "waiting", "{text}");
    }
    for text in [
        "   Compiling core v0.1.0\n   Compiling cli v0.1.0\n",
        "Do you want to continue? [Y/n] y\nGet:1 http://x\nUnpacking x\n",
        "warning: is that (y/n) in the middle of a line what you meant\n",
        ">>> print(1)\n1\n>>> ",
        "mysql> ",
        "lines 1-40/120 33%",
        ":",
        "(END)",
        "--More--(12%)",
        "~\n~\n\"a.txt\" 3L, 20B                       1,1           All",
        "  PID USER      PRI  NI  VIRT   RES S CPU% MEM%   TIME+  Command\nF1Help  F2Setup F10Quit",
        "[1/3] Building\n[2/3] Linking\n",
        "test result: ok. 12 passed; 0 failed\n",
        "password: sent to the server\n",
        "",
    ] {
        assert_eq!(of("command", text).state, State::Unknown, "{text}");
    }
    let editor =
        Screen { bytes: b"rm: remove x? [y/N]", alternate: Some(true), ..Screen::default() };
    assert_eq!(read("command", &editor).state, State::Unknown);
}

#[test]
fn own_markers_go_first_and_structure_fills_in() {
    let own = "agent = 'mine'\n[layout.input]\nprompt = '^>( |$)'\nbody = '^'\n[[rule]]\nname = 'busy'\n\
               state = 'working'\nsee = { region = 'activity', match = '^busy' }";
    let own = super::super::Markers::parse(own).unwrap();
    let state = |text: &str| {
        let screen = Screen { bytes: text.as_bytes(), ..Screen::default() };
        super::super::read_with(&own, &screen).state
    };
    assert_eq!(state("busy\n\n> "), State::Working);
    assert_eq!(state("Allow it? (y/n)"), State::Waiting { need: Need::Permission });
}
