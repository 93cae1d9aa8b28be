use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_core::status::{Reason, Role, Status};
use dogwatch_engine::observe::{listing, status};
use dogwatch_engine::socket::client;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::status::{Explained, Looping};
use dogwatch_protocol::stream::Ask;
use jiff::Timestamp;

use crate::args::Why;
use crate::commands::status as words;
use crate::table::{Cell, Table};
use crate::ui;

pub(crate) fn why(context: &Context, args: &Why) -> Result<u8, Error> {
    let now = Timestamp::now();
    let found = look(context, &args.session, now)?;
    if ui::prints_json() {
        ui::json(&found);
        return Ok(exit_code::OK);
    }
    let status = &found.session;
    let verdict = &status.verdict;
    let detail = ui::harmless(words::detail(&verdict.status));
    let gap = if detail.is_empty() { "" } else { ": " };
    let (word, basis) = (verdict.status.as_str(), verdict.basis.as_str());
    ui::line(format_args!("{} is {word}{gap}{detail} ({basis})", status.name));
    words::show_options(status);
    let mut table = ui::table(&["SOURCE", "", "AGE", "SAID"]);
    for reason in &verdict.reasons {
        table.row([
            reason.source.as_str().into(),
            role(reason),
            reason.at.map(|at| ui::age(at, now)).unwrap_or_default().into(),
            reason.said.as_str().into(),
        ]);
    }
    ui::line(table);
    if let Status::Working { looping: Some(looping), .. } = &verdict.status {
        ui::line(loop_table(looping, now));
    }
    for note in &status.notes {
        ui::line(format_args!("note: {}", ui::harmless(note.clone())));
    }
    Ok(exit_code::OK)
}

/// What the supervisor sees; without one, what this command sees itself.
fn look(context: &Context, target: &str, now: Timestamp) -> Result<Explained, Error> {
    let ask = Ask::Why { session: target.to_owned() };
    match client::ask(context, ask) {
        Some(found) => Ok(found),
        None => Ok(listing::explained(&status::one(context, target, now)?, now)),
    }
}

/// The calls that repeat.
fn loop_table(looping: &Looping, now: Timestamp) -> Table {
    let mut table = ui::table(&["AGE", "CALL", "RESULT", ""]);
    for call in &looping.evidence {
        table.row([
            ui::age(call.at, now).into(),
            ui::harmless(call.call.clone()).into(),
            call.result.as_str().into(),
            if call.failed { "failed" } else { "" }.into(),
        ]);
    }
    table
}

fn role(reason: &Reason) -> Cell {
    match reason.role {
        Role::Decided => Cell::painted("decided", AnsiColor::Green),
        Role::Disagrees => Cell::painted("disagrees", AnsiColor::Yellow),
        Role::Heard => "".into(),
    }
}
