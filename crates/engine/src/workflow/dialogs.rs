//! Dialogs of a step's agent, in a run whose agents ask for permission. Each becomes an escalation that can be answered from
//! anywhere, and the answer is given to that dialog only.

use dogwatch_base::log::Logged as _;
use dogwatch_core::escalation::{self, Dialog, Situation, Trigger};
use dogwatch_core::permissions::Permissions;
use dogwatch_core::status::Status;
use dogwatch_core::workflow::{Job, Subject};
use dogwatch_store::{Escalation, Settlement};
use jiff::{SignedDuration, Timestamp};

use super::questions;
use crate::actions::escalation as ask;
use crate::observe::capture;
use crate::observe::status::SessionStatus;
use crate::workflow::run_context::RunContext;
use crate::{Context, Error};

/// How long a dialog may stay open after its answer was given.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);
/// How much later than the dialog on the screen the hook that tells of it may come: an agent draws while its hook runs.
const HOOK_COMES: SignedDuration = SignedDuration::from_secs(2);
/// Lines of the screen that are shown with the question.
const LINES: usize = 24;

/// The dialogs of one attempt's session.
pub(super) struct Dialogs<'a> {
    ctx: &'a RunContext<'a>,
    job: &'a Job,
    n: u32,
    /// Key of the dialog that was open at the last check.
    open: Option<String>,
    /// The request that belongs to it, by its hook.
    request: String,
    /// False until the first check: dialogs that an earlier process asked about may be gone by now.
    has_looked: bool,
}

impl<'a> Dialogs<'a> {
    pub(super) fn new(ctx: &'a RunContext<'a>, job: &'a Job, n: u32) -> Self {
        Self { ctx, job, n, open: None, request: String::new(), has_looked: false }
    }

    fn prefix(&self) -> String {
        format!("dialog {}: {}#{} ", self.ctx.journal.id, self.job, self.n)
    }

    /// Raises an escalation for the open dialog, and gives its answer to the agent. Returns whether a dialog waits for a person.
    pub(super) fn look(&mut self, status: &SessionStatus) -> Result<bool, Error> {
        if self.ctx.settings.permissions == Permissions::Bypass {
            return Ok(false);
        }
        let found = match &status.verdict.status {
            Status::Waiting { question, options, dialog: Some(mark), .. }
                if !options.is_empty() =>
            {
                let id = &status.seen.session.id;
                let (request, asks) = ask::last_request(self.ctx.context, id)?.unwrap_or_default();
                let dialog = Dialog {
                    session: id.to_string(),
                    mark: mark.clone(),
                    request,
                    options: options.clone(),
                };
                Some((dialog, question.clone().unwrap_or_default(), asks))
            }
            // The agent reports that it waits before it draws the dialog.
            Status::Waiting { .. } => return Ok(self.open.is_some()),
            _ => None,
        };
        let prefix = self.prefix();
        let key = found
            .as_ref()
            .map(|(dialog, ..)| format!("{prefix}{}@{}", dialog.mark, dialog.request));
        let is_new = !self.has_looked || self.open != key;
        if let Some((dialog, ..)) = found.as_ref().filter(|_| is_new) {
            // The last hook reported the dialog before this one.
            let is_untold = dialog.request.is_empty() || dialog.request == self.request;
            let is_fresh = status
                .verdict
                .since
                .is_some_and(|since| Timestamp::now().duration_since(since) < HOOK_COMES);
            if is_untold && is_fresh {
                return Ok(self.open.is_some());
            }
            self.request.clone_from(&dialog.request);
        }
        if is_new {
            close(self.ctx.context, &prefix, key.as_deref(), GONE)?;
        }
        self.has_looked = true;
        self.open.clone_from(&key);
        let (Some((dialog, question, asks)), Some(key)) = (found, key) else { return Ok(false) };
        self.ask(&key, status, dialog, &question, &asks, is_new)?;
        Ok(true)
    }

    fn ask(
        &self,
        key: &str,
        status: &SessionStatus,
        dialog: Dialog,
        question: &str,
        asks: &str,
        is_new: bool,
    ) -> Result<(), Error> {
        let newest = ask::list(self.ctx.context, true)?.into_iter().rfind(|one| one.key == key);
        match newest {
            Some(Escalation { settled: None, .. }) => return Ok(()),
            Some(one) => match &one.settled {
                Some(settled) => match settled.outcome {
                    Settlement::Answered { carried_out: false, .. } => {
                        return match ask::carry_out(self.ctx.context, &one) {
                            // The dialog closed meanwhile.
                            Err(error) if matches!(error.code(), "no_dialog" | "other_dialog") => {
                                Ok(())
                            }
                            other => other,
                        };
                    }
                    // The keys were pressed and the agent is slow; a dialog that stays open is asked about again.
                    Settlement::Answered { .. }
                        if !is_new && Timestamp::now().duration_since(settled.at) < PATIENCE =>
                    {
                        return Ok(());
                    }
                    _ => {}
                },
                None => return Ok(()),
            },
            None => {}
        }
        let run = self.ctx.journal.run();
        let session = status.seen.session.name.clone();
        let problem = match (asks.is_empty(), question.is_empty()) {
            (true, true) => "it asks for permission".to_owned(),
            (true, false) => question.to_owned(),
            (false, true) => asks.to_owned(),
            (false, false) => format!("{asks}\n{question}"),
        };
        let screen = capture::capture(self.ctx.context, &status.seen, None, false);
        let screen = screen.map(|c| String::from_utf8_lossy(&c.text).into_owned());
        let facts = screen
            .logged("capture a screen")
            .map(|text| escalation::Fact { name: "screen".into(), value: last_lines(&text) });
        let situation = Situation {
            run: Some(self.ctx.journal.id.clone()),
            story: Some(match &self.job.subject {
                Subject::Item(item) => item.clone(),
                Subject::Group(group) => format!("epic {group}"),
            }),
            step: Some(self.job.step.clone()),
            session: Some(session),
            facts: facts.into_iter().collect(),
            offer: Some(questions::offer(self.ctx, &run, self.job)),
            dialog: Some(dialog),
            ..Situation::new(Trigger::Permission, problem)
        };
        // No deadline: a default answer must never grant a permission.
        let request = ask::Request { key, situation: &situation, deadline: None, anew: true };
        ask::raise(self.ctx.context, &request).map(drop)
    }

    /// The session has ended: withdraws its questions.
    pub(super) fn over(&self) -> Result<(), Error> {
        close(self.ctx.context, &self.prefix(), None, "its session has ended")
    }
}

const GONE: &str = "the dialog is gone: it was answered at the agent's terminal";

fn close(context: &Context, prefix: &str, but: Option<&str>, because: &str) -> Result<(), Error> {
    for open in ask::list(context, false)? {
        if open.key.starts_with(prefix) && but != Some(open.key.as_str()) {
            ask::withdraw(context, &open.key, because)?;
        }
    }
    Ok(())
}

/// The last lines of a screen, without empty ones.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
