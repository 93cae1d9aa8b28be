//! What single signs mean, before the rules of [`super::judge`] weigh them: which edge of a turn is the newest, what the screen shows of a
//! turn, and times by a clock that may have been set back.

use jiff::{SignedDuration, Timestamp};

use super::evidence::{Edge, EdgeKind, Evidence, OwnWord, Shows};
use super::{Source, Status};

/// How long a started agent may show nothing before that means something.
pub(super) const YOUNG: SignedDuration = SignedDuration::from_secs(10);
/// How long the screen may lag behind a hook or the transcript, or these behind the screen.
pub(super) const LAG: SignedDuration = SignedDuration::from_secs(3);

/// Times, with a clock that may have been set back. Reports from before that lie ahead of now: they are old, not
/// new.
impl Evidence {
    pub(super) fn is_ahead(&self, at: Timestamp) -> bool {
        at.duration_since(self.now) > LAG
    }

    /// How far from now, in either direction.
    pub(super) fn distance(&self, at: Timestamp) -> SignedDuration {
        self.now.duration_since(at).abs()
    }

    pub(super) fn is_later(&self, one: Timestamp, other: Timestamp) -> bool {
        self.latest([Some(one), Some(other)]) != Some(other)
    }

    pub(super) fn latest<const N: usize>(
        &self,
        times: [Option<Timestamp>; N],
    ) -> Option<Timestamp> {
        times.into_iter().flatten().max_by_key(|at| (!self.is_ahead(*at), *at))
    }
}

/// The newest edge of the two; the agent's hook goes before its transcript when both are of one moment. A hook at the end of a
/// turn does not end one that is open in a transcript which tells ends.
pub(super) fn newest(e: &Evidence) -> Option<(&Edge, Source)> {
    match (&e.hooks.edge, &e.transcript.edge) {
        (Some(Edge { what: EdgeKind::Done, .. }), _) if let Some(open) = open_turn(e) => {
            Some((open, Source::Transcript))
        }
        (Some(hook), Some(line)) if tells_more(e, line, hook) => Some((line, Source::Transcript)),
        (Some(hook), _) => Some((hook, Source::Hook)),
        (None, Some(line)) => Some((line, Source::Transcript)),
        (None, None) => None,
    }
}

/// The beginning of a turn whose end the transcript will tell, and has not told yet. Agents call their hook for the end of a turn
/// *within* it: codex 0.124 to 0.166 writes the end 10 to 100 ms later, or when the user's own hooks are done, and goes on with
/// the turn if one of them says so.
pub(super) fn open_turn(e: &Evidence) -> Option<&Edge> {
    let edge = e.transcript.edge.as_ref().filter(|_| e.transcript.tells_ends)?;
    (edge.told && edge.what == EdgeKind::Began).then_some(edge)
}

/// The hook for the end of a turn was called, and the transcript, which tells ends, does not even have its beginning yet.
pub(super) fn is_to_be_written(e: &Evidence, hook: &Edge) -> bool {
    let (Some(began), Some(line)) = (e.hooks.began, &e.transcript.edge) else { return false };
    let is_of_the_turn_before = line.what.is_end() && e.is_later(began, line.at);
    e.transcript.tells_ends && is_of_the_turn_before && e.distance(hook.at) < LAG
}

/// Hook and transcript tell of the end of a turn some milliseconds apart. A plain end in the transcript must not hide the
/// hook's failure; of a failure that both tell of the transcript knows more: its status.
fn tells_more(e: &Evidence, line: &Edge, hook: &Edge) -> bool {
    let same_turn = line.at.duration_since(hook.at).abs() < LAG;
    match (&line.what, &hook.what) {
        // codex fires its hook only if all went well.
        (EdgeKind::Done, EdgeKind::Failed(_)) | (EdgeKind::Unanswered, EdgeKind::Done)
            if same_turn =>
        {
            false
        }
        (EdgeKind::Done, EdgeKind::Began) if is_end_of_the_turn_before(e, line, hook) => false,
        // What follows from who spoke last is known from the hook already.
        (EdgeKind::Began | EdgeKind::Done, EdgeKind::Done) if same_turn && !line.told => false,
        // claude before 2.1.78 has no hook for failures: its end of a turn says nothing of how.
        (EdgeKind::Failed(_), EdgeKind::Failed(_) | EdgeKind::Done) if same_turn => true,
        _ => e.is_later(line.at, hook.at),
    }
}

/// An agent runs its hook for the end of a turn before it writes that end down; a message that is typed in between has begun the next
/// turn by then, and the line is about the one before. A transcript that does not say when turns begin is believed after a while.
fn is_end_of_the_turn_before(e: &Evidence, line: &Edge, hook: &Edge) -> bool {
    let (Some(began), Some(ended)) = (e.transcript.began, e.hooks.ended) else { return false };
    let is_just_written = e.distance(line.at) < LAG && line.at.duration_since(hook.at) < LAG;
    began < ended && ended <= hook.at && is_just_written
}

/// Whether the screen shows what only a turn leaves.
pub(super) fn shows_an_end(e: &Evidence) -> bool {
    let shows = e.screen.as_ref().map(|s| &s.shows);
    let is_done = matches!(shows, Some(Shows::Prompt { after_turn: true }));
    is_done || shows_failure(e)
}

/// Whether it is at its prompt, with a message of the person and an answer above it. A message alone is one that it has just
/// been given. In a resumed conversation it is an old one.
pub(super) fn shows_a_turn(e: &Evidence) -> bool {
    e.screen
        .as_ref()
        .is_some_and(|screen| matches!(screen.shows, Shows::Prompt { .. }) && screen.hands.answered)
}

/// Whether it was seen in a turn, or after one. While it starts, a screen may look like work, and a shell that starts an agent
/// works as well. An agent that is asked for its state at this very moment (opencode) reports work only in a turn.
pub(super) fn was_in_a_turn(e: &Evidence) -> bool {
    let Some(before) = &e.before else { return false };
    let has_started =
        e.life.since.is_some_and(|started| before.since.duration_since(started) > YOUNG);
    let can_be = has_started || matches!(e.own_word, OwnWord::Says(_, None));
    can_be
        && match &before.status {
            Status::Working { .. } | Status::Stuck { .. } | Status::Limited { .. } => true,
            Status::Idle { after_turn, .. } => *after_turn,
            _ => false,
        }
}

pub(super) fn shows_failure(e: &Evidence) -> bool {
    let shows = e.screen.as_ref().map(|s| &s.shows);
    matches!(shows, Some(Shows::Failure(..) | Shows::Limit(..)))
}

pub(super) fn is_live(e: &Evidence) -> bool {
    e.screen.as_ref().is_some_and(|screen| screen.is_live)
}

/// The transcript has not moved within the lag: what the screen shows is not just late.
pub(super) fn is_quiet(e: &Evidence) -> bool {
    let last = e.transcript.last.max(e.hooks.last);
    last.is_none_or(|at| e.distance(at) > LAG)
}

pub(super) fn shown_task(e: &Evidence) -> Option<String> {
    match e.screen.as_ref().map(|s| &s.shows) {
        Some(Shows::Working(task)) => task.clone(),
        _ => None,
    }
}

/// The last that was heard or seen of it, by those sources that say when.
pub(super) fn last_sign(e: &Evidence) -> Option<Timestamp> {
    e.latest([e.hooks.last, e.transcript.last, e.clock, e.movement])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liveness::{Life, State};
    use crate::status::evidence::Turn;
    use crate::status::judge::STUCK_WINDOW;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn edge(second: i64, what: EdgeKind) -> Turn {
        let edge = Some(Edge { at: at(second), what, told: true });
        Turn { edge, last: Some(at(second)), ..Turn::default() }
    }

    /// The line that ends a turn may be written after the hook of the next message.
    #[test]
    fn an_end_that_is_written_late_is_of_the_turn_before() {
        let newest_at = |began: i64, now: i64| {
            let life = Life {
                state: State::Running,
                since: Some(at(0)),
                reason: String::new(),
                server_died: None,
            };
            let evidence = Evidence {
                now: at(now),
                life,
                exit: None,
                cause: None,
                by: None,
                is_plain: false,
                prompted: false,
                stopped: false,
                own_word: OwnWord::Mute,
                hooks: Turn { ended: Some(at(50)), ..edge(58, EdgeKind::Began) },
                transcript: Turn { began: Some(at(began)), ..edge(59, EdgeKind::Done) },
                knows_conversation: true,
                clock: None,
                screen: None,
                movement: None,
                window: STUCK_WINDOW,
                before: None,
            };
            newest(&evidence).map(|(_, source)| source)
        };
        assert_eq!(newest_at(40, 60), Some(Source::Hook), "of the turn before");
        assert_eq!(newest_at(58, 60), Some(Source::Transcript), "of this turn");
        assert_eq!(newest_at(40, 63), Some(Source::Transcript), "its beginning was never written");
    }
}
