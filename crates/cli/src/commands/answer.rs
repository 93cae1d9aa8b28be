use dogwatch_core::exit_code;
use dogwatch_engine::actions::answer;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::message::AnswerOutcome;

use crate::args::Answer;
use crate::ui;

pub(crate) fn answer(context: &Context, args: &Answer) -> Result<u8, Error> {
    let answered = answer::answer(context, &args.target, &args.choice, args.dialog.as_deref())?;
    let (name, choice) = (&answered.name, &answered.choice);
    let is_proven = answered.outcome == AnswerOutcome::Answered;
    if ui::prints_json() {
        ui::json(&answered);
    } else if is_proven {
        ui::line(format_args!("{name}: answered {choice:?}"));
    } else {
        ui::line(format_args!("{name}: selected {choice:?}, but the dialog is still open"));
    }
    Ok(if is_proven { exit_code::OK } else { exit_code::FAILED })
}
