//! Answering the dialog that was seen, and no other.

use std::fs::File;
use std::time::{Duration, Instant};

use dogwatch_core::answer;
use dogwatch_core::status::Status;
use dogwatch_core::status::evidence::{Screen, Shows};
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use crate::actions::send::{queue, tmux_input};
use crate::error::{MessageError, SessionError};
use crate::observe::changes::Changes;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// How long a key may take to show its effect.
const PATIENCE: Duration = Duration::from_secs(5);
/// Agents swallow an Enter now and then, right after a dialog has come up. As long as the same option of the same dialog is
/// marked, it is pressed again.
const ENTERS: usize = 3;
/// How long another who types is waited for.
const LOCKED: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(100);

/// What was answered.
#[derive(Debug, Clone)]
pub struct Answered {
    pub name: String,
    pub dialog: String,
    pub question: Option<String>,
    pub choice: String,
    /// The dialog is gone, or another one came up in its place.
    pub is_proven: bool,
}

/// A dialog as it is on the screen.
#[derive(Debug, Clone)]
struct Dialog {
    mark: String,
    question: Option<String>,
    options: Vec<String>,
    marked: Option<usize>,
}

/// Chooses an option of the dialog that is open; if `bound` names a dialog, of that one only.
pub fn answer(
    context: &Context,
    target: &str,
    choice: &str,
    bound: Option<&str>,
) -> Result<Answered, Error> {
    let mut reader = StatusReader::new(context)?;
    let judged = reader.one(target, Timestamp::now())?;
    let session = judged.seen.session.clone();
    let _lock = lock(context, &session.id, &session.name)?;
    // Again, now that nobody else types.
    let (mut judged, mut dialog) = look(&mut reader, &session.id)?;
    // Agents say that they wait before they have drawn what for.
    if dialog.is_none() && matches!(judged.verdict.status, Status::Waiting { .. }) {
        until(context, &mut reader, &session.id, Option::is_some)?;
        (judged, dialog) = look(&mut reader, &session.id)?;
    }
    let name = session.name;
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
    let wanted = answer::choose(&first.options, choice).map_err(MessageError::from)?;
    let pane = judged.seen.pane_id().ok_or_else(|| {
        Error::Session(SessionError::IsOver {
            name: name.clone(),
            reason: "the pane is gone".to_owned(),
        })
    })?;
    go_to(context, &mut reader, &session.id, pane, &first, wanted)?;
    let is_gone = |dialog: &Option<Dialog>| dialog.as_ref().is_none_or(|d| d.mark != first.mark);
    let mut is_proven = false;
    for _ in 0..ENTERS {
        tmux_input::press(&context.tmux, pane, &["Enter"])?;
        is_proven = until(context, &mut reader, &session.id, is_gone)?;
        let (_, dialog) = look(&mut reader, &session.id)?;
        let is_as_it_was = dialog.is_some_and(|d| d.mark == first.mark && d.marked == Some(wanted));
        if is_proven || !is_as_it_was {
            break;
        }
    }
    let chosen = first.options[wanted].clone();
    Ok(Answered { name, dialog: first.mark, question: first.question, choice: chosen, is_proven })
}

/// Moves the mark to the option, a verified step at a time. Every step is taken on the dialog that was seen.
fn go_to(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
    pane: PaneId,
    first: &Dialog,
    wanted: usize,
) -> Result<(), Error> {
    for _ in 0..=first.options.len() {
        let (judged, dialog) = look(reader, session)?;
        let name = judged.seen.session.name.clone();
        let Some(dialog) = dialog.filter(|dialog| dialog.mark == first.mark) else {
            return Err(MessageError::OtherDialog { name, question: String::new() }.into());
        };
        let Some(marked) = dialog.marked else {
            return Err(MessageError::SelectionHidden { name }.into());
        };
        let Some(key) = answer::key(marked, wanted) else { return Ok(()) };
        tmux_input::press(&context.tmux, pane, &[key])?;
        let moved = |dialog: &Option<Dialog>| {
            dialog.as_ref().is_none_or(|d| d.mark != first.mark || d.marked != Some(marked))
        };
        until(context, reader, session, moved)?;
    }
    Err(MessageError::SelectionStuck.into())
}

/// Waits until the dialog is as told; false if it did not become so in time.
fn until(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
    is_so: impl Fn(&Option<Dialog>) -> bool,
) -> Result<bool, Error> {
    context.state.news();
    let begun = Instant::now();
    let mut changes = Changes::new();
    loop {
        let (judged, dialog) = look(reader, session)?;
        if is_so(&dialog) {
            return Ok(true);
        }
        if begun.elapsed() > PATIENCE {
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
    let dialog = screen.filter(|_| !judged.verdict.status.is_over()).and_then(dialog);
    Ok((judged, dialog))
}

fn dialog(screen: &Screen) -> Option<Dialog> {
    let Shows::Dialog(_, question) = &screen.shows else { return None };
    Some(Dialog {
        mark: answer::mark(question.as_deref(), &screen.options),
        question: question.clone(),
        options: screen.options.clone(),
        marked: screen.hands.marked,
    })
}

fn lock(context: &Context, session: &str, name: &str) -> Result<File, Error> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = queue::lock(context, session)? {
            return Ok(lock);
        }
        if begun.elapsed() > LOCKED {
            return Err(MessageError::Busy { name: name.to_owned() }.into());
        }
        // sleep: the kernel has no wait for a lock with a time limit.
        std::thread::sleep(Duration::from_millis(20));
    }
}
