//! What is done for a key, each on a thread of its own: the frame never waits for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_core::delivery::{Outcome, When};
use dogwatch_engine::actions::send::{Receipt, Request};
use dogwatch_engine::actions::{answer, escalation, kill, send};
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::id::SessionId;
use jiff::Timestamp;

use super::inbox::Inbox;
use crate::model::{Page, PageOf, View};

/// How long a message may wait for its agent before it is left to the runner.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a command of the palette may run.
const LONGEST: Duration = Duration::from_mins(1);

/// Who acts, and where the result is reported.
#[derive(Debug, Clone)]
pub(super) struct Actions {
    pub(super) context: Context,
    pub(super) inbox: Inbox,
}

impl Actions {
    /// Runs this on a thread.
    pub(super) fn start(&self, work: impl FnOnce(&Self) + Send + 'static) {
        let me = self.clone();
        let started = thread::Builder::new().name("action".to_owned()).spawn(move || work(&me));
        if started.is_err() {
            self.inbox.complain("error: no thread could be started");
        }
    }

    pub(super) fn answer(&self, session: &SessionId, name: &str, choice: usize, dialog: &str) {
        match answer::answer(&self.context, session, &choice.to_string(), Some(dialog)) {
            Ok(done) if done.is_proven => {
                self.inbox.say(format!("{name}: answered {choice} ({})", done.choice));
            }
            Ok(done) => self.inbox.complain(format!(
                "{name}: {choice} ({}) was pressed, but the dialog is still open",
                done.choice
            )),
            Err(error) => self.inbox.complain(format!("{name}: not answered: {error}")),
        }
        self.looked(session);
    }

    pub(super) fn answer_question(&self, number: i64, option: usize) {
        let by = self.context.caller.user.clone();
        let (number, option) = (number.to_string(), option.to_string());
        match escalation::answer(&self.context, &number, &option, None, &by) {
            Ok(_) => self.inbox.say(format!("question {number}: option {option}")),
            Err(error) => self.inbox.complain(format!("question {number}: {error}")),
        }
    }

    /// Sends to one after the other; the last line tells of the last one, and failures stay in sight.
    pub(super) fn send(&self, to: &[(SessionId, String)], text: &str) {
        let mut failed = Vec::new();
        let mut last = String::new();
        for (session, name) in to {
            let slash = text.starts_with('/') && !text.contains('\n');
            let request =
                Request { target: session, text, slash, when: When::Idle, timeout: Some(PATIENCE) };
            match send::send(&self.context, &request) {
                Ok(receipt) => match &receipt.outcome {
                    Outcome::Delivered { .. } | Outcome::Queued { .. } => last = in_words(&receipt),
                    _ => failed.push(in_words(&receipt)),
                },
                Err(error) => failed.push(format!("{name}: {error}")),
            }
            self.looked(session);
        }
        if failed.is_empty() {
            let sent = if to.len() > 1 { format!("{} messages; {last}", to.len()) } else { last };
            self.inbox.say(sent);
        } else {
            self.inbox.complain(failed.join("; "));
        }
    }

    pub(super) fn kill(&self, sessions: &[(SessionId, String)]) {
        let killed = || -> Result<Vec<String>, Error> {
            let seen = sessions
                .iter()
                .map(|(id, _)| snapshot::find(&self.context, id))
                .collect::<Result<Vec<_>, Error>>()?;
            let results = kill::kill_all(&self.context, &seen, false, Timestamp::now())?;
            let failed = results.iter().zip(sessions).filter_map(|(result, (_, name))| {
                result.as_ref().err().map(|error| format!("{name}: {error}"))
            });
            Ok(failed.collect())
        };
        let names: Vec<&str> = sessions.iter().map(|(_, name)| name.as_str()).collect();
        match killed() {
            Ok(failed) if failed.is_empty() => {
                self.inbox.say(format!("killed {}", names.join(", ")));
            }
            Ok(failed) => self.inbox.complain(failed.join("; ")),
            Err(error) => self.inbox.complain(format!("not killed: {error}")),
        }
    }

    /// Runs a command line of dogwatch's own, on the same server and state directory.
    pub(super) fn command(&self, words: &[String]) -> Result<program::Ended, Error> {
        let mut command = Command::new(&self.context.dogwatch);
        command.arg("--socket").arg(&self.context.socket);
        command.arg("--state-dir").arg(self.context.state.root()).args(words);
        program::run(command, b"", LONGEST).map_err(Error::io("start dogwatch"))
    }

    pub(super) fn run(&self, words: &[String], shows: bool) {
        let title = words.first().cloned().unwrap_or_default();
        let ended = match self.command(words) {
            Ok(ended) => ended,
            Err(error) => return self.inbox.complain(error.to_string()),
        };
        if shows {
            let text = [ended.stdout.text(), ended.stderr.text()].concat();
            let lines = super::pages::text(&text);
            let page = Page { of: PageOf::View(View::Output), lines };
            self.inbox.post(|pending| pending.page = Some(page));
        } else if ended.is_fine() {
            let said = ended.stdout.text();
            let last = said.lines().last().unwrap_or_default();
            self.inbox.say(format!("{title}: {last}"));
        } else {
            let complaint = ended.complaint();
            let first = complaint.lines().next().unwrap_or_default();
            self.inbox.complain(format!("{title}: {}", first.trim_start_matches("error: ")));
        }
    }

    /// Records that a person has seen a session.
    pub(super) fn looked(&self, session: &SessionId) {
        let now = Timestamp::now();
        if let Some(mut store) = self.context.store().logged("open the database") {
            store.look_at(session, now).logged("record a look");
        }
    }

    /// The only directory that begins like this, or as far as all of them agree.
    pub(super) fn complete_folder(&self, typed: &str) {
        if let Some(completed) = complete_folder(typed, self.context.home.as_deref()) {
            self.inbox.post(|pending| pending.folder = Some(completed));
        }
    }
}

fn complete_folder(typed: &str, home: Option<&Path>) -> Option<String> {
    let (folder, begun) = typed.rsplit_once('/').unwrap_or((".", typed));
    let prefix = typed.strip_suffix(begun)?;
    let real: PathBuf = match (folder.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ if folder.is_empty() => PathBuf::from("/"),
        _ => PathBuf::from(folder),
    };
    let entries = std::fs::read_dir(real).logged("read a directory")?;
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            name.starts_with(begun) && (begun.starts_with('.') || !name.starts_with('.'))
        })
        .collect();
    names.sort();
    let first = names.first()?;
    if names.len() == 1 {
        return Some(format!("{prefix}{first}/"));
    }
    let common = first
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| names.iter().all(|name| name.starts_with(&first[..*end])))
        .last()
        .unwrap_or(0);
    Some(format!("{prefix}{}", &first[..common]))
}

/// The receipt: when it was staged, submitted and proven.
fn in_words(receipt: &Receipt) -> String {
    let name = &receipt.name;
    let message = &receipt.message;
    let after = |at: Option<Timestamp>| {
        at.map(|at| format!("{:.1}s", at.duration_since(message.posted).as_secs_f64()))
    };
    let staged = after(message.staged).map(|at| format!("staged {at}"));
    let submitted = after(message.submitted).map(|at| format!("submitted {at}"));
    match &receipt.outcome {
        Outcome::Delivered { proof, .. } => {
            let proven =
                after(message.done).map(|at| format!("proven by its {} {at}", proof.as_str()));
            let steps: Vec<String> = [staged, submitted, proven].into_iter().flatten().collect();
            format!("{name}: delivered: {}", steps.join(" → "))
        }
        Outcome::Queued { because } if receipt.has_runner => {
            format!("{name}: queued: {because}; dogwatch delivers it when the agent is ready")
        }
        other => {
            let because = other.because().unwrap_or_default();
            format!("{name}: {}: {because}", other.as_str().replace('_', " "))
        }
    }
}
