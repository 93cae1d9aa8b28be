use std::time::{Duration, Instant};

use dogwatch_core::status::{Role, Verdict};
use dogwatch_engine::observe::snapshot::SessionSnapshot;
use dogwatch_engine::observe::status;
use dogwatch_engine::{Context, Error};
use dogwatch_tmux::Input;
use jiff::Timestamp;

/// How long the question stays open before the demo answers it, so that a person can see it.
const THINKING_TIME: Duration = Duration::from_millis(2500);

/// One agent and its status changes.
pub(super) struct Watched {
    pub(super) name: String,
    id: String,
    pub(super) story: Vec<Moment>,
    waiting_since: Option<Instant>,
    pub(super) over: bool,
}

pub(super) struct Moment {
    /// Since the demo began.
    pub(super) at: Duration,
    pub(super) what: &'static str,
    pub(super) why: String,
}

impl Watched {
    pub(super) fn new(name: &str, id: String) -> Self {
        Self { name: name.to_owned(), id, story: Vec::new(), waiting_since: None, over: false }
    }

    pub(super) fn look(&mut self, context: &Context, begun: Instant) -> Result<(), Error> {
        let status = status::one(context, &self.id, Timestamp::now())?;
        let (what, why) = (status.verdict.status.as_str(), because(&status.verdict));
        self.over = status.seen.life.state.is_over();
        if self.story.last().is_none_or(|last| is_news(last.what, what)) {
            self.note(begun, what, why);
        }
        let is_open = self.story.last().is_some_and(|last| last.what == "waiting");
        if !is_open {
            self.waiting_since = None;
        } else if self.waiting_since.get_or_insert_with(Instant::now).elapsed() > THINKING_TIME {
            answer(context, &status.seen)?;
            self.waiting_since = None;
            self.note(begun, "answered", "by the demo, with key 1 (yes)".to_owned());
        }
        Ok(())
    }

    fn note(&mut self, begun: Instant, what: &'static str, why: String) {
        self.story.push(Moment { at: begun.elapsed(), what, why });
    }
}

/// After an answer the agent reports `waiting` until its next hook: not a change.
fn is_news(before: &str, now: &str) -> bool {
    before != now && (before, now) != ("answered", "waiting")
}

/// What the deciding source reported.
fn because(verdict: &Verdict) -> String {
    let decided = verdict.reasons.iter().find(|reason| reason.role == Role::Decided);
    decided.map_or_else(String::new, |r| format!("{} ({})", r.said, r.source.as_str()))
}

fn answer(context: &Context, seen: &SessionSnapshot) -> Result<(), Error> {
    if let Some(pane) = seen.pane_id() {
        context.tmux.type_into(&Input::keys(pane, ["1"]))?;
    }
    Ok(())
}
