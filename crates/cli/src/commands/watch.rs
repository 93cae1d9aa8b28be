use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dogwatch_core::exit_code;
use dogwatch_engine::notify::heartbeat::{self, Beating};
use dogwatch_engine::watch::stream::Stream;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::status::{WatchEvent, WatchLine};
use dogwatch_protocol::stream::Follow;
use jiff::tz::TimeZone;

use crate::args::Watch;
use crate::commands::{relay, status as words};
use crate::{interrupt, ui};

/// Longest wait before checking whether to stop.
const LONGEST: Duration = Duration::from_mins(1);
/// What is said of a supervisor that does not answer.
pub(super) const SILENT: &str =
    "note: the supervisor does not answer; `dogwatch supervisor restart` replaces it";

pub(crate) fn watch(context: &Context, args: &Watch) -> Result<u8, Error> {
    // Options of panes are for who watches all of them.
    let follow = Follow { labels: args.sessions.is_empty(), ..Follow::default() };
    let mut stream = Stream::open(context, &args.sessions, follow)?;
    let stop = interrupt::flag(stream.waker())?;
    if !ui::prints_json() {
        ui::talk("watching; Ctrl-C to stop");
    }
    let _heartbeat = heartbeat(context);
    let mut publisher = None;
    let mut is_first = true;
    while !stop.load(Ordering::Relaxed) {
        let changes = stream.next(LONGEST, &stop)?;
        if stream.is_silent() {
            ui::talk(SILENT);
        }
        if !stream.is_complete() {
            continue;
        }
        // A watch of some sessions must not publish for all.
        if std::mem::take(&mut is_first) && args.sessions.is_empty() {
            publisher = relay::beside(context, &changes);
        }
        for change in changes {
            if let Some(publisher) = &publisher {
                publisher.show(&change);
            }
            if let Err(error) = tell(&change) {
                return ended_by(error);
            }
        }
        let all_over = || stream.sessions().all(|one| one.verdict.status.is_over());
        if !args.sessions.is_empty() && all_over() {
            break;
        }
    }
    Ok(exit_code::OK)
}

/// Calls the address of `heartbeat` in the configuration, until it is dropped.
pub(super) fn heartbeat(context: &Context) -> Option<Beating> {
    let trouble = |problem: Option<&str>| match problem {
        Some(problem) => ui::talk(format_args!("warning: the heartbeat fails: {problem}")),
        None => ui::talk("the heartbeat works again"),
    };
    // The configuration is reported by whoever needs it.
    heartbeat::start(context, trouble)
        .inspect_err(|error| ui::talk(format_args!("note: no heartbeat: {error}")))
        .ok()?
}

/// A closed output is a normal end; the watcher cleans up.
pub(super) fn ended_by(error: io::Error) -> Result<u8, Error> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(exit_code::OK);
    }
    Err(Error::io("write the result")(error))
}

fn tell(change: &WatchLine) -> io::Result<()> {
    if ui::prints_json() { ui::try_json(change) } else { ui::try_line(in_words(change)) }
}

fn in_words(change: &WatchLine) -> String {
    let time = change.at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
    let status = &change.session.verdict.status;
    let state = words::state(status);
    let detail = ui::harmless(words::detail(status)).replace('\n', " ");
    let (from, to, detail) = match change.event {
        WatchEvent::Seen => (String::new(), state.to_string(), detail),
        WatchEvent::Changed => {
            let from = change.from.as_deref().unwrap_or_default();
            (format!("{from} → "), state.to_string(), detail)
        }
        WatchEvent::Gone => (String::new(), "gone".to_owned(), String::new()),
    };
    let gap = if detail.is_empty() { "" } else { ": " };
    format!("{time}  {}  {from}{to}{gap}{detail}", change.session.name)
}
