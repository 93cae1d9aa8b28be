use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_core::rules::Answer;
use dogwatch_engine::actions::rules::{self, Listed, Rehearsed, Written};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::rules::{self as printed, ListedRule, Rehearsal, RehearsedRequest};
use jiff::Timestamp;

use crate::args::{Rules, RulesVerb};
use crate::table::Cell;
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn rules(context: &Context, args: &Rules) -> Result<u8, Error> {
    match &args.verb {
        None => ls(context),
        Some(RulesVerb::Rehearse(args)) => rehearse(context, args.since),
        Some(RulesVerb::Explain(args)) => explain(context, &args.target),
        Some(RulesVerb::Pause) => switch(context, false),
        Some(RulesVerb::Resume) => switch(context, true),
    }
}

fn ls(context: &Context) -> Result<u8, Error> {
    let Listed { rules, off } = rules::list(context, &environment::current_dir()?)?;
    let paused_since = context.store()?.rules_paused()?;
    if ui::prints_json() {
        let shape = |(rule, file): &Written| ListedRule {
            name: rule.name.clone(),
            answer: rule.answer,
            about: rule.about(),
            file: file.display().to_string(),
        };
        ui::json(&printed::Rules { paused_since, off, rules: rules.iter().map(shape).collect() });
        return Ok(exit_code::OK);
    }
    if rules.is_empty() {
        ui::talk(
            "no rules: dogwatch answers no permission prompt; to add some, write [[rule]] tables in config.toml",
        );
    } else {
        let mut table = ui::table(&["RULE", "ANSWER", "ABOUT"]);
        for (rule, _) in &rules {
            table.row([rule.name.as_str().into(), cell(rule.answer), rule.about().into()]);
        }
        ui::line(table);
    }
    if let Some(because) = off {
        ui::talk(because);
    }
    if let Some(since) = paused_since {
        let age = ui::age(since, Timestamp::now());
        ui::talk(format_args!("paused for {age}; to go on: dogwatch rules resume"));
    }
    Ok(exit_code::OK)
}

fn rehearse(context: &Context, since: Option<Timestamp>) -> Result<u8, Error> {
    let found = rules::rehearse(context, since)?;
    let count = |answer| found.iter().filter(|one| one.decision.answer == answer).count();
    let (allow, deny, ask) = (count(Answer::Allow), count(Answer::Deny), count(Answer::Ask));
    if ui::prints_json() {
        ui::json(&Rehearsal { requests: found.iter().map(shape).collect(), allow, deny, ask });
    } else if found.is_empty() {
        ui::talk("no requests for permission are recorded");
    } else {
        let now = Timestamp::now();
        let mut table = ui::table(&["NUMBER", "AGE", "SESSION", "ANSWER", "ASKS", "BECAUSE"]);
        for one in &found {
            table.row([
                one.number.to_string().into(),
                ui::age(one.at, now).into(),
                one.name.as_str().into(),
                cell(one.decision.answer),
                asks(one).into(),
                one.decision.because.as_str().into(),
            ]);
        }
        ui::line(table);
        ui::talk(format_args!("allow {allow}, deny {deny}, ask {ask}; nothing was answered now"));
    }
    Ok(exit_code::OK)
}

fn explain(context: &Context, target: &str) -> Result<u8, Error> {
    let Some(found) = rules::explain(context, target)? else {
        return Err(UsageError::NoRequest { target: target.to_owned() }.into());
    };
    if ui::prints_json() {
        ui::json(&shape(&found));
    } else {
        let Rehearsed { number, name, decision, was_answered, .. } = &found;
        ui::line(format_args!("request {number} of {name}: {}", asks(&found)));
        ui::line(format_args!("the rules say {}: {}", decision.answer.as_str(), decision.because));
        let then = if *was_answered { "a rule answered it" } else { "a person was asked" };
        ui::line(format_args!("when it came, {then}"));
    }
    Ok(exit_code::OK)
}

fn switch(context: &Context, on: bool) -> Result<u8, Error> {
    let is_new = rules::switch(context, on, Timestamp::now())?;
    if ui::prints_json() {
        return ls(context);
    }
    ui::line(match (on, is_new) {
        (true, true) => "rules answer again",
        (true, false) => "rules were not paused",
        (false, true) => "rules are paused; to go on: dogwatch rules resume",
        (false, false) => "rules were paused already",
    });
    Ok(exit_code::OK)
}

fn cell(answer: Answer) -> Cell {
    let colour = match answer {
        Answer::Allow => AnsiColor::Green,
        Answer::Deny => AnsiColor::Red,
        Answer::Ask => AnsiColor::Yellow,
    };
    Cell::painted(answer.as_str(), colour)
}

fn asks(one: &Rehearsed) -> String {
    format!("{} {}", one.tool, one.asks.replace('\n', " "))
}

fn shape(one: &Rehearsed) -> RehearsedRequest {
    RehearsedRequest {
        number: one.number,
        at: one.at,
        session: one.name.clone(),
        id: one.session.clone(),
        agent: one.agent.clone(),
        tool: one.tool.clone(),
        asks: one.asks.clone(),
        answer: one.decision.answer,
        rules: one.decision.rules.clone(),
        because: one.decision.because.clone(),
        was_answered: one.was_answered,
    }
}
