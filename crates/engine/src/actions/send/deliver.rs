//! One message: look, decide, do, look again.

use std::time::Duration;

use dogwatch_core::delivery::{Delivery, Kind, Outcome, Phase, Proof, Step};
use dogwatch_store::Message;
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use crate::actions::limits;
use crate::actions::send::observe::Looking;
use crate::actions::send::{deliverer, queue, tmux_input};
use crate::error::SessionError;
use crate::observe::changes::Changes;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::unmanaged::{self, Absence};
use crate::{Context, Error};

/// Hooks, transcripts and screens tell of what they see; this is for what none of them does.
const SLOW: Duration = Duration::from_secs(3);
/// Another process types, or the agent is out of sight for a moment: neither causes an event.
const TYPING: Duration = Duration::from_millis(50);

/// How often to check for what causes no event, while the agent cannot take the message yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// A person waits for it.
    Quick,
    /// It may take hours.
    Slow,
}

/// Delivers a message as far as it goes until then. No other process delivers this one.
pub(super) fn deliver(
    context: &Context,
    reader: &mut StatusReader<'_>,
    message: &Message,
    until: Option<Timestamp>,
    pace: Pace,
) -> Result<Outcome, Error> {
    if message.phase == Phase::Before
        && let Some(because) = queue::damage(message)
    {
        let outcome = Outcome::Failed { because };
        reader.store.settle(&message.id, &outcome, Timestamp::now())?;
        return Ok(outcome);
    }
    let when = queue::terms(message).when;
    // Without a runner nothing would deliver it later.
    let is_lasting =
        message.session.origin().is_managed() && reader.store.is_subscribed(&message.id)?;
    let mut delivery =
        Delivery::resumed(message.phase, when, until, Timestamp::now()).lasting(is_lasting);
    let mut looking = Looking::new(message);
    let mut changes = Changes::new();
    // Held from the paste to the end, and not while waiting for the agent: others may have to answer it first.
    let mut typing = None;
    let mut absence = Absence::default();
    let mut is_told = pace == Pace::Slow;
    loop {
        let now = Timestamp::now();
        // This may wait for hours, and whoever keeps a deleted log keeps all others from the database.
        reader.store.check_files()?;
        if let Some(outcome) = taken_back(reader, message)? {
            return Ok(outcome);
        }
        delivery = delivery.of_kind(kind(reader, message));
        let found = reader.one(&message.session, now);
        let origin = message.session.origin();
        if !origin.is_managed() && !unmanaged::lives(origin) && delivery.is_quitting() {
            // It was started by hand, so there is no exit record; its process is gone.
            let outcome = Outcome::Delivered { proof: Proof::Exit, while_working: false };
            reader.store.settle(&message.id, &outcome, Timestamp::now())?;
            return Ok(outcome);
        }
        let Some(judged) = absence.judge(origin, found)? else {
            changes.wait(TYPING);
            continue;
        };
        if delivery.phase() == Phase::Before
            && let Some(guard) = limits::guard(message)
            && limits::confirm(context, reader, &guard, &judged)
        {
            continue;
        }
        if delivery.phase() == Phase::Before
            && let Some(outcome) = held_back(reader, message, &judged, pace, now)?
        {
            return Ok(outcome);
        }
        changes.set(reader.interests(std::slice::from_ref(&judged)));
        let sight = looking.sight(context, reader, &judged);
        let is_hands_on = matches!(delivery.clone().next(&sight, now), Step::Paste | Step::Submit);
        if is_hands_on && typing.is_none() {
            typing = queue::lock(context, &message.session)?;
            if typing.is_none() {
                changes.wait(TYPING);
            }
            // What was seen before may be another's doing.
            continue;
        }
        match delivery.next(&sight, now) {
            Step::Look(at_most) if delivery.phase() == Phase::Before => {
                // Should we be killed, or give up, its runner goes on.
                if !is_told {
                    is_told = true;
                    deliverer::tell_runner(&judged.seen);
                }
                changes.wait(if pace == Pace::Slow { SLOW } else { at_most });
            }
            Step::Look(at_most) => {
                changes.wait(at_most);
            }
            Step::Paste => {
                let heard = reader.store.last_signal(&message.session)?;
                // Written down first: if we are killed in between, no process pastes it again.
                if reader.store.staging(&message.id, heard, now)? {
                    looking.staged(heard, now);
                    put(context, &judged, message)?;
                }
            }
            Step::Submit => {
                reader.store.submitting(&message.id, now)?;
                tmux_input::submit(&context.tmux, pane(&judged)?)?;
            }
            Step::Done(outcome) => {
                reader.store.settle(&message.id, &outcome, Timestamp::now())?;
                return Ok(outcome);
            }
        }
    }
}

/// Why a message is not put into the box now: what it was to continue goes on already, or a limit holds it back.
fn held_back(
    reader: &mut StatusReader<'_>,
    message: &Message,
    judged: &SessionStatus,
    pace: Pace,
    now: Timestamp,
) -> Result<Option<Outcome>, Error> {
    if let Some(guard) = limits::guard(message) {
        let refused = limits::refusal(reader, &guard, judged)?;
        if let Some(outcome) = &refused {
            reader.store.settle(&message.id, outcome, now)?;
        }
        return Ok(refused);
    }
    let is_held = pace == Pace::Slow && limits::is_held(reader, judged, now)?;
    let because = "the usage limit is not over yet".to_owned();
    Ok(is_held.then_some(Outcome::Queued { because }))
}

fn kind(reader: &StatusReader<'_>, message: &Message) -> Kind {
    let profile = reader.memory(&message.session).and_then(|memory| memory.profile());
    let exit = profile.and_then(|profile| profile.slash.exit.as_deref());
    Kind::of(&message.text, message.slash, exit)
}

fn put(context: &Context, judged: &SessionStatus, message: &Message) -> Result<(), Error> {
    let pane = pane(judged)?;
    if message.slash {
        tmux_input::type_text(&context.tmux, pane, &message.text)
    } else {
        tmux_input::paste(&context.tmux, pane, &message.id, &message.text)
    }
}

fn pane(judged: &SessionStatus) -> Result<PaneId, Error> {
    let session = &judged.seen.session;
    judged.seen.pane_id().ok_or_else(|| {
        Error::Session(SessionError::IsOver {
            name: session.name.clone(),
            reason: "the pane is gone".to_owned(),
        })
    })
}

fn taken_back(reader: &StatusReader<'_>, message: &Message) -> Result<Option<Outcome>, Error> {
    Ok(reader.store.message(&message.id)?.and_then(|kept| kept.outcome))
}
