use dogwatch_core::exit_code;
use dogwatch_core::workflow::Dated;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::run::LogLine;
use jiff::tz::TimeZone;

use super::run::words;
use crate::args::StoryOne;
use crate::ui;

pub(super) fn log(context: &Context, args: &StoryOne) -> Result<u8, Error> {
    let (_, run, facts) = super::look(context, args.run.as_deref())?;
    for dated in &facts {
        if ui::prints_json() {
            ui::json(&shape(dated));
        } else if let Some(words) = words(&run, &dated.fact) {
            let time = dated.at.to_zoned(TimeZone::system()).strftime("%F %T");
            ui::line(format_args!("{time}  {}", ui::harmless(words).replace('\n', " · ")));
        }
    }
    Ok(exit_code::OK)
}

pub(super) fn shape(dated: &Dated) -> LogLine {
    LogLine { fact: dated.fact.clone(), at: dated.at }
}
