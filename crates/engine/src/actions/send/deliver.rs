//! One message on its way: look, decide, do. Nothing here waits: each step says when the next look is due.

use std::time::Duration;

use dogwatch_base::log::decided;
use dogwatch_core::delivery::{Delivery, Input, Kind, Outcome, Phase, Proof, Seen, Sight, Step};
use dogwatch_core::record::ProcessIdent;
use dogwatch_core::status::Basis;
use dogwatch_store::{Message, NOBODY};
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use crate::actions::limits;
use crate::actions::send::observe::Looking;
use crate::actions::send::{queue, tmux_input};
use crate::error::{MessageError, SessionError};
use crate::observe::messages::not_delivered;
use crate::observe::processes;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// Hooks, transcripts and screens tell of what they see; this is for what none of them does.
const SLOW: Duration = Duration::from_secs(3);
/// The agent is out of sight for a moment, which causes no event.
const TYPING: Duration = Duration::from_millis(50);

/// A message that is being delivered. No other process delivers it.
#[derive(Debug)]
pub(crate) struct InHand {
    message: Message,
    delivery: Delivery,
    looking: Looking,
    /// It was about to be put into the box when it was last in hand: whether it was is to be found out.
    is_uncertain: bool,
}

/// What came of one look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The message is settled.
    Settled,
    /// Another look is due after this time, or when something changes. Why the message waits, as far as it does.
    Look { within: Duration, held: Option<String> },
    /// The time of whoever waits is over: it stays queued.
    Left { because: String },
}

impl InHand {
    pub(crate) fn new(
        reader: &StatusReader<'_>,
        message: Message,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let when = queue::terms(&message).when;
        let is_lasting = reader.store.is_subscribed(&message.id)?;
        let seen = message.seen.as_ref();
        let delivery = Delivery::resumed(message.phase, seen, when, None, now).lasting(is_lasting);
        let looking = Looking::new(&message);
        let is_uncertain = message.phase == Phase::Staged && seen.is_some_and(|seen| seen.is_noted);
        Ok(Self { message, delivery, looking, is_uncertain })
    }

    pub(crate) fn id(&self) -> &str {
        &self.message.id
    }

    /// Who waits for it.
    pub(crate) fn sender(&self) -> ProcessIdent {
        self.message.sender
    }

    /// Until when somebody waits for it.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        self.delivery.until().filter(|_| !self.is_under_way())
    }

    /// Whether it is in the agent's box, or on its way there: then what moves is to be looked at at once.
    pub(crate) fn is_under_way(&self) -> bool {
        self.delivery.phase() != Phase::Before
    }

    /// Does what a look at the session allows.
    pub(crate) fn step(
        &mut self,
        context: &Context,
        reader: &mut StatusReader<'_>,
        judged: &SessionStatus,
    ) -> Result<Done, Error> {
        #[cfg(debug_assertions)]
        die_of(&self.message.text);
        let now = Timestamp::now();
        let Some(message) = reader.store.message(&self.message.id)? else {
            // It was removed with its session.
            return Ok(Done::Settled);
        };
        if message.outcome.is_some() {
            return Ok(Done::Settled);
        }
        if self.delivery.phase() == Phase::Before
            && let Some(because) = queue::damage(&message)
        {
            return self.settle(reader, &Outcome::Failed { because });
        }
        if self.is_uncertain && !was_put(context, judged, &message)? {
            decided(format_args!("message {} was not put into the box", message.id));
            reader.store.unstage(&message.id)?;
            // It begins anew.
            let Some(message) = reader.store.message(&message.id)? else {
                return Ok(Done::Settled);
            };
            *self = Self::new(reader, message, now)?;
            return Ok(Done::Look { within: Duration::ZERO, held: None });
        }
        self.is_uncertain = false;
        // Whoever waits for it may come and go, and says until when.
        let sender = message.sender;
        let is_awaited = sender != NOBODY && processes::is_alive(sender);
        let until = queue::terms(&message).until.filter(|_| is_awaited);
        self.message.sender = message.sender;
        let kind = kind(reader, &self.message);
        self.delivery = self.delivery.clone().of_kind(kind).limited(until);
        if self.delivery.phase() == Phase::Before {
            if let Some(guard) = limits::guard(&self.message)
                && limits::confirm(context, reader, &guard, &self.message.id, judged)?
            {
                return Ok(Done::Look { within: TYPING, held: None });
            }
            if let Some(done) = self.held_back(reader, judged, now)? {
                return Ok(done);
            }
        }
        let sight = self.looking.sight(&self.message, context, reader, judged);
        let phase = self.delivery.phase();
        let step = self.delivery.next(&sight, now);
        if !matches!(step, Step::Look(_)) {
            note(&self.message, phase, &sight, &step);
        }
        match step {
            Step::Look(_) if phase == Phase::Before => {
                Ok(Done::Look { within: SLOW, held: self.delivery.held(&sight) })
            }
            Step::Look(within) => Ok(Done::Look { within, held: None }),
            Step::Paste => {
                let heard = reader.store.last_signal(&self.message.session)?;
                // Written down first: if we are killed in between, no process pastes it again.
                let verdict = &judged.verdict;
                let state = verdict.status.as_str().to_owned();
                let was_working = self.delivery.was_working();
                let is_asserted = verdict.basis == Basis::Asserted;
                let is_noted = true;
                let seen = Seen { state, is_asserted, was_working, is_noted };
                if reader.store.staging(&self.message.id, heard, &seen, now)? {
                    self.looking.staged(heard, now);
                    if !is_typed(put(context, judged, &self.message, now))? {
                        return self.settle(reader, &Delivery::untyped());
                    }
                }
                Ok(Done::Look { within: TYPING, held: None })
            }
            Step::Submit => {
                reader.store.submitting(&self.message.id, now)?;
                // Of a pane whose process is gone, the next look says how the session ended.
                is_typed(tmux_input::submit(&context.tmux, pane(judged)?))?;
                Ok(Done::Look { within: TYPING, held: None })
            }
            Step::Done(Outcome::Queued { because }) => Ok(Done::Left { because }),
            Step::Done(outcome) => self.settle(reader, &outcome),
        }
    }

    /// The agent, which dogwatch did not start, is gone; there is no exit record.
    pub(crate) fn gone(&self, reader: &mut StatusReader<'_>) -> Result<(), Error> {
        let outcome = if self.delivery.is_quitting() {
            Outcome::Delivered { proof: Proof::Exit, while_working: false }
        } else {
            Outcome::Failed { because: not_delivered("its process is gone") }
        };
        self.settle(reader, &outcome).map(drop)
    }

    /// Supervisors died while they were at it: it is not tried again.
    pub(crate) fn give_up(&self, reader: &mut StatusReader<'_>) -> Result<(), Error> {
        let because = MessageError::SetAside.to_string();
        self.settle(reader, &Outcome::Failed { because }).map(drop)
    }

    fn settle(&self, reader: &mut StatusReader<'_>, outcome: &Outcome) -> Result<Done, Error> {
        reader.store.settle(&self.message.id, outcome, Timestamp::now())?;
        Ok(Done::Settled)
    }

    /// Why the message is not put into the box now: what it was to continue goes on already, or a limit holds it back.
    fn held_back(
        &mut self,
        reader: &mut StatusReader<'_>,
        judged: &SessionStatus,
        now: Timestamp,
    ) -> Result<Option<Done>, Error> {
        if let Some(guard) = limits::guard(&self.message) {
            let refused = limits::refusal(reader, &guard, judged)?;
            return refused.map(|outcome| self.settle(reader, &outcome)).transpose();
        }
        let sender = self.message.sender;
        let is_awaited = sender != NOBODY && processes::is_alive(sender);
        let is_held = !is_awaited && limits::is_held(reader, judged, now)?;
        let held = Some("the usage limit is not over yet".to_owned());
        Ok(is_held.then_some(Done::Look { within: SLOW, held }))
    }
}

/// Lets tests have a message, or a choice, that a supervisor dies of: `DOGWATCH_TEST_DIE_OF=text` panics, `abort:text` ends at once.
#[cfg(debug_assertions)]
pub(crate) fn die_of(text: &str) {
    let Ok(bad) = std::env::var("DOGWATCH_TEST_DIE_OF") else { return };
    assert_ne!(text, bad, "a message of a test");
    if Some(text) == bad.strip_prefix("abort:") {
        std::process::abort();
    }
}

/// What was seen and what is done about it. Drafts of people stay out of the log.
fn note(message: &Message, phase: Phase, sight: &Sight, step: &Step) {
    let Sight { agent, input, proof, taken, is_shown, is_unread } = sight;
    let input = match input {
        Input::Empty => "empty",
        Input::Ours => "has our text",
        Input::Other(_) => "has another text",
        Input::Unseen => "not in sight",
    };
    decided(format_args!(
        "message {} in phase {phase:?}: agent {agent:?}, box {input}, proof {proof:?}, taken {taken:?}, \
         shown {is_shown}, unread {is_unread}: {step:?}",
        message.id
    ));
}

fn kind(reader: &StatusReader<'_>, message: &Message) -> Kind {
    let profile = reader.memory(&message.session).and_then(|memory| memory.profile());
    let exit = profile.and_then(|profile| profile.slash.exit.as_deref());
    Kind::of(&message.text, message.slash, exit)
}

/// Whether the text was put into the box by whoever was about to.
fn was_put(context: &Context, judged: &SessionStatus, message: &Message) -> Result<bool, Error> {
    let pane = judged.seen.pane_id().filter(|_| !judged.verdict.status.is_over());
    // Of a session that is over, its end says enough.
    let Some((pane, staged)) = pane.zip(message.staged) else { return Ok(true) };
    tmux_input::was_typed(&context.tmux, pane, &name_of(&message.id, staged))
}

/// The name of one try to put a message into the box.
fn name_of(id: &str, staged: Timestamp) -> String {
    format!("{id}-{}", staged.as_millisecond())
}

fn put(
    context: &Context,
    judged: &SessionStatus,
    message: &Message,
    staged: Timestamp,
) -> Result<(), Error> {
    let (pane, name) = (pane(judged)?, name_of(&message.id, staged));
    if message.slash {
        tmux_input::type_text(&context.tmux, pane, &name, &message.text)
    } else {
        tmux_input::paste(&context.tmux, pane, &name, &message.text)
    }
}

/// `false` if the process in the pane is gone. Nothing was typed then.
fn is_typed(outcome: Result<(), Error>) -> Result<bool, Error> {
    match outcome {
        Err(Error::Tmux(dogwatch_tmux::Error::PaneEnded { .. })) => Ok(false),
        outcome => outcome.map(|()| true),
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
