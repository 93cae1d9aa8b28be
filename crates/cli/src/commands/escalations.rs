use std::io::IsTerminal;

use anstyle::AnsiColor;
use dogwatch_core::escalation::{Choice, Kind, Situation, Trigger};
use dogwatch_core::exit_code;
use dogwatch_engine::actions::escalation::{self, Raised, Request};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::escalation::{self as printed, NumberedChoice};
use dogwatch_store::{Escalation, Settled, Settlement};
use jiff::Timestamp;

use crate::args::{EscalationAnswer, EscalationRaise, EscalationVerb, EscalationWait, Escalations};
use crate::table::{Cell, Table};
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn escalations(context: &Context, args: &Escalations) -> Result<u8, Error> {
    match &args.verb {
        None => ls(context, false),
        Some(EscalationVerb::Ls(args)) => ls(context, args.all),
        Some(EscalationVerb::Show(args)) => {
            let found = escalation::find(context, &args.id)?;
            if ui::prints_json() {
                ui::json(&shape(&found));
            } else {
                show(&found);
            }
            Ok(exit_code::OK)
        }
        Some(EscalationVerb::Answer(args)) => answer(context, args),
        Some(EscalationVerb::Wait(args)) => wait(context, args),
        Some(EscalationVerb::Raise(args)) => raise(context, args),
    }
}

fn ls(context: &Context, all: bool) -> Result<u8, Error> {
    let found = escalation::list(context, all)?;
    if ui::prints_json() {
        ui::json(&printed::Escalations { escalations: found.iter().map(shape).collect() });
    } else if found.is_empty() {
        ui::talk("no open escalations");
    } else {
        ui::line(table(&found));
    }
    Ok(exit_code::OK)
}

fn table(found: &[Escalation]) -> Table {
    let now = Timestamp::now();
    let mut table = ui::table(&["ID", "KIND", "AGE", "STATE", "PROBLEM"]);
    for one in found {
        let colour = match one.kind {
            Kind::Critical => AnsiColor::Red,
            Kind::Preference => AnsiColor::Yellow,
        };
        table.row([
            one.number.to_string().into(),
            Cell::painted(one.kind.as_str(), colour),
            ui::age(one.raised, now).into(),
            state(one).into(),
            ui::harmless(one.situation.headline()).replace('\n', " ").into(),
        ]);
    }
    table
}

fn state(one: &Escalation) -> String {
    match one.settled.as_ref().map(|settled| &settled.outcome) {
        None => "open".to_owned(),
        Some(Settlement::Answered { action, .. }) => action.as_str().replace('_', " "),
        Some(Settlement::Withdrawn { .. }) => "withdrawn".to_owned(),
    }
}

fn show(one: &Escalation) {
    ui::line(ui::harmless(dogwatch_core::escalation::text(&one.situation)).trim_end());
    if let (Some(at), Some(option), None) = (one.deadline, one.default_option, &one.settled) {
        ui::line(format_args!("\nWithout an answer, option {option} applies at {at:.0}."));
    }
    match &one.settled {
        None => ui::talk(format_args!(
            "\nto answer: dogwatch escalations answer {} --option N",
            one.number
        )),
        Some(settled) => {
            let how = ui::harmless(in_words(&settled.outcome));
            ui::line(format_args!("\nSettled at {:.0}: {how}", settled.at));
        }
    }
}

fn in_words(settlement: &Settlement) -> String {
    match settlement {
        Settlement::Answered { option, action, note, by, .. } => {
            let note = note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            format!("{by} chose {option} ({}){note}", action.as_str())
        }
        Settlement::Withdrawn { because } => format!("withdrawn: {because}"),
    }
}

fn answer(context: &Context, args: &EscalationAnswer) -> Result<u8, Error> {
    let option = match &args.option {
        Some(option) => option.clone(),
        None => ask(context, &args.id)?,
    };
    let by = args.by.clone().unwrap_or_else(|| environment::who(context));
    let Raised { escalation, problems } =
        escalation::answer(context, &args.id, &option, args.note.as_deref(), &by)?;
    complain(&problems);
    if ui::prints_json() {
        ui::json(&shape(&escalation));
    } else if let Some(settled) = &escalation.settled {
        let how = ui::harmless(in_words(&settled.outcome));
        ui::line(format_args!("{}: {how}", escalation.number));
    }
    Ok(exit_code::OK)
}

/// Shows the question and reads the answer from the terminal.
fn ask(context: &Context, id: &str) -> Result<String, Error> {
    let found = escalation::find(context, id)?;
    if found.settled.is_some() {
        // A settled question has no valid option; the engine reports that.
        return Ok(String::new());
    }
    if !std::io::stdin().is_terminal() {
        return Err(UsageError::MissingOption { options: found.options.len() }.into());
    }
    show(&found);
    Ok(ui::ask("option: "))
}

fn wait(context: &Context, args: &EscalationWait) -> Result<u8, Error> {
    let answered = escalation::wait_for_answer(context, &args.id, args.timeout, None)?;
    let code = if answered.is_some() { exit_code::OK } else { exit_code::TIMEOUT };
    let found = match answered {
        Some(found) => found,
        None => escalation::find(context, &args.id)?,
    };
    if ui::prints_json() {
        ui::json(&shape(&found));
    } else {
        match &found.settled {
            Some(settled) => ui::line(ui::harmless(in_words(&settled.outcome))),
            None => ui::talk(format_args!("{} is still open", found.number)),
        }
    }
    Ok(code)
}

fn raise(context: &Context, args: &EscalationRaise) -> Result<u8, Error> {
    let trigger = Trigger::by_word(&args.trigger).ok_or_else(|| {
        let known = Trigger::ALL.map(Trigger::as_str).join(", ");
        UsageError::UnknownTrigger { given: args.trigger.clone(), known }
    })?;
    let situation = Situation {
        run: args.run.clone(),
        story: args.story.clone(),
        step: args.step.clone(),
        session: args.session.clone(),
        blocking: args.blocking,
        retries_left: args.retries_left,
        ..Situation::new(trigger, args.problem.clone())
    };
    let options = dogwatch_core::escalation::choices(&situation).len();
    if args
        .default
        .is_some_and(|option| !(1..=options).contains(&usize::try_from(option).unwrap_or(0)))
    {
        return Err(UsageError::DefaultNotAnOption { options }.into());
    }
    let new = format!("raised {}", Timestamp::now().as_nanosecond());
    let request = Request {
        key: args.key.as_deref().unwrap_or(&new),
        situation: &situation,
        deadline: args.deadline.zip(args.default),
        anew: true,
    };
    let Raised { escalation, problems } = escalation::raise(context, &request)?;
    complain(&problems);
    if ui::prints_json() {
        ui::json(&shape(&escalation));
    } else {
        ui::line(escalation.number);
    }
    Ok(exit_code::OK)
}

fn complain(problems: &[String]) {
    for problem in problems {
        ui::talk(format_args!("warning: notification failed: {problem}"));
    }
}

fn shape(one: &Escalation) -> printed::Escalation {
    let numbered = |(number, choice): (usize, &Choice)| NumberedChoice {
        number,
        action: choice.action,
        label: choice.label.clone(),
    };
    let settled =
        |settled: &Settled| printed::Settled { at: settled.at, outcome: settled.outcome.clone() };
    printed::Escalation {
        number: one.number,
        id: one.id.clone(),
        key: one.key.clone(),
        trigger: one.situation.trigger.number(),
        kind: one.kind,
        headline: one.situation.headline(),
        situation: one.situation.clone(),
        options: (1..).zip(&one.options).map(numbered).collect(),
        raised: one.raised,
        deadline: one.deadline,
        default: one.default_option,
        settled: one.settled.as_ref().map(settled),
    }
}
