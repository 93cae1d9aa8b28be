//! Answering the dialog that was seen, and no other.

use std::time::{Duration, Instant};

use dogwatch_core::answer::{self, BadChoice, Chosen, Dialog};
use dogwatch_core::status::{Source, Status};
use dogwatch_protocol::keys::{KeyOutcome, KeyRequest};
use dogwatch_protocol::message::{AnswerOutcome, Answered};
use dogwatch_store::PostedKeys;
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use crate::actions::send::tmux_input;
use crate::actions::{keys, permitted};
use crate::error::{MessageError, SessionError};
use crate::observe::asker;
use crate::observe::changes::Changes;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// How long a key may take to show its effect.
const PATIENCE: Duration = Duration::from_secs(5);
/// Agents swallow an Enter now and then, right after a dialog has come up. As long as the same option of the same dialog is
/// marked, it is pressed again.
const ENTERS: usize = 3;
/// How long a step to the next option may take, where there may be none.
const A_STEP: Duration = Duration::from_secs(2);
/// No dialog has more.
const MOST_OPTIONS: usize = 30;
const AGAIN: Duration = Duration::from_millis(100);

/// Has the supervisor choose an option of the dialog that is open; if `bound` names a dialog, of that one only.
pub fn answer(
    context: &Context,
    target: &str,
    choice: &str,
    bound: Option<&str>,
) -> Result<Answered, Error> {
    let judged = StatusReader::new(context)?.one(target, Timestamp::now())?;
    let session = judged.seen.session;
    if judged.verdict.status.is_over() {
        let (name, state) = (session.name, judged.verdict.status.as_str());
        return Err(MessageError::NoDialog { name, state }.into());
    }
    let (choice, dialog) = (choice.to_owned(), bound.map(ToOwned::to_owned));
    let by_agent = asker::is_own_agent(context);
    let request = KeyRequest::Answer { choice, dialog, by_agent };
    match keys::ask(context, &session, &request, &keys::new_id())? {
        KeyOutcome::Answered(answered) => Ok(answered),
        _ => Err(MessageError::DamagedRequest.into()),
    }
}

/// Presses the keys of an answer that was posted.
pub(super) fn press(
    context: &Context,
    posted: &PostedKeys,
    choice: &str,
    bound: Option<&str>,
    by_agent: bool,
) -> Result<Answered, Error> {
    let mut reader = StatusReader::new(context)?;
    let (mut judged, mut dialog) = look(&mut reader, &posted.session)?;
    // Agents say that they wait before they have drawn what for.
    if dialog.is_none() && matches!(judged.verdict.status, Status::Waiting { .. }) {
        until(context, &mut reader, &posted.session, PATIENCE, Option::is_some)?;
        (judged, dialog) = look(&mut reader, &posted.session)?;
    }
    let name = judged.seen.session.name.clone();
    let was_open = posted.begun.as_ref().map(|begun| begun.dialog.as_deref());
    if was_open.is_some_and(|mark| mark != dialog.as_ref().map(|one| one.mark.as_str())) {
        return Err(MessageError::AnswerCutShort { name }.into());
    }
    let Some(first) = dialog else {
        let state = judged.verdict.status.as_str();
        return Err(MessageError::NoDialog { name, state }.into());
    };
    if bound.is_some_and(|bound| bound != first.mark) {
        return Err(MessageError::OtherDialog {
            name,
            question: first.question.unwrap_or_default(),
        }
        .into());
    }
    if by_agent {
        permitted::to_answer(context, &judged)?;
    }
    let pane = judged.seen.pane_id().ok_or_else(|| {
        Error::Session(SessionError::IsOver {
            name: name.clone(),
            reason: "the pane is gone".to_owned(),
        })
    })?;
    if !reader.store.begin_keys(&posted.id, Some(&first.mark), Timestamp::now())? {
        return Err(MessageError::Cancelled.into());
    }
    let mut hands = Hands { context, reader: &mut reader, session: &posted.session, pane, first };
    let wanted = hands.choose(choice)?;
    hands.go_to(wanted)?;
    let is_proven = hands.enter(wanted)?;
    let first = hands.first;
    let choice = first.options[&wanted].clone();
    let outcome = if is_proven { AnswerOutcome::Answered } else { AnswerOutcome::Unproven };
    Ok(Answered { name, dialog: first.mark, question: first.question, choice, outcome })
}

/// Keys pressed on one dialog and no other.
struct Hands<'a, 'c> {
    context: &'a Context,
    reader: &'a mut StatusReader<'c>,
    session: &'a str,
    pane: PaneId,
    /// The dialog as it was first seen, with all of its options that were seen since.
    first: Dialog,
}

impl Hands<'_, '_> {
    /// The number of the option that is meant. In a low pane it may be one that is not in sight yet.
    fn choose(&mut self, choice: &str) -> Result<usize, Error> {
        let chosen = answer::choose(&self.first.options, choice);
        let may_hide = self.first.is_low && self.first.marked.is_some() && !self.first.sideways;
        let is_clear = match &chosen {
            Ok(Chosen::ByBeginning(_)) | Err(BadChoice::NoSuch { .. }) => !may_hide,
            Ok(Chosen::Exactly(_)) | Err(_) => true,
        };
        if is_clear {
            return Ok(chosen.map_err(MessageError::from)?.number());
        }
        let begun = self.first.marked;
        self.see_all()?;
        let chosen = answer::choose(&self.first.options, choice).map(Chosen::number);
        if let (Err(_), Some(begun)) = (&chosen, begun) {
            // As it was found.
            self.go_to(begun)?;
        }
        Ok(chosen.map_err(MessageError::from)?)
    }

    /// Marks one option after the other, until the first one comes again or nothing moves any more.
    fn see_all(&mut self) -> Result<(), Error> {
        for _ in 0..MOST_OPTIONS {
            let Some(marked) = self.look()?.marked else { return Ok(()) };
            if !self.press_and_see(answer::onward(self.first.sideways), marked, A_STEP)? {
                return Ok(());
            }
            let dialog = self.look()?;
            let is_around = dialog.marked.is_none_or(|now| now <= marked);
            self.first.options.extend(dialog.options);
            if is_around {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves the mark to the option, a verified step at a time. Every step is taken on the dialog that was seen.
    fn go_to(&mut self, wanted: usize) -> Result<(), Error> {
        for _ in 0..=self.first.options.len().max(wanted) {
            let dialog = self.look()?;
            let Some(marked) = dialog.marked else {
                let name = self.name()?;
                return Err(MessageError::SelectionHidden { name }.into());
            };
            let Some(key) = answer::key(marked, wanted, dialog.sideways) else {
                return Ok(());
            };
            self.press_and_see(key, marked, PATIENCE)?;
        }
        Err(MessageError::SelectionStuck.into())
    }

    /// Presses Enter on the option that is marked, and sees whether the dialog goes away.
    fn enter(&mut self, wanted: usize) -> Result<bool, Error> {
        for _ in 0..ENTERS {
            let dialog = self.look()?;
            if !dialog.is_ready(&self.first, wanted) {
                return Err(MessageError::SelectionStuck.into());
            }
            tmux_input::press(&self.context.tmux, self.pane, &["Enter"])?;
            let first = self.first.clone();
            let is_gone = |dialog: &Option<Dialog>| {
                dialog.as_ref().is_none_or(|dialog| !dialog.is_same(&first))
            };
            if until(self.context, self.reader, self.session, PATIENCE, is_gone)? {
                return Ok(true);
            }
            let (_, dialog) = look(self.reader, self.session)?;
            if dialog.is_none_or(|d| d.marked != Some(wanted)) {
                break;
            }
        }
        Ok(false)
    }

    /// Presses a key and waits until another option is marked; false if none was.
    fn press_and_see(
        &mut self,
        key: &str,
        marked: usize,
        patience: Duration,
    ) -> Result<bool, Error> {
        tmux_input::press(&self.context.tmux, self.pane, &[key])?;
        let first = self.first.clone();
        let has_moved = |dialog: &Option<Dialog>| {
            dialog.as_ref().is_none_or(|d| !d.is_same(&first) || d.marked != Some(marked))
        };
        until(self.context, self.reader, self.session, patience, has_moved)
    }

    /// The dialog as it is now, if it is still the same. While it is drawn anew it may be in pieces for a moment.
    fn look(&mut self) -> Result<Dialog, Error> {
        let first = self.first.clone();
        let is_same = |dialog: &Option<Dialog>| dialog.as_ref().is_some_and(|d| d.is_same(&first));
        let mut same = None;
        let keep = |dialog: &Option<Dialog>| {
            let found = is_same(dialog);
            if found {
                same.clone_from(dialog);
            }
            found
        };
        until(self.context, self.reader, self.session, A_STEP, keep)?;
        if let Some(dialog) = same {
            return Ok(dialog);
        }
        let name = self.name()?;
        Err(MessageError::OtherDialog { name, question: String::new() }.into())
    }

    fn name(&mut self) -> Result<String, Error> {
        Ok(look(self.reader, self.session)?.0.seen.session.name)
    }
}

/// Waits until the dialog is as told; false if it did not become so in time.
fn until(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
    patience: Duration,
    mut is_so: impl FnMut(&Option<Dialog>) -> bool,
) -> Result<bool, Error> {
    context.state.news();
    let begun = Instant::now();
    let mut changes = Changes::new();
    loop {
        let (judged, dialog) = look(reader, session)?;
        if is_so(&dialog) {
            return Ok(true);
        }
        if begun.elapsed() > patience {
            return Ok(false);
        }
        changes.set(reader.interests(std::slice::from_ref(&judged)));
        changes.wait(AGAIN);
    }
}

fn look(
    reader: &mut StatusReader<'_>,
    session: &str,
) -> Result<(SessionStatus, Option<Dialog>), Error> {
    let judged = reader.one(session, Timestamp::now())?;
    let screen = reader.memory(session).and_then(|memory| memory.screen());
    // What the screen asks changes with what of the dialog is in sight: only what the agent itself tells counts here.
    let is_told = matches!(judged.verdict.decided_by(), Some(Source::OwnWord | Source::Hook));
    let told = match &judged.verdict.status {
        Status::Waiting { question, .. } if is_told => question.clone(),
        _ => None,
    };
    let screen = screen.filter(|_| !judged.verdict.status.is_over());
    let dialog = screen.and_then(|screen| Dialog::seen(screen, told));
    Ok((judged, dialog))
}
