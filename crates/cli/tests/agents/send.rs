//! Messages to real agents arrive, once and as they are, or it is said how far they got.

use std::process::Stdio;

use dogwatch_testkit::{Spawned, eventually, eventually_or, process};
use model_double::homes::Agent;
use rustix::process::Signal;
use serde_json::Value;

use crate::lab::Lab;

impl Lab {
    /// Sends a text, given on standard input; the receipt.
    fn send(&self, text: &str, args: &[&str]) -> Value {
        let mut command = self.env.command(&["send", "a", "-", "--json"]);
        let output = self.env.run_with_input(command.args(args), text.as_bytes());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output}"))
    }

    #[track_caller]
    fn delivers(&self, text: &str, args: &[&str]) -> Value {
        let receipt = self.send(text, args);
        let is_delivered = receipt["outcome"] == "delivered";
        assert!(is_delivered, "{receipt:#}\n{}", self.env.screen("a"));
        receipt
    }

    fn state(&self) -> Value {
        self.dogwatch(&["why", "a", "--json"]).success().json()
    }

    #[track_caller]
    fn becomes(&self, state: &str) {
        eventually_or(&format!("it is {state}"), || {
            let found = self.state();
            if found["state"] == state { Ok(()) } else { Err(format!("{found:#}")) }
        });
    }

    fn type_in(&self, session: &Spawned, text: &str) {
        self.env.tmux(&["send-keys", "-t", &session.pane, "-l", text]);
    }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

/// All printable ASCII, scripts of several widths, emoji, lines, tabs, and what means something to somebody. No joined emoji:
/// tmux and claude do not agree on how wide they are, and after some of them claude's own picture is wrong.
fn nasty(dice: &mut Dice, number: usize) -> String {
    let symbols: String = (' '..='~').collect();
    let pieces = [
        symbols.as_str(),
        "wörter",
        "日本語のテキスト",
        "🎉🚀",
        "e\u{301}",
        "\n",
        "\n\n",
        "\t",
        "  ",
        "\\",
        "'",
        "\"",
        "`rm -rf /`",
        "$(touch pwned)",
        "${HOME}",
        "#{pid}",
        "%output %0 x",
        "; kill-server",
        "esc to interrupt",
        "❯ 1. Yes",
        "\x1b[201~",
        "\r\n",
        "[Pasted text #1 +2 lines]",
        "/help",
        "!ls",
        "@file",
        "# memo",
        "& | < >",
    ];
    let length = match number % 20 {
        0 => 1,
        7 => 20_000 + dice.roll(80_000),
        3 => 4_000 + dice.roll(4_000),
        _ => 1 + dice.roll(300),
    };
    let begin = ["", "", "", "- list", "> quote", "\\", "# heading", "@x", "1."];
    let mut text = dice.pick(&begin).to_owned();
    while text.len() < length {
        text.push_str(dice.pick(&pieces));
        text.push(' ');
    }
    // It must be told apart from all others, and begin with nothing that is refused.
    let text = format!("{text} №{number}");
    if text.trim_start().starts_with(['!', '/']) { format!("x{text}") } else { text }
}

/// What an agent is known to change: claude turns tabs into blanks, drops what has no width and composes accents; both
/// trim.
fn as_taken(agent: Agent, text: &str) -> String {
    match agent {
        Agent::Claude => {
            let text = text.replace('\t', "    ").replace("e\u{301}", "é").replace('\u{200d}', "");
            text.trim_end().to_owned()
        }
        _ => text.trim().to_owned(),
    }
}

fn many_messages(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended"]);
    let mut dice = Dice(0x5eed);
    let mut sent = Vec::new();
    for number in 0..200 {
        let text = nasty(&mut dice, number);
        let receipt = lab.delivers(&text, &["--timeout", "60s"]);
        assert!(matches!(receipt["proof"].as_str(), Some("hook" | "transcript")), "{receipt:#}");
        sent.push(receipt["text"].as_str().unwrap().to_owned());
    }
    lab.becomes("idle");
    let asked: Vec<String> = lab.asked();
    // First the order, which is short to read.
    let number = |text: &String| text.trim_end().rsplit('№').next().map(ToOwned::to_owned);
    let numbers = |all: &[String]| all.iter().filter_map(number).collect::<Vec<_>>();
    assert_eq!(numbers(&asked), numbers(&sent));
    for (at, (asked, sent)) in asked.iter().zip(&sent).enumerate() {
        assert_eq!(as_taken(agent, asked), as_taken(agent, sent), "message {at}");
    }
    assert_eq!(asked.len(), sent.len(), "each once");
    assert!(!lab.env.work().join("pwned").exists());
    lab.end(&["--now"]);
}

#[test]
fn two_hundred_messages_to_claude() {
    many_messages(Agent::Claude);
}

#[test]
fn two_hundred_messages_to_codex() {
    many_messages(Agent::Codex);
}

/// What was said a moment ago is no proof of the same words now.
fn the_same_words_again(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended"]);
    for n in 1..=4 {
        let receipt = lab.delivers("[hello]", &["--timeout", "60s"]);
        assert!(receipt["submitted"].is_string(), "{receipt:#}");
        lab.becomes("idle");
        assert_eq!(lab.asked().len(), n);
    }
    let job = lab.dogwatch(&["job", "submit", "a", "[hello]", "--wait", "--json"]).success().json();
    let at = |key: &str| -> jiff::Timestamp { job[key].as_str().unwrap().parse().unwrap() };
    assert!(at("delivered") >= at("submitted"), "{job:#}");
    assert_eq!(lab.asked().len(), 5);
    lab.end(&["--now"]);
}

#[test]
fn the_same_words_to_claude_again() {
    the_same_words_again(Agent::Claude);
}

#[test]
fn the_same_words_to_codex_again() {
    the_same_words_again(Agent::Codex);
}

fn while_it_works(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.becomes("working");
    let waits = lab.send("in time", &["--timeout", "1s"]);
    assert_eq!(
        (&waits["outcome"], &waits["because"]),
        (&"queued".into(), &"the agent is working".into())
    );
    let now = lab.delivers("steer", &["--when", "now", "--timeout", "20s"]);
    assert_eq!(now["while_working"], true, "it overtakes what waits for an idle agent: {now:#}");
    lab.double.release("gate");
    lab.delivers("last", &["--timeout", "60s"]);
    lab.becomes("idle");
    let asked = lab.asked().join("\n");
    let at = |text: &str| {
        assert_eq!(asked.matches(text).count(), 1, "{text} once in {asked}");
        asked.find(text)
    };
    assert!(at("in time") < at("last"), "what was queued was delivered first: {asked}");
    assert!(at("steer").is_some());
    lab.end(&["--now"]);
}

#[test]
fn claude_takes_messages_while_it_works() {
    while_it_works(Agent::Claude);
}

#[test]
fn codex_takes_messages_while_it_works() {
    while_it_works(Agent::Codex);
}

/// Text in a permission dialog would approve it.
fn a_dialog_holds_messages_back(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--prompt", "[permission]"]);
    lab.becomes("waiting");
    eventually("the options are in sight", || !lab.state()["dialog"].is_null());
    let dialog = lab.state()["dialog"].clone();
    let refused = lab.send("yes please", &["--when", "now", "--timeout", "1s"]);
    assert_eq!(refused["outcome"], "refused", "{refused:#}");
    assert_eq!(lab.state()["dialog"], dialog, "it is as it was");
    std::thread::scope(|scope| {
        let held = scope.spawn(|| lab.send("held back", &["--timeout", "60s"]));
        let _ = lab.dogwatch(&["answer", "a", "1", "--dialog", "00000000"]).code(4);
        let _ = lab.dogwatch(&["answer", "a", "no"]).success();
        // Refusing ends the turn, and codex may want to know what to do instead.
        let receipt = held.join().unwrap();
        assert_eq!(receipt["outcome"], "delivered", "{receipt:#}");
    });
    assert!(!lab.env.work().join("../permission-given.txt").exists(), "it was not approved");
    lab.end(&["--now"]);
}

#[test]
fn a_dialog_of_claude_holds_messages_back() {
    a_dialog_holds_messages_back(Agent::Claude);
}

#[test]
fn a_dialog_of_codex_holds_messages_back() {
    a_dialog_holds_messages_back(Agent::Codex);
}

fn a_draft_is_left_alone(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended"]);
    lab.becomes("idle");
    lab.type_in(&session, "half a thought");
    eventually("the draft is seen", || lab.state()["draft"] == "half a thought");
    let refused = lab.send("mine", &["--timeout", "1s"]);
    assert_eq!(refused["outcome"], "refused");
    assert!(refused["because"].as_str().unwrap().starts_with("draft"), "{refused:#}");
    assert_eq!(lab.state()["draft"], "half a thought");
    std::thread::scope(|scope| {
        let held = scope.spawn(|| lab.send("mine", &["--timeout", "60s"]));
        lab.env.tmux(&["send-keys", "-t", &session.pane, "Enter"]);
        assert_eq!(held.join().unwrap()["outcome"], "delivered");
    });
    lab.becomes("idle");
    let asked = lab.asked();
    assert!(
        asked.contains(&"half a thought".to_owned()) && asked.contains(&"mine".to_owned()),
        "{asked:?}"
    );
    lab.end(&["--now"]);
}

#[test]
fn a_draft_in_claude_is_left_alone() {
    a_draft_is_left_alone(Agent::Claude);
}

#[test]
fn a_draft_in_codex_is_left_alone() {
    a_draft_is_left_alone(Agent::Codex);
}

fn ten_senders_in_a_narrow_pane(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended"]);
    lab.becomes("idle");
    lab.env.tmux(&["resize-window", "-t", &session.pane, "-x", "50", "-y", "15"]);
    let text = |n: usize| format!("sender {n}: {} end {n}", "some words that wrap ".repeat(6));
    std::thread::scope(|scope| {
        let lab = &lab;
        let sent: Vec<_> = (0..10)
            .map(|n| scope.spawn(move || lab.send(&text(n), &["--timeout", "120s"])))
            .collect();
        for one in sent {
            let receipt = one.join().unwrap();
            assert_eq!(receipt["outcome"], "delivered", "{receipt:#}");
        }
    });
    lab.becomes("idle");
    let mut asked = lab.asked();
    let mut expected: Vec<String> = (0..10).map(text).collect();
    asked.sort();
    expected.sort();
    assert_eq!(asked, expected);
    lab.end(&["--now"]);
}

#[test]
fn ten_senders_to_claude_in_a_narrow_pane() {
    ten_senders_in_a_narrow_pane(Agent::Claude);
}

#[test]
fn ten_senders_to_codex_in_a_narrow_pane() {
    ten_senders_in_a_narrow_pane(Agent::Codex);
}

#[test]
fn an_agent_that_is_killed_in_between() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.becomes("working");
    std::thread::scope(|scope| {
        let held = scope.spawn(|| lab.send("too late", &["--timeout", "60s"]));
        eventually("it is posted", || {
            lab.dogwatch(&["messages", "--pending"]).text().contains("too late")
        });
        process::signal(session.pid, Signal::KILL);
        let receipt = held.join().unwrap();
        assert_eq!(receipt["outcome"], "failed", "{receipt:#}");
        assert!(receipt["because"].as_str().unwrap().contains("ended"), "{receipt:#}");
    });
}

#[test]
fn a_sender_that_is_killed_loses_nothing() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.becomes("working");
    let mut sender = lab.env.command(&["send", "a", "first"]);
    let mut sender = sender.stdout(Stdio::null()).spawn().unwrap();
    eventually("it is posted", || {
        lab.dogwatch(&["messages", "--pending"]).text().contains("first")
    });
    sender.kill().unwrap();
    sender.wait().unwrap();
    lab.double.release("gate");
    lab.delivers("second", &["--timeout", "60s"]);
    lab.becomes("idle");
    assert_eq!(lab.asked()[1..], ["first", "second"], "in order, and none twice");
    lab.end(&["--now"]);
}

#[test]
fn what_would_be_a_command_is_refused() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--unattended"]);
    for text in ["!touch ran.txt", " /help", "\n/clear now"] {
        let mut command = lab.env.command(&["send", "a", "-"]);
        let _ = lab.env.run_with_input(&mut command, text.as_bytes()).code(2);
    }
    let _ = lab.dogwatch(&["send", "a", "no slash", "--slash"]).code(2);
    lab.becomes("idle");
    assert!(lab.asked().is_empty() && !lab.env.work().join("ran.txt").exists());
    lab.end(&["--now"]);
}

#[test]
fn commands_of_the_agents_own() {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(lab) = Lab::new(agent) else { return };
        lab.spawn(&["--unattended"]);
        let receipt = lab.delivers("/rename dev-agent", &["--slash", "--timeout", "60s"]);
        assert!(["transcript", "screen"].contains(&receipt["proof"].as_str().unwrap()));
        eventually("it has the name", || lab.env.screen("a").contains("dev-agent"));
        assert_eq!(lab.asked(), [""; 0], "the model was not asked");
        lab.end(&["--now"]);
    }
}

/// A command that opens a panel is proven by it; the panel is no prompt, and says so.
#[test]
fn a_panel_that_a_command_opens() {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(lab) = Lab::new(agent) else { continue };
        lab.spawn(&[]);
        lab.becomes("idle");
        let receipt = lab.delivers("/model", &["--slash"]);
        assert_eq!(receipt["proof"], "screen", "{receipt:#}");
        lab.becomes("waiting");
        assert_eq!(lab.send("hello", &["--timeout", "1s"])["outcome"], "refused");
        lab.end(&["--now"]);
    }
}

/// The agent's end is the proof of a command that ends it.
#[test]
fn commands_that_end_the_agent() {
    for (agent, command) in [(Agent::Claude, "/exit"), (Agent::Codex, "/quit")] {
        let Some(lab) = Lab::new(agent) else { continue };
        lab.spawn(&["--unattended"]);
        lab.becomes("idle");
        let receipt = lab.delivers(command, &["--slash", "--timeout", "60s"]);
        let proof = receipt["proof"].as_str().unwrap();
        assert!(["exit", "transcript", "screen"].contains(&proof), "{receipt:#}");
        lab.becomes("exited");
        let kept = lab.dogwatch(&["messages", "a", "--json"]).success().json();
        assert_eq!(kept["messages"][0]["outcome"], "delivered", "{kept:#}");
    }
}

/// The same of an agent that a person started: it leaves no exit record.
#[test]
fn a_command_that_ends_an_agent_of_others() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.start_by_hand();
    eventually("it is at its prompt", || {
        let all = lab.dogwatch(&["status", "--json"]).success().json();
        all["sessions"][0]["state"] == "idle"
    });
    let sent = lab.dogwatch(&["send", "mine", "/exit", "--slash", "--json", "--timeout", "60s"]);
    assert_eq!(sent.success().json()["outcome"], "delivered");
}
