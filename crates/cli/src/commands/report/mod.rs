mod html;
mod table;
mod words;

use std::path::Path;

use dogwatch_core::exit_code;
use dogwatch_core::since;
use dogwatch_engine::notify::outward;
use dogwatch_engine::observe::report::{self, Period};
use dogwatch_engine::{Context, Error};
use jiff::Zoned;

use crate::args::ReportArgs;
use crate::ui;
use crate::usage::UsageError;

pub(crate) fn report(context: &Context, args: &ReportArgs) -> Result<u8, Error> {
    let now = Zoned::now();
    let Some(since) = since::parse(&args.since, &now) else {
        return Err(UsageError::NotATime { given: args.since.clone() }.into());
    };
    let period = Period { since, until: now.timestamp() };
    if period.since > period.until {
        return Err(UsageError::InTheFuture { given: args.since.clone() }.into());
    }
    let report = report::report(context, period, &args.sessions, outward::masks())?;
    if let Some(path) = &args.html {
        let page = html::page(&report, now.time_zone());
        if path == Path::new("-") {
            ui::raw(page.as_bytes());
            return Ok(exit_code::OK);
        }
        dogwatch_store::replace(path, page.as_bytes())?;
    }
    match &args.html {
        _ if ui::prints_json() => ui::json(&report),
        Some(path) => ui::line(ui::harmless(path.display().to_string())),
        None => ui::line(table::text(&report, now.time_zone()).trim_end()),
    }
    Ok(exit_code::OK)
}
