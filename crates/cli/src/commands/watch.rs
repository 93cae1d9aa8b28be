use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dogwatch_core::exit_code;
use dogwatch_engine::notify::heartbeat::{self, Beating};
use dogwatch_engine::watch::{Change, Watcher, What};
use dogwatch_engine::{Context, Error};
use jiff::tz::TimeZone;

use crate::args::Watch;
use crate::commands::{relay, status as words};
use crate::{interrupt, ui};

/// Longest wait before checking whether to stop.
const LONGEST: Duration = Duration::from_mins(1);

pub(crate) fn watch(context: &Context, args: &Watch) -> Result<u8, Error> {
    let mut watcher = Watcher::new(context, &args.sessions)?;
    if args.sessions.is_empty() {
        watcher.label_panes();
    }
    let stop = interrupt::flag(watcher.waker())?;
    if !args.json {
        ui::talk("watching; Ctrl-C to stop");
    }
    let _heartbeat = heartbeat(context);
    let mut publisher = None;
    let mut is_first = true;
    while !stop.load(Ordering::Relaxed) {
        let changes = watcher.next(LONGEST, &stop)?;
        // A watcher of some sessions must not publish for all.
        if std::mem::take(&mut is_first) && args.sessions.is_empty() {
            publisher = relay::beside(context, &changes);
        }
        for change in changes {
            if let Some(publisher) = &publisher {
                publisher.show(&change);
            }
            if let Err(error) = tell(&change, args.json) {
                return ended_by(error);
            }
        }
        let all_over = || watcher.statuses().all(|one| one.verdict.status.is_over());
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

fn tell(change: &Change, as_json: bool) -> io::Result<()> {
    if as_json { ui::try_json(&change.line()) } else { ui::try_line(in_words(change)) }
}

fn in_words(change: &Change) -> String {
    let time = change.at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
    let session = &change.status.seen.session;
    let status = &change.status.verdict.status;
    let state = words::state(status);
    let detail = ui::harmless(words::detail(status)).replace('\n', " ");
    let (from, to, detail) = match &change.what {
        What::Seen => (String::new(), state.to_string(), detail),
        What::Changed { from } => {
            (format!("{} → ", from.status.as_str()), state.to_string(), detail)
        }
        What::Gone => (String::new(), "gone".to_owned(), String::new()),
    };
    let gap = if detail.is_empty() { "" } else { ": " };
    format!("{time}  {}  {from}{to}{gap}{detail}", session.name)
}
