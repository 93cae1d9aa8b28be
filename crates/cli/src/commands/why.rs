use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_core::status::{Reason, Role};
use dogwatch_engine::observe::status;
use dogwatch_engine::{Context, Error};
use jiff::Timestamp;

use crate::args::Why;
use crate::commands::status as words;
use crate::table::Cell;
use crate::ui;

pub(crate) fn why(context: &Context, args: &Why) -> Result<u8, Error> {
    let now = Timestamp::now();
    let status = status::one(context, &args.session, now)?;
    if args.json {
        ui::json(&words::shape(&status));
        return Ok(exit_code::OK);
    }
    let verdict = &status.verdict;
    let detail = ui::harmless(words::detail(&verdict.status));
    let gap = if detail.is_empty() { "" } else { ": " };
    let (word, basis) = (verdict.status.as_str(), verdict.basis.as_str());
    ui::line(format_args!("{} is {word}{gap}{detail} ({basis})", status.seen.session.name));
    words::show_options(&status);
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
    Ok(exit_code::OK)
}

fn role(reason: &Reason) -> Cell {
    match reason.role {
        Role::Decided => Cell::painted("decided", AnsiColor::Green),
        Role::Disagrees => Cell::painted("disagrees", AnsiColor::Yellow),
        Role::Heard => "".into(),
    }
}
