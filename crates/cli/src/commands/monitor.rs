use std::io;
use std::sync::atomic::Ordering;

use dogwatch_core::exit_code;
use dogwatch_engine::error::AgentError;
use dogwatch_engine::notify::kanban::Kanban;
use dogwatch_engine::notify::report_target::{People, ReportTarget};
use dogwatch_engine::observe::agents::find_program;
use dogwatch_engine::registry::report::{Pace, Report, Reporter};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::tools::{MonitorEvent, MonitorLine};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::args::MonitorArgs;
use crate::commands::watch;
use crate::{environment, interrupt, ui};

pub(crate) fn monitor(context: &Context, args: &MonitorArgs) -> Result<u8, Error> {
    let managed = environment::managed_registry(context, &args.which_registry, false)?;
    let desk: Box<dyn ReportTarget + '_> = match &args.kanban {
        Some(task) => {
            let program = program(context, &args.hermes)?;
            let (board, author) = (args.board.clone(), args.author.clone());
            Box::new(Kanban::new(program, board, task.clone(), author))
        }
        None => Box::new(People { context }),
    };
    let pace = Pace { interval: args.interval, heartbeat: args.heartbeat };
    let (shown, key) = (ui::short_path(managed.file.path()), desk.key());
    let mut reporter = Reporter::new(managed, desk, pace)?;
    let waker = reporter.waker();
    let stop = interrupt::flag(move || waker.wake())?;
    let _heartbeat = watch::heartbeat(context);
    ui::talk(format_args!("watching {shown}, reporting to {key}; Ctrl-C to stop"));
    while !stop.load(Ordering::Relaxed) {
        let Some(reports) = reporter.next(&stop)? else { break };
        for report in &reports {
            match tell(report) {
                Ok(()) => {}
                // The output is closed: continue to report to the card.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Err(error) => return Err(Error::io("write the result")(error)),
            }
        }
        if reports.iter().any(|report| matches!(report, Report::Stopped { .. })) {
            break;
        }
    }
    Ok(exit_code::OK)
}

/// Finds the program before anything begins.
fn program(context: &Context, name: &str) -> Result<String, Error> {
    let found = find_program(name, &context.path, &environment::current_dir()?);
    let found = found.ok_or_else(|| {
        Error::Agent(AgentError::ProgramNotFound {
            program: name.to_owned(),
            install: "pip install hermes-agent".to_owned(),
        })
    })?;
    Ok(found.to_string_lossy().into_owned())
}

fn tell(report: &Report) -> io::Result<()> {
    if ui::prints_json() {
        return ui::try_json(&shape(report));
    }
    let now = Timestamp::now().to_zoned(TimeZone::system());
    let (word, text) = in_words(report);
    let text = ui::harmless(text.to_owned()).replace('\n', " ");
    ui::try_line(format_args!("{}  {word}{text}", now.strftime("%H:%M:%S")))
}

fn in_words(report: &Report) -> (&'static str, &str) {
    match report {
        Report::Reported(title) => ("reported: ", title),
        Report::Beat(note) => ("heartbeat: ", note),
        Report::Trouble(problem) => ("problem: ", problem),
        Report::Well => ("problem resolved", ""),
        Report::Stopped { by } => ("stopped, requested by ", by),
    }
}

/// One line of the stream, documented in `docs/protocol.md`.
fn shape(report: &Report) -> MonitorLine {
    let (event, text) = match report {
        Report::Reported(title) => (MonitorEvent::Told, title.as_str()),
        Report::Beat(note) => (MonitorEvent::Heartbeat, note.as_str()),
        Report::Trouble(problem) => (MonitorEvent::Trouble, problem.as_str()),
        Report::Well => (MonitorEvent::Well, ""),
        Report::Stopped { by } => (MonitorEvent::Stopped, by.as_str()),
    };
    MonitorLine { event, at: Timestamp::now(), text: text.to_owned() }
}
