use dogwatch_core::exit_code;
use dogwatch_engine::actions::budget;
use dogwatch_engine::observe::usage::standings;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::usage::{BudgetAction, BudgetStanding, Budgets, LiftedBudgets};
use jiff::Zoned;

use crate::args::{Budget, BudgetVerb};
use crate::ui;

pub(crate) fn budget(context: &Context, args: &Budget) -> Result<u8, Error> {
    match &args.verb {
        None => list(context)?,
        Some(BudgetVerb::Lift(args)) => {
            let lifted = budget::lift(context, args.session.as_deref())?;
            if ui::prints_json() {
                ui::json(&LiftedBudgets { lifted });
            } else if lifted.is_empty() {
                ui::talk("no budget holds anything");
            } else {
                for one in lifted {
                    let (per, name) = (one.per.as_str(), ui::harmless(one.name));
                    ui::line(format_args!("lifted the budget of {per} {name}"));
                }
            }
        }
    }
    Ok(exit_code::OK)
}

fn list(context: &Context) -> Result<(), Error> {
    let budgets = standings(context, &context.store()?, None, &Zoned::now())?;
    if ui::prints_json() {
        ui::json(&Budgets { budgets });
        return Ok(());
    }
    if budgets.is_empty() {
        ui::talk("no budget is configured, or nothing was used of any; see docs/usage.md");
        return Ok(());
    }
    let mut table = ui::table(&["PER", "OF", "USED", "LIMIT", "ACTION", "STATE"]);
    for one in &budgets {
        let action = if one.action == BudgetAction::Hold { "hold" } else { "notify" };
        table.row(vec![
            one.per.as_str().into(),
            one.name.as_str().into(),
            one.used_words.as_str().into(),
            one.limit_words.as_str().into(),
            action.into(),
            state(one).into(),
        ]);
    }
    ui::line(table);
    Ok(())
}

fn state(one: &BudgetStanding) -> &'static str {
    match (one.is_used_up, one.is_lifted, one.holds()) {
        (false, ..) => "",
        (true, true, _) => "lifted",
        (true, false, true) => "holds",
        (true, false, false) => "used up",
    }
}
