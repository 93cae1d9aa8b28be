use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Agent, Input, Kind, Outcome, Phase, Proof, Seen, Sight, Taken, When};

/// How long an agent may take to show pasted text.
const ECHO: SignedDuration = SignedDuration::from_secs(10);
/// How long an agent may leave in its terminal what was typed. On a busy machine it takes a while to start.
const UNREAD: SignedDuration = SignedDuration::from_mins(2);
/// How long an Enter may take to show an effect before it counts as lost.
const ENTER: SignedDuration = SignedDuration::from_millis(1500);
const MOST_ENTERS: u8 = 3;
/// How long to wait for better sources before a weaker proof is accepted.
const STATE: SignedDuration = SignedDuration::from_secs(3);
const SCREEN: SignedDuration = SignedDuration::from_secs(6);
/// How long to wait for any proof.
const PROOF: SignedDuration = SignedDuration::from_secs(20);
/// Poll interval for what no event reports.
const AGAIN: Duration = Duration::from_millis(250);

/// A delivery in progress.
#[derive(Debug, Clone)]
pub struct Delivery {
    when: When,
    phase: Phase,
    /// When the phase began, or the agent was last seen not to have read what was typed.
    since: Timestamp,
    /// Until when it may leave that unread.
    unread_until: Timestamp,
    /// How long to wait for the agent; `None` without limit.
    until: Option<Timestamp>,
    /// It stays queued after that, whatever it waits for.
    is_lasting: bool,
    enters: u8,
    was_working: bool,
    kind: Kind,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// Look again when something changes, or after this time.
    Look(Duration),
    Paste,
    Submit,
    Done(Outcome),
}

impl Delivery {
    pub fn new(when: When, until: Option<Timestamp>, now: Timestamp) -> Self {
        Self::resumed(Phase::Before, None, when, until, now)
    }

    /// A delivery that another process began, with what that one saw. Without it the agent may have been at work: what shows that it
    /// works proves nothing then.
    pub fn resumed(
        phase: Phase,
        seen: Option<&Seen>,
        when: When,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        Self {
            when,
            phase,
            since: now,
            unread_until: now.saturating_add(UNREAD).unwrap_or(now),
            until,
            is_lasting: false,
            enters: 0,
            was_working: phase != Phase::Before && seen.is_none_or(|seen| seen.was_working),
            kind: Kind::Message,
        }
    }

    /// With what kind of text it is.
    #[must_use]
    pub fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Not refused in the end: its sender does not wait, hears of the dialog or the draft by `--notify-me`, and can have it cleared.
    #[must_use]
    pub fn lasting(self, is_lasting: bool) -> Self {
        Self { is_lasting, ..self }
    }

    /// Whether the agent worked when the text was put into its box.
    pub fn was_working(&self) -> bool {
        self.was_working
    }

    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// A command that ends the agent was submitted: from now on its end is the proof.
    pub fn is_quitting(&self) -> bool {
        self.kind == Kind::Quit && self.phase == Phase::Submitted
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Decides from an observation. The returned step is assumed to be done.
    pub fn next(&mut self, sight: &Sight, now: Timestamp) -> Step {
        // A clock that was set back must not extend the wait.
        self.since = self.since.min(now);
        if sight.is_unread && now < self.unread_until {
            self.since = now;
        }
        if let Some(proof) = sight.proof.filter(|_| self.phase != Phase::Before) {
            return self.proven(proof, sight.taken, now);
        }
        if matches!(sight.agent, Agent::Exited(_)) && self.is_quitting() {
            return self.delivered(Proof::Exit);
        }
        if let Agent::Over(how) | Agent::Exited(how) = &sight.agent {
            return failed(match self.phase {
                Phase::Before => format!("the session has ended: {how}"),
                Phase::Staged => {
                    format!("the session ended before the message was submitted: {how}")
                }
                Phase::Submitted => {
                    format!("the session ended before the agent confirmed the message: {how}")
                }
            });
        }
        match self.phase {
            Phase::Before => self.before(sight, now),
            Phase::Staged => self.staged(sight, now),
            Phase::Submitted => self.submitted(sight, now),
        }
    }

    /// The agent has the text. It reads it in a turn of its own, or in the one that it is at.
    fn proven(&mut self, proof: Proof, taken: Taken, now: Timestamp) -> Step {
        let shared = Step::Done(Outcome::Delivered { proof, while_working: true });
        match taken {
            Taken::Alone => self.delivered(proof),
            Taken::Shared => shared,
            Taken::Open if now.duration_since(self.since) > PROOF => shared,
            // A turn about it may begin at once.
            Taken::Unheard(at) if now.duration_since(at) > STATE => failed(
                "the agent took the text at the very end of a turn and asked no model; \
                 it is in the conversation, and the next message will bring it up"
                    .into(),
            ),
            Taken::Open | Taken::Unheard(_) => Step::Look(AGAIN),
        }
    }

    /// What comes of it if the pane took no text, because its process was gone just then.
    pub fn untyped() -> Outcome {
        let because = "the session has ended: its process is gone, and nothing was typed".into();
        Outcome::Failed { because }
    }

    /// Waits for the agent until then; without it, as long as it takes.
    #[must_use]
    pub fn limited(self, until: Option<Timestamp>) -> Self {
        Self { until, ..self }
    }

    /// Why a message is not put into the box now.
    pub fn held(&self, sight: &Sight) -> Option<String> {
        Some(match self.hold(sight)? {
            Held::Refused(because) | Held::Queued(because) => because,
        })
    }

    fn hold(&self, sight: &Sight) -> Option<Held> {
        Some(match (&sight.agent, &sight.input) {
            (Agent::Dialog(question), _) => Held::Refused(format!("a dialog is open: {question}")),
            (Agent::Starting, _) => Held::Queued("the agent is still starting".into()),
            (Agent::Unclear(what), _) => {
                Held::Queued(format!("the agent's state is unknown: {what}"))
            }
            (Agent::Working, _) if self.when == When::Idle => {
                Held::Queued("the agent is working".into())
            }
            (_, Input::Other(_)) => {
                Held::Refused("draft: the input box contains other text".into())
            }
            (_, Input::Unseen) => Held::Queued("the input box is not visible".into()),
            // Our text before we pasted it: a person typed the same.
            (_, Input::Ours) => {
                Held::Refused("draft: the input box already contains the same text".into())
            }
            (_, Input::Empty) => return None,
        })
    }

    fn before(&mut self, sight: &Sight, now: Timestamp) -> Step {
        let Some(held) = self.hold(sight) else {
            self.was_working = sight.agent == Agent::Working;
            self.go_to(Phase::Staged, now);
            return Step::Paste;
        };
        if self.until.is_none_or(|until| now < until) {
            return Step::Look(AGAIN);
        }
        Step::Done(match held {
            Held::Refused(because) if !self.is_lasting => Outcome::Refused { because },
            Held::Refused(because) | Held::Queued(because) => Outcome::Queued { because },
        })
    }

    fn staged(&mut self, sight: &Sight, now: Timestamp) -> Step {
        let waited = now.duration_since(self.since);
        match (&sight.agent, &sight.input) {
            (Agent::Dialog(question), _) if waited > ECHO => {
                not_submitted(format!("a dialog opened: {question}"))
            }
            (Agent::Dialog(_), _) => Step::Look(AGAIN),
            (_, Input::Ours) => {
                self.go_to(Phase::Submitted, now);
                self.enters = 1;
                Step::Submit
            }
            (_, Input::Other(_)) if waited > ECHO => {
                not_submitted("the input box contains other text than the message".into())
            }
            (_, Input::Empty | Input::Unseen) if waited > ECHO && sight.is_unread => {
                failed("the text was pasted, but the agent does not read its terminal".into())
            }
            (_, Input::Empty | Input::Unseen) if waited > ECHO => {
                failed("the text was pasted but did not appear in the input box".into())
            }
            _ => Step::Look(AGAIN),
        }
    }

    fn submitted(&mut self, sight: &Sight, now: Timestamp) -> Step {
        let waited = now.duration_since(self.since);
        match (&sight.agent, &sight.input) {
            // An Enter now would answer it.
            (Agent::Dialog(question), Input::Ours) if waited > PROOF => {
                not_submitted(format!("a dialog opened: {question}"))
            }
            // The agent was idle and the command has left the box: the command opened this dialog.
            (Agent::Dialog(_), Input::Empty | Input::Unseen)
                if self.kind != Kind::Message && !self.was_working =>
            {
                self.delivered(Proof::Screen)
            }
            // One at rest asks nothing by itself: a turn has begun, and the dialog hides the message that began it.
            (Agent::Dialog(_), Input::Empty | Input::Unseen)
                if !self.was_working && waited > SCREEN =>
            {
                self.delivered(Proof::State)
            }
            (Agent::Dialog(_), _) if waited <= PROOF => Step::Look(AGAIN),
            // It was at rest and works now: it has taken the message, and its screen lags behind.
            (Agent::Working, Input::Ours) if !self.was_working && waited <= PROOF => {
                Step::Look(AGAIN)
            }
            // On a busy machine it takes longer, and an Enter too many may answer something else.
            (_, Input::Ours) if waited <= ENTER * i32::from(self.enters) => Step::Look(AGAIN),
            (_, Input::Ours) if self.enters < MOST_ENTERS => {
                self.enters += 1;
                self.since = now;
                Step::Submit
            }
            (_, Input::Ours) => not_submitted(format!("Enter had no effect, {MOST_ENTERS} times")),
            (Agent::Working, _) if !self.was_working && waited > STATE => {
                self.delivered(Proof::State)
            }
            _ if sight.is_shown && waited > SCREEN => self.delivered(Proof::Screen),
            _ if waited > PROOF => {
                failed("submitted, but nothing confirms that the agent received it".into())
            }
            _ => Step::Look(AGAIN),
        }
    }

    fn go_to(&mut self, phase: Phase, now: Timestamp) {
        self.phase = phase;
        self.since = now;
        self.unread_until = now.saturating_add(UNREAD).unwrap_or(now);
    }

    fn delivered(&self, proof: Proof) -> Step {
        Step::Done(Outcome::Delivered { proof, while_working: self.was_working })
    }
}

/// Why a message was not put into the box, and the resulting outcome.
enum Held {
    Refused(String),
    Queued(String),
}

fn failed(because: String) -> Step {
    Step::Done(Outcome::Failed { because })
}

fn not_submitted(because: String) -> Step {
    Step::Done(Outcome::TypedNotSubmitted { because })
}
