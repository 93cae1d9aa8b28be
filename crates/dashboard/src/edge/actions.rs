//! What is done for a key, each on a thread of its own: the frame never waits for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::exit_code;
use dogwatch_engine::actions::send::{Receipt, Request};
use dogwatch_engine::actions::{answer, escalation, kill, label, send};
use dogwatch_engine::error::SessionError;
use dogwatch_engine::observe::{conversations, snapshot};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::message::AnswerOutcome;
use jiff::Timestamp;

use super::busy::{Busy, Commands};
use super::inbox::Inbox;
use crate::model::Sent;

/// How long a message may wait for its agent before it is left to the runner.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a runner may take to end what its agent left behind.
const ENDING: Duration = Duration::from_secs(5);
/// How long a command may run whose output is a view.
const LONGEST: Duration = Duration::from_mins(1);
/// How many messages are sent at the same time.
const MOST_SENT: usize = 8;

/// Who acts, and where the result is reported.
#[derive(Debug, Clone)]
pub(super) struct Actions {
    pub(super) context: Context,
    pub(super) inbox: Inbox,
    pub(super) busy: Busy,
    pub(super) commands: Commands,
}

impl Actions {
    /// Runs this on a thread; the dashboard does not quit before it has ended. `what` it is: `killing a`.
    pub(super) fn start(&self, what: impl Into<String>, work: impl FnOnce(&Self) + Send + 'static) {
        let doing = self.busy.begin(what.into());
        self.aside(move |actions| {
            work(actions);
            drop(doing);
            // Who quits waits for it.
            actions.inbox.post(|_| {});
        });
    }

    /// Runs this on a thread that ends with the dashboard.
    pub(super) fn aside(&self, work: impl FnOnce(&Self) + Send + 'static) {
        let me = self.clone();
        let started = thread::Builder::new().name("action".to_owned()).spawn(move || work(&me));
        if started.is_err() {
            self.inbox.complain("error: no thread could be started");
        }
    }

    pub(super) fn answer(&self, session: &SessionId, name: &str, choice: usize, dialog: &str) {
        match answer::answer(&self.context, session, &choice.to_string(), Some(dialog)) {
            Ok(done) if done.outcome == AnswerOutcome::Answered => {
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

    /// Sends to several at the same time. The last line tells of the last one; failures stay in sight, and their text is kept.
    pub(super) fn send(&self, to: &[(SessionId, String)], text: &str) {
        let send = |(session, name): &(SessionId, String)| self.send_one(session, name, text);
        let results: Vec<Result<String, String>> = to
            .chunks(MOST_SENT)
            .flat_map(|part| {
                thread::scope(|scope| {
                    let begin = |one| {
                        let name = thread::Builder::new().name("send".to_owned());
                        name.spawn_scoped(scope, move || send(one)).map_err(|_| one)
                    };
                    let begun: Vec<_> = part.iter().map(begin).collect();
                    let end = |sending: Result<thread::ScopedJoinHandle<'_, _>, _>| match sending {
                        Ok(sending) => {
                            sending.join().unwrap_or_else(|_| Err("a thread failed".to_owned()))
                        }
                        // No thread: here.
                        Err(one) => send(one),
                    };
                    begun.into_iter().map(end).collect::<Vec<_>>()
                })
            })
            .collect();
        let unsent = to.iter().zip(&results).filter(|(_, result)| result.is_err());
        let drafts: Vec<_> = unsent.map(|((id, _), _)| (id.clone(), text.to_owned())).collect();
        self.inbox.post(|pending| pending.drafts.extend(drafts));
        self.tell(results, |several| format!("{several} messages"));
    }

    fn send_one(&self, target: &SessionId, name: &str, text: &str) -> Result<String, String> {
        let slash = text.starts_with('/') && !text.contains('\n');
        let request = Request { target, text, slash, when: When::Idle, timeout: Some(PATIENCE) };
        let sent = send::send(&self.context, &request);
        self.looked(target);
        let receipt = sent.map_err(|error| format!("{name}: {error}"))?;
        match &receipt.outcome {
            Outcome::Delivered { .. } | Outcome::Queued { .. } => Ok(in_words(&receipt)),
            _ => Err(in_words(&receipt)),
        }
    }

    /// Kills those that can be killed, and says why the others were not.
    pub(super) fn kill(&self, sessions: &[(SessionId, String)]) {
        let find = |(id, _): &(SessionId, String)| snapshot::find(&self.context, id);
        let (mut seen, mut found) = (Vec::new(), Vec::new());
        for one in sessions.iter().map(find) {
            found.push(one.map(|one| seen.push(one)));
        }
        let mut ends = match kill::kill_all(&self.context, &seen, false, Timestamp::now()) {
            Ok(ends) => ends.into_iter(),
            Err(error) => return self.inbox.complain(format!("not killed: {error}")),
        };
        let (mut killed, mut failed) = (Vec::new(), Vec::new());
        for (found, (_, name)) in found.into_iter().zip(sessions) {
            match found.map(|()| ends.next()) {
                Ok(Some(Err(error))) | Err(error) => failed.push(format!("{name}: {error}")),
                Ok(_) => killed.push(name.as_str()),
            }
        }
        let killed = (!killed.is_empty()).then(|| format!("killed {}", killed.join(", ")));
        let (is_fine, words) = (failed.is_empty(), failed.into_iter().chain(killed));
        let words = words.collect::<Vec<_>>().join("; ");
        if is_fine {
            self.inbox.say(words);
        } else {
            self.inbox.complain(words);
        }
    }

    /// A command line of dogwatch's own, on the same server and state directory.
    fn start_command(&self, words: &[String]) -> Result<program::Running, Error> {
        let mut command = Command::new(&self.context.dogwatch);
        command.arg("--socket").arg(&self.context.socket);
        command.arg("--state-dir").arg(self.context.state.root()).args(words);
        program::start(command, b"").map_err(Error::io("start dogwatch"))
    }

    /// Runs one to its end: a new session may take minutes to prepare its worktree.
    fn command(&self, words: &[String]) -> Result<program::Ended, Error> {
        self.start_command(words)?.wait().map_err(Error::io("wait for dogwatch"))
    }

    /// Runs one that only reads.
    pub(super) fn output_of(&self, words: &[String]) -> Result<program::Ended, Error> {
        self.start_command(words)?.wait_at_most(LONGEST).map_err(Error::io("wait for dogwatch"))
    }

    /// Runs a command, however long it takes, and shows what it prints.
    pub(super) fn show(&self, number: u64, title: String, words: &[String]) {
        let ended = self.start_command(words).and_then(|running| {
            self.commands.started(number, running.stop());
            running.wait().map_err(Error::io("wait for dogwatch"))
        });
        let is_cancelled = self.commands.remove(number);
        let printed = super::pages::printed(number, title, ended, is_cancelled);
        self.inbox.post(|pending| pending.printed.push(printed));
    }

    /// Runs commands one after the other. The last line tells of the last one; failures stay in sight.
    pub(super) fn run(&self, lines: &[Vec<String>]) {
        self.one_by_one(lines, |words| self.run_one(words));
    }

    fn one_by_one<T>(&self, all: &[T], work: impl Fn(&T) -> Result<String, String>) {
        self.tell(all.iter().map(work).collect(), |several| format!("{several} done"));
    }

    /// Says how each of several went.
    fn tell(&self, results: Vec<Result<String, String>>, all: impl Fn(usize) -> String) {
        let count = results.len();
        let (said, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        let failed: Vec<String> = failed.into_iter().filter_map(Result::err).collect();
        let last = said.into_iter().filter_map(Result::ok).next_back().unwrap_or_default();
        match (failed.is_empty(), count) {
            (false, _) => self.inbox.complain(failed.join("; ")),
            (true, 1) => self.inbox.say(last),
            (true, several) => self.inbox.say(format!("{}; {last}", all(several))),
        }
    }

    /// Starts ended sessions again, in their conversations and under their names.
    pub(super) fn resume(&self, sessions: &[(SessionId, String)]) {
        self.one_by_one(sessions, |(id, name)| self.resume_one(id, name));
    }

    fn resume_one(&self, id: &SessionId, name: &str) -> Result<String, String> {
        let told = |error: Error| format!("resume: {name}: {error}");
        let seen = snapshot::find(&self.context, id).map_err(told)?;
        if !seen.life.state.is_over() {
            return Err(format!("resume: {name} is running"));
        }
        let registered = ["resume", name].map(ToOwned::to_owned);
        let ended = self.command(&registered).map_err(told)?;
        let code = ended.status.and_then(|status| status.code());
        if code != Some(exit_code::NOT_FOUND.into()) {
            return in_a_line("resume", &ended);
        }
        let session = &seen.session;
        let mut store = self.context.store().map_err(|error| told(error.into()))?;
        let Some(conversation) = conversations::of_session(&mut store, session) else {
            return Err(format!("resume: {name} has no conversation to resume"));
        };
        // Its name is free once what is left of its pane is closed.
        let ids = [id.to_string()];
        self.archive(&ids).map_err(told)?;
        let words = [
            "spawn".to_owned(),
            session.agent.clone(),
            format!("--resume={conversation}"),
            format!("--cwd={}", session.cwd.display()),
            format!("--name={name}"),
        ];
        let resumed = self.run_one(&words);
        if resumed.is_err() {
            label::unarchive(&self.context, &ids, Timestamp::now()).logged("unarchive a session");
        }
        resumed.map(|_| format!("resumed {name}"))
    }

    /// Archives a session that has just ended: its runner may still be ending what the agent left behind.
    fn archive(&self, ids: &[String]) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            match label::archive(&self.context, ids, Timestamp::now()) {
                Err(Error::Session(SessionError::IsRunning { .. })) if begun.elapsed() < ENDING => {
                    // sleep: a runner that ends is nothing that a thread of ours could wait for.
                    thread::sleep(Duration::from_millis(50));
                }
                result => return result.map(drop),
            }
        }
    }

    fn run_one(&self, words: &[String]) -> Result<String, String> {
        let title = words.first().map(String::as_str).unwrap_or_default();
        let ended = self.command(words).map_err(|error| error.to_string())?;
        in_a_line(title, &ended)
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

/// The last line that a command printed, or the first of its complaint.
fn in_a_line(title: &str, ended: &program::Ended) -> Result<String, String> {
    if ended.is_fine() {
        let said = ended.stdout.text();
        return Ok(format!("{title}: {}", said.lines().last().unwrap_or_default()));
    }
    let complaint = ended.complaint();
    let first = complaint.lines().next().unwrap_or_default();
    Err(format!("{title}: {}", first.trim_start_matches("error: ")))
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

/// The receipt of a message that was just sent.
fn in_words(receipt: &Receipt) -> String {
    let name = &receipt.name;
    match &receipt.outcome {
        outcome @ Outcome::Delivered { .. } => {
            let mut sent = Sent::new(name.clone(), receipt.message.clone());
            sent.outcome = Some(outcome.clone());
            format!("{name}: delivered: {}", sent.receipt())
        }
        Outcome::Queued { because } => {
            format!("{name}: queued: {because}; dogwatch delivers it when the agent is ready")
        }
        other => {
            let because = other.because().unwrap_or_default();
            format!("{name}: {}: {because}", other.as_str().replace('_', " "))
        }
    }
}
