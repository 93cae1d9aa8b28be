//! What agents call: hooks and a statusline.
//!
//! Agents read the exit code and standard output as a decision. Claude Code and Codex take code 2 for *block*: the
//! prompt or the tool call is dropped. So this is read without clap, ends with 0 whatever happens, and prints
//! nothing but a statusline, the answer of a rule to a request for permission, why a budget holds a prompt, and, if the user
//! wants that, that another agent edits the same file.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::collision::may_edit;
use dogwatch_core::exit_code;
use dogwatch_core::status::payload::{self, Around, TurnOf};
use dogwatch_engine::actions::hook::{self, Payload, Stage};
use dogwatch_engine::actions::{budget, collision, rules, statusline};
use dogwatch_engine::observe::usage::Named;
use dogwatch_protocol::rules::ToolHeld;
use dogwatch_protocol::usage::HeldPrompt;
use jiff::Timestamp;
use serde::Serialize;

use crate::{environment, logging};

/// How long a call may take, whatever holds it up: a file system that does not answer, say. Agents give our hooks 3 and 5
/// seconds.
const LIMIT: Duration = Duration::from_secs(2);
/// A statusline may wait 3 seconds for the user's own.
const STATUSLINE_LIMIT: Duration = Duration::from_secs(4);

/// How long the end of a turn may be held back by what is due then.
const BEFORE_AN_END: Duration = Duration::from_secs(1);

/// One call by an agent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    agent: Option<String>,
    /// The call is a statusline: prove life, and print a line.
    statusline: bool,
    /// The payload, where the agent passes it as an argument; else it is on standard input.
    payload: Option<String>,
    state_dir: Option<PathBuf>,
}

/// Handles the call if these words are one; `None` for everything that people type.
pub(crate) fn called(words: &[OsString]) -> Option<ExitCode> {
    if let Some(call) = Call::read(words) {
        end_well_even_in_a_panic();
        end_in_time(if call.statusline { STATUSLINE_LIMIT } else { LIMIT });
        let given = call.payload.clone().map(|text| Payload { text, is_cut: false });
        call.carry_out(&given.unwrap_or_else(from_stdin));
        return Some(ExitCode::from(exit_code::OK));
    }
    // Claude Code 2.1.84 to 2.1.138 run a hook's `command` without its `args`, and sessions with such settings may
    // be older than this binary.
    if words.len() > 1 || io::stdin().is_terminal() {
        return None;
    }
    let payload = from_stdin();
    let around = Around {
        in_session: environment::own_session().is_some(),
        in_hook: environment::is_in_hook(),
    };
    if !payload::is_for_a_hook(&payload.text, payload.is_cut, around) {
        return None;
    }
    end_well_even_in_a_panic();
    end_in_time(LIMIT);
    if payload::names_its_event(&payload.text) {
        Call::default().carry_out(&payload);
    }
    Some(ExitCode::from(exit_code::OK))
}

impl Call {
    /// Reads `[--state-dir DIR] hook AGENT [--statusline] [PAYLOAD]`. What makes no sense is passed over: there is no
    /// one to correct it.
    fn read(words: &[OsString]) -> Option<Self> {
        let mut call = Self::default();
        let mut is_hook = false;
        let mut words = words.iter().skip(1);
        while let Some(word) = words.next() {
            let (name, value) = option(word);
            match name.as_deref() {
                Some("--state-dir") => {
                    call.state_dir = value.or_else(|| words.next().cloned()).map(PathBuf::from);
                }
                Some("--socket") => {
                    if value.is_none() {
                        words.next();
                    }
                }
                Some("--statusline") if is_hook => call.statusline = true,
                Some("--json") => {}
                Some(_) if is_hook => {}
                Some(_) => return None,
                None if !is_hook && word == "hook" => is_hook = true,
                None if !is_hook => return None,
                None => call.take(word.to_string_lossy().into_owned()),
            }
        }
        is_hook.then_some(call)
    }

    fn take(&mut self, word: String) {
        if self.agent.is_none() && !word.starts_with('{') {
            self.agent = Some(word);
        } else if self.payload.is_none() {
            self.payload = Some(word);
        }
    }

    fn carry_out(self, payload: &Payload) {
        logging::begin(true, self.state_dir.as_deref());
        if self.statusline {
            return self.refresh(payload);
        }
        let Some(session) = environment::own_session() else { return };
        let agent = self.agent.clone().or_else(environment::own_agent).unwrap_or_default();
        let state = environment::state_dir(self.state_dir.clone());
        let state = state.logged("open the state directory");
        let now = Timestamp::now();
        let keep = |stage: Stage| {
            let Some(state) = &state else { return };
            hook::keep_signal(state, &session, &agent, &payload.text, stage, now)
                .logged("keep a signal");
        };
        let about = payload::turn(&payload.text);
        let is_request = payload::digest(&payload.text).0 == rules::REQUEST;
        // Rules and budgets may take longer than a call may: whatever happens to it then, the event is known.
        if is_request || about.is_some() {
            keep(Stage::Arrived);
        }
        match &about {
            Some(about) if about.is_prompt => {
                let held = budget_of(about, self.state_dir.clone());
                let held =
                    held.is_some_and(|reason| answer(&HeldPrompt { decision: "block", reason }));
                keep(if held { Stage::Held } else { Stage::Final });
                return;
            }
            Some(about) => {
                // As long as this call runs the agent is not done: that the turn is over is said last.
                let rest = self.after_a_turn(about.clone());
                let is_done = rest.recv_timeout(BEFORE_AN_END).is_ok();
                keep(Stage::Final);
                if !is_done {
                    rest.recv().logged("look after the end of a turn");
                }
                return;
            }
            None => {}
        }
        let context = || environment::context(None, self.state_dir.clone());
        let given = is_request.then(|| {
            let context = context().logged("read the environment")?;
            let given = rules::answer(&context, &session, payload, now);
            Some((given.logged("answer by a rule")??, context))
        });
        let Some((given, context)) = given.flatten() else {
            keep(Stage::Final);
            let _said = self.held_by_a_collision(payload).is_some_and(|held| answer(&held));
            return;
        };
        // Recorded is what was said, not what was meant to be: this call may end at any moment.
        if !answer(&given.output) {
            return keep(Stage::Final);
        }
        keep(Stage::Answered);
        rules::record(&context, &session, &given, now).logged("record a rule's answer");
    }

    /// Proves that the agent lives, and prints its statusline.
    fn refresh(&self, payload: &Payload) {
        let state = environment::state_dir(self.state_dir.clone());
        if let Some(session) = environment::own_session()
            && let Some(state) = state.logged("open the state directory")
        {
            hook::keep_heartbeat(&state, &session, &payload.text, Timestamp::now())
                .logged("keep a heartbeat");
        }
        let config = environment::claude_config();
        let now = environment::local_time();
        let _said = say(&statusline::line(config.as_deref(), &payload.text, &now));
    }

    /// What is due when a turn has ended: budgets, and what it changed in a worktree of its own. Sends a word when that is done.
    fn after_a_turn(&self, about: TurnOf) -> Receiver<()> {
        let (done, rest) = mpsc::channel();
        let state_dir = self.state_dir.clone();
        let look = move || {
            budget_of(&about, state_dir.clone());
            note_what_changed(state_dir);
            // The one that waits may have gone on.
            done.send(()).logged("tell that it is done");
        };
        thread::Builder::new().spawn(look).logged("start a thread or a program");
        rest
    }

    /// Records an edit of a file; the answer if it is to wait because another agent edits the file too.
    fn held_by_a_collision(&self, payload: &Payload) -> Option<ToolHeld> {
        if payload.is_cut || !may_edit(&payload.text) {
            return None;
        }
        let session = environment::own_session()?;
        let value = serde_json::from_str(&payload.text).logged("read JSON")?;
        let context =
            environment::context(None, self.state_dir.clone()).logged("read the environment")?;
        let told = collision::attend(&context, &session, &value, Timestamp::now());
        Some(ToolHeld::because(told.logged("look for a collision")??))
    }
}

/// A turn is over: what it changed in a worktree of its own may be in the way of others.
fn note_what_changed(state_dir: Option<PathBuf>) {
    let Some(session) = environment::own_session() else { return };
    let context = environment::context(None, state_dir);
    if let Some(context) = context.logged("read the environment") {
        collision::attend_turn_end(&context, &session, Timestamp::now())
            .logged("look for collisions");
    }
}

/// Answers the agent; whether it could be.
fn answer(answer: &impl Serialize) -> bool {
    serde_json::to_vec(answer).logged("write JSON").is_some_and(|bytes| say(&bytes))
}

/// What cannot be printed is no reason to fail.
fn say(bytes: &[u8]) -> bool {
    let said = io::stdout().write_all(bytes).and_then(|()| io::stdout().flush());
    said.logged("answer an agent").is_some()
}

/// Checks the user's budgets, if there are any; why they hold the session's prompts, if they do.
fn budget_of(about: &TurnOf, state_dir: Option<PathBuf>) -> Option<String> {
    let session = environment::own_session()?;
    let context = environment::context(None, state_dir).logged("read the environment")?;
    let named = Named { session: &session, conversation: &about.conversation };
    budget::check(&context, named).logged("check the budgets").flatten()
}

/// `--name` and `--name=value`; no name for a word that is no option.
fn option(word: &OsStr) -> (Option<String>, Option<OsString>) {
    let Some(text) = word.to_str().filter(|text| text.starts_with("--")) else {
        let lossy = word.to_string_lossy();
        return (lossy.starts_with("--").then(|| lossy.into_owned()), None);
    };
    match text.split_once('=') {
        Some((name, value)) => (Some(name.to_owned()), Some(value.into())),
        None => (Some(text.to_owned()), None),
    }
}

fn from_stdin() -> Payload {
    if io::stdin().is_terminal() {
        return Payload::default();
    }
    hook::read_payload(io::stdin())
}

/// An agent waits for its hook, so it must not wait for ever. Without a thread to be had, it is as patient as the rest.
fn end_in_time(limit: Duration) {
    let end = move || {
        // sleep: the time that a call may take; it has usually ended long before
        thread::sleep(limit);
        std::process::exit(exit_code::OK.into());
    };
    thread::Builder::new().spawn(end).logged("start a thread or a program");
}

/// The released binary aborts in a panic, which would be an exit by signal with words on standard error.
fn end_well_even_in_a_panic() {
    std::panic::set_hook(Box::new(|_| std::process::exit(exit_code::OK.into())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    fn read(line: &str) -> Option<Call> {
        let words: Vec<OsString> =
            std::iter::once("dogwatch").chain(line.split_whitespace()).map(Into::into).collect();
        Call::read(&words)
    }

    #[test]
    fn what_is_a_call_of_an_agent() {
        let claude = || Call { agent: Some("claude".into()), ..Call::default() };
        let elsewhere = || Some(Call { state_dir: Some("/s".into()), ..claude() });
        for (line, want) in [
            ("hook claude", Some(claude())),
            ("hook", Some(Call::default())),
            ("hook claude --no-such-option", Some(claude())),
            ("hook --statusline claude", Some(Call { statusline: true, ..claude() })),
            ("--state-dir /s hook claude", elsewhere()),
            ("--socket x hook claude --state-dir=/s", elsewhere()),
            ("hook claude {}", Some(Call { payload: Some("{}".into()), ..claude() })),
            (
                "hook {} x y",
                Some(Call {
                    payload: Some("{}".into()),
                    agent: Some("x".into()),
                    ..Call::default()
                }),
            ),
            ("hook claude --state-dir", Some(claude())),
            ("--json hook claude", Some(claude())),
            ("", None),
            ("status hook", None),
            ("--help hook", None),
            ("--socket hook", None),
        ] {
            assert_eq!(read(line), want, "{line}");
        }
        let not_text = OsString::from_vec(b"--\xff".to_vec());
        let words = ["dogwatch".into(), "hook".into(), not_text, "claude".into()];
        assert_eq!(Call::read(&words), Some(claude()));
    }

    /// The tests below run this one in a process of its own.
    #[test]
    fn trouble_in_a_process_of_its_own() {
        match std::env::var("DOGWATCH_TEST_TROUBLE").as_deref() {
            Ok("panic") => {
                end_well_even_in_a_panic();
                panic!("of the test");
            }
            Ok("hang") => {
                end_in_time(Duration::from_millis(1));
                loop {
                    thread::park();
                }
            }
            _ => {}
        }
    }

    #[test]
    fn trouble_ends_with_0() {
        for trouble in ["panic", "hang"] {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "commands::hook::tests::trouble_in_a_process_of_its_own"]);
            let output = command.env("DOGWATCH_TEST_TROUBLE", trouble).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{trouble}: {output:?}");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(!said.contains("test result"), "{trouble}: it went well: {said}");
            assert!(output.stderr.is_empty(), "{trouble}: {output:?}");
        }
    }
}
