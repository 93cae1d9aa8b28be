//! The rules, in order of authority. The first that fits decides; the rest is kept as reasons.
//!
//! Every source says something of a moment, and is worth no more than that: a word that is older than the end of a turn
//! tells nothing of now, a title tells nothing that its agent denies. An asserted verdict needs a source that speaks in so
//! many words, and none that contradicts it now (`weigh.rs`); where they contradict each other, the verdict is inferred.
//!
//! | rule | when | verdict |
//! | --- | --- | --- |
//! | over | an exit record, a dead or missing pane | exited, crashed, lost: final |
//! | unreachable | tmux does not answer | what it was when last seen (stale), or unknown |
//! | stopped | the kernel has stopped it | waiting: a person must continue it |
//! | plain | a plain command that lives | working; waiting if a question stays on its last line |
//! | own waiting | the agent says that it waits | waiting |
//! | dialog | a dialog is on the screen | waiting, whatever else says busy |
//! | own busy | the agent says busy, and no turn has ended since | working, or stuck |
//! | first turn | it was given a prompt, and no turn has begun yet | starting |
//! | next in line | a turn ended just now, and a message is queued | working |
//! | own idle | the agent says idle or shell | idle, or how its last turn failed; until a source says so, at most a second: working |
//! | asked | a permission hook, and nothing since | waiting |
//! | turn | the newest edge of hooks and transcript; a turn that is open in a transcript which tells ends is over when that says so | working, idle, limited, error; inferred if no source reported the edge |
//! | screen | only the screen says something | what it shows |
//! | young | it was started a moment ago | starting |
//! | nothing | | unknown |

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::evidence::{Edge, EdgeKind, Evidence, Failure, OwnWord, Screen, Shows, Word};
use super::explain::explain;
use super::signs::{
    LAG, YOUNG, is_live, is_quiet, is_to_be_written, last_sign, newest, open_turn, shown_task,
    shows_a_turn, shows_an_end, shows_failure, was_in_a_turn,
};
use super::weigh;
use super::{Basis, Source, Status, Verdict, WaitFor};
use crate::answer;
use crate::liveness::State;

/// How long the first turn of an agent that was given a prompt may take to begin.
const FIRST_TURN: SignedDuration = SignedDuration::from_secs(60);
/// How long a plain command must be still before a question on its last line counts.
const STAYS: SignedDuration = SignedDuration::from_secs(5);
/// How long hook and transcript may take to tell of the end of a turn, or of the one that follows it at once. Measured
/// with claude 2.1.325: up to 0.15 s on an idle machine.
const LAST_WORDS: SignedDuration = SignedDuration::from_secs(1);

/// Judges one session from all the evidence.
pub fn judge(evidence: &Evidence) -> Verdict {
    let evidence = &*weigh::title(evidence);
    let rules: [fn(&Evidence) -> Option<Ruling>; 14] = [
        over,
        unreachable,
        stopped,
        plain,
        own_waiting,
        dialog,
        own_busy,
        first_turn,
        next_in_line,
        own_idle,
        asked,
        turn,
        screen,
        young,
    ];
    let ruling = rules.iter().find_map(|rule| rule(evidence)).unwrap_or_else(|| nothing(evidence));
    let ruling = unless_stuck(evidence, ruling);
    let mut ruling = weigh::contradictions(evidence, ruling);
    note_loop(evidence, &mut ruling);
    explain(evidence, ruling)
}

/// A turn that goes on may go round in circles; one that has ended does not, whatever came before.
fn note_loop(e: &Evidence, ruling: &mut Ruling) {
    let edge = e.transcript.edge.as_ref().map(|edge| &edge.what);
    let is_open = matches!(edge, None | Some(EdgeKind::Began));
    if let Status::Working { looping, .. } = &mut ruling.status
        && is_open
        && ruling.basis != Basis::Stale
    {
        looping.clone_from(&e.transcript.looping);
    }
}

/// What a rule found.
pub(super) struct Ruling {
    pub(super) status: Status,
    pub(super) by: Source,
    pub(super) basis: Basis,
    pub(super) since: Option<Timestamp>,
}

#[expect(clippy::unnecessary_wraps, reason = "a rule answers with an option, and these end it")]
impl Ruling {
    fn asserted(status: Status, by: Source, since: Option<Timestamp>) -> Option<Self> {
        Some(Self { status, by, basis: Basis::Asserted, since })
    }

    fn inferred(status: Status, by: Source, since: Option<Timestamp>) -> Option<Self> {
        Some(Self { status, by, basis: Basis::Inferred, since })
    }

    /// What follows from an edge is as sure as the edge.
    fn of_edge(status: Status, edge: &Edge, by: Source) -> Option<Self> {
        let basis = if edge.told { Basis::Asserted } else { Basis::Inferred };
        Some(Self { status, by, basis, since: Some(edge.at) })
    }
}

fn over(e: &Evidence) -> Option<Ruling> {
    let status = match e.life.state {
        State::Exited => Status::Exited,
        State::Stopped => Status::Stopped { exit: e.exit, cause: e.cause, by: e.by.clone() },
        State::Crashed => Status::Crashed { exit: e.exit },
        State::Lost => Status::Lost { last_seen: last_sign(e), server_died: e.life.server_died },
        _ => return None,
    };
    Ruling::asserted(status, Source::Exit, e.life.since)
}

fn unreachable(e: &Evidence) -> Option<Ruling> {
    if e.life.state != State::Unknown {
        return None;
    }
    // It was seen before: that is worth more than nothing, as long as it is not taken for news.
    if let Some(before) = e.before.as_ref().filter(|before| !before.status.is_over()) {
        return Some(Ruling {
            status: before.status.clone(),
            by: Source::Exit,
            basis: Basis::Stale,
            since: Some(before.since),
        });
    }
    Ruling::inferred(Status::Unknown { missing: e.life.reason.clone() }, Source::Exit, None)
}

fn stopped(e: &Evidence) -> Option<Ruling> {
    let question =
        Some("the process is stopped; type fg in its pane, or send it SIGCONT".to_owned());
    let status = waiting(e, WaitFor::Other, question);
    if e.stopped { Ruling::asserted(status, Source::Process, None) } else { None }
}

fn plain(e: &Evidence) -> Option<Ruling> {
    let since = e.life.since;
    match e.life.state {
        State::Starting => Ruling::asserted(Status::Starting, Source::Process, since),
        // One that tells its turns by hooks is judged by them.
        _ if e.is_plain && e.hooks.edge.is_none() && e.hooks.waiting.is_none() => {
            let working = || Ruling::inferred(Status::working(None), Source::Process, since);
            dialog(e).or_else(working)
        }
        _ => None,
    }
}

fn own_waiting(e: &Evidence) -> Option<Ruling> {
    let OwnWord::Says(Word::Waiting(r#for, told), at) = &e.own_word else { return None };
    // claude's file has a word for it; hook and screen know what exactly is asked.
    let asked = e.hooks.waiting.as_ref();
    let (seen, shown) = match e.screen.as_ref().map(|s| &s.shows) {
        Some(Shows::Dialog(r#for, question)) => (Some(*r#for), question.clone()),
        _ => (None, None),
    };
    let exact = asked.map(|a| a.r#for).or(seen).filter(|_| *r#for != WaitFor::Trust);
    let question = told.clone().or_else(|| asked.and_then(|a| a.question.clone())).or(shown);
    let status = waiting(e, exact.unwrap_or(*r#for), question);
    Ruling::asserted(status, Source::OwnWord, *at)
}

fn dialog(e: &Evidence) -> Option<Ruling> {
    let Shows::Dialog(r#for, question) = &e.screen.as_ref()?.shows else { return None };
    // What a plain command writes may look like anything for a moment; a question stays.
    if e.is_plain && e.movement.is_none_or(|at| e.distance(at) <= STAYS) {
        return None;
    }
    let asked = e.hooks.waiting.as_ref();
    let question = question.clone().or_else(|| asked.and_then(|a| a.question.clone()));
    let status = waiting(e, *r#for, question);
    Ruling::inferred(status, Source::Screen, asked.map(|a| a.at))
}

/// With what can be answered, if that is in sight.
fn waiting(e: &Evidence, r#for: WaitFor, question: Option<String>) -> Status {
    let (options, dialog) = match &e.screen {
        // Numbers are how options are named: a list that is scrolled does not begin with the first.
        Some(Screen { shows: Shows::Dialog(_, shown), options, hands, .. })
            if !options.is_empty() && hands.numbers.first().is_none_or(|number| *number == 1) =>
        {
            (options.clone(), Some(answer::mark(shown.as_deref(), &hands.about, options)))
        }
        _ => (Vec::new(), None),
    };
    Status::Waiting { r#for, question, options, dialog }
}

fn own_busy(e: &Evidence) -> Option<Ruling> {
    let OwnWord::Says(Word::Busy, at) = &e.own_word else { return None };
    if at.is_some_and(|at| weigh::has_ended_since(e, at)) {
        return None;
    }
    let task = e.hooks.task.clone().or_else(|| shown_task(e));
    Ruling::asserted(Status::working(task), Source::OwnWord, *at)
}

/// Between its start and its first turn an agent with a prompt looks idle, and says so.
fn first_turn(e: &Evidence) -> Option<Ruling> {
    let told = [&e.hooks, &e.transcript].map(|turn| turn.edge.as_ref().map(|edge| &edge.what));
    let has_begun = told.iter().flatten().any(|what| **what != EdgeKind::Ready);
    // Of an agent without hooks and transcript only the screen tells that a turn was.
    let started = e.life.since?;
    // The prompt is in sight before its turn begins.
    let has_had_time = e.distance(started) > YOUNG;
    let is_over = shows_an_end(e) || (has_had_time && shows_a_turn(e));
    let is_done = told == [None, None] && is_over;
    let in_time = e.distance(started) < FIRST_TURN;
    if !e.prompted || has_begun || is_done || !in_time {
        return None;
    }
    match e.screen.as_ref().map(|s| &s.shows) {
        // The screen is the first to tell.
        Some(Shows::Working(task)) => {
            Ruling::inferred(Status::working(task.clone()), Source::Screen, None)
        }
        _ => Ruling::inferred(Status::Starting, Source::Process, Some(started)),
    }
}

/// Between the end of a turn and the beginning of one that was queued it says idle for some milliseconds.
fn next_in_line(e: &Evidence) -> Option<Ruling> {
    let (edge, _) = newest(e)?;
    let has_ended = !matches!(edge.what, EdgeKind::Ready | EdgeKind::Began);
    let just_now = e.distance(edge.at) < LAST_WORDS;
    let is_next = e.transcript.queued > 0 && has_ended && just_now;
    let status = Status::working(None);
    if is_next { Ruling::asserted(status, Source::Transcript, Some(edge.at)) } else { None }
}

fn own_idle(e: &Evidence) -> Option<Ruling> {
    let OwnWord::Says(word @ (Word::Idle | Word::Shell), at) = &e.own_word else { return None };
    let told = newest(e);
    match told {
        // A turn that began after that word was said is news to it.
        Some((Edge { what: EdgeKind::Began, at: began, .. }, _))
            if at.is_some_and(|at| e.is_later(*began, at)) =>
        {
            return None;
        }
        // The word comes first; a moment later a source reports whether the turn was finished or failed.
        Some((Edge { what: EdgeKind::Began, at: began, .. }, source))
            if at.is_some_and(|at| e.distance(at) < LAST_WORDS) =>
        {
            let status = Status::working(e.hooks.task.clone());
            return Ruling::asserted(status, source, Some(*began));
        }
        // It says nothing of errors: an API error ends as idle, and only the others tell.
        Some((Edge { what: EdgeKind::Failed(failure), at, .. }, source)) => {
            return Ruling::asserted(failed(e, failure), source, Some(*at));
        }
        Some((edge, source)) if edge.what == EdgeKind::Unanswered => {
            return unanswered(e, edge, source);
        }
        _ => {}
    }
    if told.is_none() && shows_failure(e) {
        return screen(e);
    }
    let mut status = idle(e);
    if let Status::Idle { background, .. } = &mut status {
        let shown = e.screen.as_ref().map_or(0, |s| s.background);
        *background = match word {
            Word::Shell => (*background).max(1),
            // The last hook counted what ran at the end of the turn, and some of it may have ended since.
            _ => shown,
        };
    }
    // That nothing was asked of it yet only hooks and the transcript know.
    let can_know =
        e.knows_conversation || [&e.hooks, &e.transcript].iter().any(|t| t.last.is_some());
    match &status {
        Status::Idle { after_turn: false, .. } if !can_know => {
            Ruling::inferred(status, Source::OwnWord, *at)
        }
        _ => Ruling::asserted(status, Source::OwnWord, *at),
    }
}

fn asked(e: &Evidence) -> Option<Ruling> {
    let asked = e.hooks.waiting.as_ref()?;
    // Answering fires no hook: an edge or any line of the transcript since says that it was answered.
    let answered = newest(e).is_some_and(|(edge, _)| e.is_later(edge.at, asked.at));
    let shows = e.screen.as_ref().map(|s| &s.shows);
    let settled = e.distance(asked.at) > LAG;
    let works_again = matches!(shows, Some(Shows::Working(_))) && settled;
    // A dialog takes the place of the box: where that is, and more was written since, it was answered.
    let has_gone_on = e.transcript.last.is_some_and(|last| e.is_later(last, asked.at));
    let rests_again = matches!(shows, Some(Shows::Prompt { .. })) && settled && has_gone_on;
    if answered || works_again || rests_again {
        return None;
    }
    let status = waiting(e, asked.r#for, asked.question.clone());
    Ruling::asserted(status, Source::Hook, Some(asked.at))
}

fn turn(e: &Evidence) -> Option<Ruling> {
    let (edge, source) = newest(e)?;
    let settled = e.distance(edge.at) > LAG;
    let shows = e.screen.as_ref().map(|s| &s.shows);
    match (&edge.what, shows) {
        // Its end will be written: a screen that is quiet between two paragraphs is none.
        (EdgeKind::Began, _) if open_turn(e).is_some() => working(e, edge, source),
        // Esc fires no hook in some agents; a prompt that has stood there for a while is an end.
        (EdgeKind::Began, Some(Shows::Prompt { .. })) if settled && is_quiet(e) => {
            Ruling::inferred(idle(e), Source::Screen, None)
        }
        (EdgeKind::Began, Some(Shows::Failure(..))) if settled => screen(e),
        (EdgeKind::Began, Some(Shows::Limit(..))) if settled && is_quiet(e) => screen(e),
        (EdgeKind::Began, _) => working(e, edge, source),
        // A hook at the end of a turn is called within it, and may have the turn go on; nothing but the screen tells.
        (EdgeKind::Done, Some(Shows::Working(task))) if source == Source::Hook && is_live(e) => {
            Ruling::inferred(Status::working(task.clone()), Source::Screen, None)
        }
        (EdgeKind::Done, _) if source == Source::Hook && is_to_be_written(e, edge) => {
            Ruling::inferred(Status::working(None), source, e.hooks.began)
        }
        // It works again, and has not reported it yet. That the screen shows no end of a turn is not enough: the report
        // is of this turn, and newer.
        (_, Some(Shows::Working(task))) if settled && is_live(e) => {
            Ruling::inferred(Status::working(task.clone()), Source::Screen, None)
        }
        (EdgeKind::Failed(failure), _) => Ruling::of_edge(failed(e, failure), edge, source),
        (EdgeKind::Unanswered, _) => unanswered(e, edge, source),
        (EdgeKind::Done | EdgeKind::Interrupted, _) => Ruling::of_edge(idle(e), edge, source),
        // Started, and nothing asked of it yet: the screen knows whether it is at its prompt.
        (EdgeKind::Ready, _) => None,
    }
}

fn working(e: &Evidence, edge: &Edge, source: Source) -> Option<Ruling> {
    let task = e.hooks.task.clone().or_else(|| shown_task(e));
    Ruling::of_edge(Status::working(task), edge, source)
}

/// It has failed, most likely; the screen may know how.
fn unanswered(e: &Evidence, edge: &Edge, source: Source) -> Option<Ruling> {
    let since = Some(edge.at);
    if shows_failure(e) {
        return screen(e).map(|ruling| Ruling { since, ..ruling });
    }
    let status = error("unanswered", "the turn ended without an answer");
    Ruling::inferred(status, source, since)
}

fn screen(e: &Evidence) -> Option<Ruling> {
    let status = match &e.screen.as_ref()?.shows {
        Shows::Starting => Status::Starting,
        Shows::Working(task) => Status::working(task.clone()),
        Shows::Limit(text, until) => Status::Limited { until: until.clone(), text: text.clone() },
        Shows::Failure(kind, text) => error(kind, text),
        Shows::Prompt { .. } => idle(e),
        Shows::Dialog(..) | Shows::Shell | Shows::Unreadable => return None,
    };
    Ruling::inferred(status, Source::Screen, None)
}

fn young(e: &Evidence) -> Option<Ruling> {
    let started = e.life.since?;
    let is_young = e.distance(started) < YOUNG;
    is_young.then(|| Ruling::inferred(Status::Starting, Source::Process, Some(started))).flatten()
}

fn nothing(e: &Evidence) -> Ruling {
    let missing = match (&e.own_word, e.screen.as_ref().map(|s| &s.shows)) {
        (_, Some(Shows::Shell)) => {
            "the screen shows a shell prompt; the agent may have exited to it"
        }
        (OwnWord::Silent, _) => {
            "the agent is running, but it has not reported its state and its screen was not recognised"
        }
        (OwnWord::Forged(_), _) => {
            "the state file belongs to another process, and the screen was not recognised"
        }
        (_, None) => "the screen could not be read, and there is no other evidence",
        _ => "the screen was not recognised, and there is no other evidence",
    };
    let status = Status::Unknown { missing: missing.to_owned() };
    Ruling { status, by: Source::Process, basis: Basis::Inferred, since: None }
}

fn failed(e: &Evidence, failure: &Failure) -> Status {
    if failure.is_limit() {
        // Agents write the end of a limit for people to read: the screen reader finds it there.
        let shown = match e.screen.as_ref().map(|s| &s.shows) {
            Some(Shows::Limit(_, until)) => until.clone(),
            _ => None,
        };
        let written = || crate::screen::end_of_limit(&failure.text);
        let until = failure.until.clone().or(shown).or_else(written);
        Status::Limited { until, text: failure.text.clone() }
    } else {
        error(&failure.kind, &failure.text)
    }
}

fn error(kind: &str, text: &str) -> Status {
    Status::Error { kind: kind.to_owned(), text: text.to_owned() }
}

fn idle(e: &Evidence) -> Status {
    let shown = e.screen.as_ref();
    let finished = matches!(shown.map(|s| &s.shows), Some(Shows::Prompt { after_turn: true }));
    let told = [&e.hooks, &e.transcript].iter().any(|turn| {
        turn.turns_done > 0 || turn.edge.as_ref().is_some_and(|edge| edge.what != EdgeKind::Ready)
    });
    let last = newest(e).map(|(edge, _)| &edge.what);
    Status::Idle {
        // Without hooks and transcript, only the message above the prompt and the earlier status are left as evidence.
        after_turn: told || finished || (last.is_none() && (shows_a_turn(e) || was_in_a_turn(e))),
        // No source reports a turn that is cut short before its first word: it began, and never ended.
        interrupted: match last {
            Some(EdgeKind::Interrupted) => true,
            Some(EdgeKind::Began) => !e.transcript.course.spoke_last,
            _ => false,
        },
        background: e.hooks.background.max(shown.map_or(0, |s| s.background)),
        draft: shown.and_then(|s| s.draft.clone()),
    }
}

/// A working agent is stuck only if every source has been silent for the whole window. One that was never
/// heard of counts from its start: first sight is a sign of life.
fn unless_stuck(e: &Evidence, ruling: Ruling) -> Ruling {
    let is_working = matches!(ruling.status, Status::Working { .. });
    if e.is_plain || !is_working || ruling.basis == Basis::Stale {
        return ruling;
    }
    let own = match &e.own_word {
        OwnWord::Says(_, at) => Some(at.unwrap_or(e.now)),
        _ => None,
    };
    let Some(last) = e.latest([last_sign(e), own, e.life.since]) else { return ruling };
    // Without a record of movement, no look was long enough to say that nothing moved.
    let window = SignedDuration::try_from(e.window).unwrap_or(SignedDuration::MAX);
    if e.movement.is_none() || e.now.duration_since(last) < window {
        return ruling;
    }
    Ruling {
        status: Status::Stuck { silent_since: last },
        by: Source::Clock,
        basis: Basis::Inferred,
        since: Some(last),
    }
}

/// The window of the contract's default: five minutes without any sign.
pub const STUCK_WINDOW: Duration = Duration::from_mins(5);

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
