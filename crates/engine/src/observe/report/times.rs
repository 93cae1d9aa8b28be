//! The timeline of a session: what the journal and the transcripts say it was doing, and when.

use dogwatch_core::event::kind;
use dogwatch_core::report::timeline::{self, Doing, Point};
use dogwatch_core::status::evidence::EdgeKind;
use dogwatch_protocol::report::{Source, Span, SpanState, Times};
use dogwatch_store::{Entry, Signal};
use jiff::{SignedDuration, Timestamp};

use super::assemble::{Within, journal, line};
use super::history::History;
use super::transcript::{Read1, Transcripts};

/// What is written this soon after a dialog came up belongs to it.
const WITH_A_DIALOG: SignedDuration = SignedDuration::from_secs(5);

pub(super) fn timeline(
    history: &History,
    signals: &[Signal],
    read: &Transcripts,
    within: Within,
    ended: Option<Timestamp>,
) -> Vec<Span> {
    let mut points: Vec<Point<Source>> =
        history.of_kind(kind::STATE).filter_map(seen_in_journal).collect();
    for one in &read.all {
        points.extend(one.account.edges.iter().map(|edge| {
            let doing = Some(of_edge(&edge.what));
            let source = line(one, edge.line);
            Point { since: edge.at, seen: edge.at, doing, source }
        }));
    }
    points.sort_by_key(|point| (point.since, point.seen));
    let resumed = resumed(&points, read);
    points.extend(resumed);
    points.sort_by_key(|point| (point.since, point.seen));
    if let Some(at) = ended {
        points.retain(|point| point.since < at);
    }
    let mut signs: Vec<Timestamp> = signals.iter().map(|signal| signal.at).collect();
    signs.extend(read.all.iter().flat_map(|one| one.account.times.iter().map(|(at, _)| *at)));
    signs.sort();
    let has_records = !signals.is_empty() || !read.all.is_empty();
    let spans = timeline::spans(&points, has_records.then_some(&signs[..]), within.from, within.to);
    let shape = |span: timeline::Span<Source>| Span {
        state: state(span.doing),
        from: span.from,
        to: span.to,
        source: span.source,
    };
    spans.into_iter().map(shape).collect()
}

fn seen_in_journal(entry: &Entry) -> Option<Point<Source>> {
    let data = &entry.event.data;
    let since = data["since"].as_str().and_then(|since| since.parse().ok());
    Some(Point {
        since: since.unwrap_or(entry.event.at).min(entry.event.at),
        seen: entry.event.at,
        doing: Doing::of_state(data["state"].as_str()?),
        source: journal(entry),
    })
}

fn of_edge(what: &EdgeKind) -> Doing {
    match what {
        EdgeKind::Began => Doing::Working,
        EdgeKind::Done | EdgeKind::Interrupted | EdgeKind::Unanswered | EdgeKind::Ready => {
            Doing::Idle
        }
        EdgeKind::Failed(failure) => {
            let is_limit = failure.kind.contains("limit") || failure.kind == "overloaded";
            if is_limit { Doing::Limited } else { Doing::Trouble }
        }
    }
}

/// After a dialog in the middle of a turn the agent goes on: the first line that it writes then shows it.
fn resumed(points: &[Point<Source>], read: &Transcripts) -> Vec<Point<Source>> {
    let goes_on = |(index, point): (usize, &Point<Source>)| {
        let is_rest = point.doing == Some(Doing::Waiting);
        let next = points.get(index + 1).map(|next| next.since);
        let after = |one: &Read1| {
            let times = &one.account.times;
            let first = times.partition_point(|(at, _)| *at <= point.seen + WITH_A_DIALOG);
            let (at, number) = *times.get(first)?;
            next.is_none_or(|next| at < next).then(|| (at, line(one, number)))
        };
        let (at, source) = read.all.iter().find_map(after).filter(|_| is_rest)?;
        Some(Point { since: at, seen: at, doing: Some(Doing::Working), source })
    };
    points.iter().enumerate().filter_map(goes_on).collect()
}

fn state(doing: Doing) -> SpanState {
    match doing {
        Doing::Working => SpanState::Working,
        Doing::Waiting => SpanState::Waiting,
        Doing::Limited => SpanState::Limited,
        Doing::Idle => SpanState::Idle,
        Doing::Trouble => SpanState::Trouble,
        Doing::NotObserved => SpanState::NotObserved,
    }
}

/// Seconds of each.
pub(super) fn sums(spans: &[Span]) -> Times {
    let mut times = Times::default();
    for span in spans {
        let sum = match span.state {
            SpanState::Working => &mut times.working,
            SpanState::Waiting => &mut times.waiting,
            SpanState::Limited => &mut times.limited,
            SpanState::Idle => &mut times.idle,
            SpanState::Trouble => &mut times.trouble,
            SpanState::NotObserved => &mut times.not_observed,
        };
        *sum += span.to.duration_since(span.from).as_secs();
    }
    times
}
