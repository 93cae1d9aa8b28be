//! Whether a tmux server died, and which sessions went with it.
//!
//! A server also ends when its last session is closed, and that is no death: a person closed a terminal. What tells the two apart is who
//! went with it. A server that closed a terminal was alive at that moment, as the session's runner saw; one that was killed was not. And of
//! several sessions that lose their terminals together with their server, no person closed each one.

use jiff::{SignedDuration, Timestamp};

use crate::liveness::ServerDied;
use crate::record::{Cause, Ended, Hangup};

/// Terminals that a server closes at its end are closed within this time of each other, on a busy machine.
const TOGETHER: SignedDuration = SignedDuration::from_secs(1);
/// How long a runner may take to end an agent that ignores everything, and to write down how it ended.
const ENDING: SignedDuration = SignedDuration::from_secs(10);

/// What is known of the end of one session of a server that is gone.
#[derive(Debug, Clone)]
pub struct Witness<'a> {
    /// The runner's exit record.
    pub ended: Option<&'a Ended>,
    /// The runner still ends its agent.
    pub is_ending: bool,
    /// It was found lost while its server still ran.
    pub lost_before: bool,
}

/// The end of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It ended because its last session did.
    Empty,
    /// Not known before a runner has written its record.
    Unclear,
    /// These sessions went with it, by their place in the list.
    Died { died: ServerDied, lost: Vec<usize> },
}

/// Judges the end of a server by all its sessions. `seen` is when it was last seen alive by whoever asks.
pub fn judge(sessions: &[Witness<'_>], seen: Option<Timestamp>, now: Timestamp) -> End {
    let hangups = || sessions.iter().filter_map(hangup);
    let killed = hangups().filter(|hangup| hangup.server_gone).map(|hangup| hangup.at).min();
    let unrecorded = |one: &Witness<'_>| one.ended.is_none() && !one.lost_before;
    let is_open = sessions.iter().any(unrecorded);
    let earliest = match (killed, is_open) {
        (Some(at), _) => before(at, TOGETHER),
        (None, true) => before(seen.unwrap_or(now).min(now), ENDING),
        (None, false) => {
            hangups().map(|hangup| hangup.at).max().map_or(now, |at| before(at, TOGETHER))
        }
    };
    let is_lost = |one: &Witness<'_>| {
        unrecorded(one) || hangup(one).is_some_and(|hangup| hangup.at >= earliest)
    };
    let lost: Vec<usize> = (0..sessions.len()).filter(|place| is_lost(&sessions[*place])).collect();
    let left_nothing = lost.iter().any(|place| {
        let one = &sessions[*place];
        one.ended.is_none() && !one.is_ending
    });
    match lost.len() {
        0 => End::Empty,
        1 if killed.is_none() && !left_nothing => {
            if is_open {
                End::Unclear
            } else {
                End::Empty
            }
        }
        _ => {
            let closed =
                lost.iter().filter_map(|place| hangup(&sessions[*place])).map(|one| one.at);
            let at = killed.or(closed.min());
            let died = match (at, seen) {
                (Some(at), _) => ServerDied { at, exact: true },
                // It was there at the last look, a moment ago.
                (None, Some(seen)) if now.duration_since(seen) <= ENDING => {
                    ServerDied { at: now, exact: true }
                }
                (None, _) => ServerDied { at: now, exact: false },
            };
            End::Died { died, lost }
        }
    }
}

/// How a session lost its terminal, if that was its end. Runners of earlier versions wrote down only that it did.
fn hangup(one: &Witness<'_>) -> Option<Hangup> {
    let ended = one.ended.filter(|ended| ended.cause == Cause::Hangup)?;
    Some(ended.hangup.unwrap_or(Hangup { at: ended.at, server_gone: false }))
}

fn before(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

/// The title of the one notification: all of a few names, the first of many.
pub fn title(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let s = if names.len() == 1 { "" } else { "s" };
    let more = if names.len() > SHOWN { ", …" } else { "" };
    let shown = names[..names.len().min(SHOWN)].join(", ");
    format!("tmux server died: {} session{s} lost ({shown}{more})", names.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Exit;

    fn at(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(1_794_700_000_000 + millisecond).unwrap()
    }

    fn ended(cause: Cause, hangup: Option<Hangup>) -> Ended {
        let exit = Exit::Signal(1);
        Ended { at: at(3000), exit, cause, error: None, by: None, hangup }
    }

    #[test]
    fn table() {
        let closed = |ms| ended(Cause::Hangup, Some(Hangup { at: at(ms), server_gone: false }));
        let killed = |ms| ended(Cause::Hangup, Some(Hangup { at: at(ms), server_gone: true }));
        let (one, two, early) = (closed(1000), closed(1400), closed(-60_000));
        let (gone, gone_too) = (killed(1000), killed(1010));
        let (own, asked) = (ended(Cause::Itself, None), ended(Cause::Request, None));
        let old = ended(Cause::Hangup, None);
        let record = |ended| Witness { ended: Some(ended), is_ending: false, lost_before: false };
        let ending = Witness { ended: None, is_ending: true, lost_before: false };
        let nothing = Witness { is_ending: false, ..ending.clone() };
        let lost_before = Witness { lost_before: true, ..nothing.clone() };
        let died = |ms, exact, lost: &[usize]| {
            let died = ServerDied { at: at(ms), exact };
            End::Died { died, lost: lost.to_vec() }
        };
        let now = 5000;
        #[rustfmt::skip]
        let table = [
            ("nobody was there", vec![], None, End::Empty),
            ("all ended before", vec![record(&own), record(&asked)], None, End::Empty),
            ("a person closed the last one", vec![record(&own), record(&one)], None, End::Empty),
            ("one after the other", vec![record(&early), record(&one)], None, End::Empty),
            ("killed with one session", vec![record(&gone)], None, died(1000, true, &[0])),
            ("killed with several", vec![record(&gone_too), record(&own), record(&gone)], None, died(1000, true, &[0, 2])),
            ("closed long before", vec![record(&early), record(&gone)], None, died(1000, true, &[1])),
            ("told to end, with several", vec![record(&two), record(&one)], None, died(1000, true, &[0, 1])),
            ("by runners of before", vec![record(&old), record(&old)], None, died(3000, true, &[0, 1])),
            ("one is still being ended", vec![ending.clone()], None, End::Unclear),
            ("two are still being ended", vec![ending.clone(), ending.clone()], Some(at(4000)), died(now, true, &[0, 1])),
            ("one of two is", vec![ending.clone(), record(&one)], Some(at(900)), died(1000, true, &[0, 1])),
            ("one of two is, and one was closed before", vec![ending.clone(), record(&early)], None, End::Unclear),
            ("its runner went with it, as seen", vec![nothing.clone()], Some(at(4000)), died(now, true, &[0])),
            ("as found later", vec![nothing.clone(), nothing.clone()], None, died(now, false, &[0, 1])),
            ("as found after a night", vec![nothing.clone()], Some(at(-90_000)), died(now, false, &[0])),
            ("it was lost before", vec![lost_before.clone(), record(&one)], None, End::Empty),
        ];
        for (what, sessions, seen, want) in table {
            assert_eq!(judge(&sessions, seen, at(now)), want, "{what}");
        }
    }

    #[test]
    fn in_words() {
        assert_eq!(title(&["a"]), "tmux server died: 1 session lost (a)");
        assert_eq!(title(&["a", "b"]), "tmux server died: 2 sessions lost (a, b)");
        let many: Vec<&str> = vec!["x"; 282];
        assert!(title(&many).ends_with("x, x, x, x, x, …)"), "{}", title(&many));
        assert!(title(&many).contains("282 sessions lost"));
    }
}
