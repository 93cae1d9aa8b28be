use std::path::Path;

use dogwatch_core::exit_code;
use dogwatch_core::recording::{self, Meta};
use dogwatch_core::screen::{self, Reading, Screen, State};
use dogwatch_core::status::Basis;
use dogwatch_engine::Error;
use dogwatch_protocol::screen as printed;
use dogwatch_store::{open_own, read_up_to};

use crate::args::DebugScreen;
use crate::ui;
use crate::usage::UsageError;

/// Far more than any capture; limits reading a device.
const MAX_SCREEN: u64 = 64 * 1024 * 1024;

pub(crate) fn screen(args: &DebugScreen) -> Result<u8, Error> {
    let reading = match (&args.report, &args.agent, &args.screen) {
        (Some(folder), _, _) => recorded(folder)?,
        (None, Some(agent), Some(file)) => {
            let screen = Screen {
                bytes: &read(file)?,
                width: args.width,
                height: args.height,
                title: args.title.as_deref(),
                cursor: None,
                alternate: None,
            };
            reading(agent, &screen)?
        }
        _ => return Err(UsageError::MissingScreen.into()),
    };
    if ui::prints_json() {
        ui::json(&shape(reading));
        return Ok(exit_code::OK);
    }
    let need = match &reading.state {
        State::Waiting { need } => format!(" for {}", need.as_str()),
        _ => String::new(),
    };
    ui::line(format_args!("{}{need} (inferred)", reading.state.as_str()));
    for reason in &reading.reasons {
        ui::line(format_args!("  {} in {}: {}", reason.rule, reason.region.as_str(), reason.text));
    }
    if reading.reasons.is_empty() {
        ui::line("  no rule matched");
    }
    Ok(exit_code::OK)
}

fn shape(reading: Reading) -> printed::Reading {
    let Reading { state, details, reasons } = reading;
    let details = printed::Details {
        draft: details.draft,
        question: details.question,
        options: details.options,
        label: details.label,
        elapsed_secs: details.elapsed_secs,
        todos: details.todos,
        background: details.background,
        exit: details.exit,
    };
    // A screen alone is never the agent's own report.
    printed::Reading { state, details, reasons, basis: Basis::Inferred }
}

/// The screen in a directory of `bug-report`.
fn recorded(folder: &Path) -> Result<Reading, Error> {
    let path = folder.join(recording::META);
    let meta: Meta = serde_json::from_slice(&read(&path)?)
        .map_err(|source| UsageError::NotABugReport { path, source })?;
    if meta.file.is_none() {
        return Err(UsageError::NoScreen { folder: folder.to_owned() }.into());
    }
    reading(&meta.agent, &recording::screen(&meta, &read(&folder.join(recording::STYLED_SCREEN))?))
}

fn reading(agent: &str, screen: &Screen) -> Result<Reading, Error> {
    if screen::markers(agent).is_none() {
        return Err(UsageError::NoScreenRules { agent: agent.to_owned() }.into());
    }
    Ok(screen::read(agent, screen))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = open_own(path).and_then(|file| read_up_to(file, MAX_SCREEN + 1));
    let bytes = bytes.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => {
            UsageError::NotAFile { path: path.to_owned(), source: error }.into()
        }
        _ => Error::io(format!("read {}", path.display()))(error),
    })?;
    if bytes.len() as u64 > MAX_SCREEN {
        let megabytes = MAX_SCREEN >> 20;
        return Err(UsageError::NotAScreen { path: path.to_owned(), megabytes }.into());
    }
    Ok(bytes)
}
