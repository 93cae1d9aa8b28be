use std::collections::BTreeMap;
use std::time::Duration;

use dogwatch_core::exit_code;
use dogwatch_core::permissions::Permissions;
use dogwatch_core::workflow::{AgentChoice, Budget, Item, Per, Prices, Step, Work};
use dogwatch_engine::workflow::planner::{self, Planned, Wanted};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::run::{PlannedItem, PlannedRun, PlannedStep};

use super::here;
use crate::args::{StoryPlan, StoryWhat};
use crate::commands::spawn::not_a_pair;
use crate::table::Cell;
use crate::usage::UsageError;
use crate::{environment, ui};

pub(super) fn plan(context: &Context, args: &StoryPlan) -> Result<u8, Error> {
    // An unclean tree matters only when a run begins.
    let wanted = Wanted { allow_dirty: true, only_plans: true, ..wanted(&args.what, None)? };
    let planned = planner::plan(context, &environment::project()?, &wanted)?;
    show(&planned);
    Ok(exit_code::OK)
}

/// The request of the command line.
pub(super) fn wanted(what: &StoryWhat, answer: Option<(Duration, u32)>) -> Result<Wanted, Error> {
    let mut agent_for = BTreeMap::new();
    for pair in &what.agent_for {
        let (step, agent) = pair
            .split_once('=')
            .filter(|(step, agent)| !step.is_empty() && !agent.is_empty())
            .ok_or_else(|| not_a_pair("--agent-for", pair, "STEP=AGENT"))?;
        agent_for.insert(step.to_owned(), agent.to_owned());
    }
    let mut skip = what.skip.clone();
    if what.skip_automate {
        skip.push("auto".into());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an amount of money"
    )]
    let micro_usd = what.budget_usd.map(|usd| (usd.max(0.0) * 1e6).round() as u64);
    Ok(Wanted {
        workflow: what.workflow.clone(),
        epic: what.epic.clone(),
        items: what.stories.clone(),
        skip,
        side_by_side: what.max_parallel,
        agent: what.agent.clone(),
        agent_for,
        fallback: what.fallback.clone(),
        model: what.model.clone(),
        budget: Budget { tokens: what.budget_tokens, micro_usd },
        prices: what.prices.as_deref().map(prices).transpose()?.unwrap_or_default(),
        answer_within: answer.and_then(|(time, option)| Some((time.try_into().ok()?, option))),
        agent_args: what.agent_arg.clone(),
        permissions: what.permissions,
        allow_dirty: what.allow_dirty,
        only_plans: false,
        config: None,
        home: here(),
    })
}

fn prices(text: &str) -> Result<Prices, Error> {
    let price = |text: &str| text.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    let numbers: Option<Vec<f64>> = text.split(',').map(price).collect();
    match numbers.as_deref() {
        Some(&[input, output, cached]) => Ok(Prices { input, output, cached }),
        _ => Err(UsageError::NotPrices { given: text.to_owned() }.into()),
    }
}

/// The plan, for a person or a machine.
pub(super) fn show(planned: &Planned) {
    if ui::prints_json() {
        ui::json(&shape(planned));
        return;
    }
    let steps: Vec<_> = planned.workflow.steps_per(Per::Item).collect();
    let mut header = vec!["STORY", "TITLE", "LEVEL"];
    header.extend(steps.iter().map(|step| step.id.as_str()));
    let header: Vec<String> = header.iter().map(|word| word.to_uppercase()).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = ui::table(&header);
    for item in &planned.plan.items {
        let level = planned.complexity.get(&item.id);
        let level = level.map(|c| format!("{} ({})", c.level, c.score)).unwrap_or_default();
        let mut cells = vec![item.id.clone(), ui::harmless(item.title.clone()), level];
        for step in &steps {
            cells.push(if planned.plan.skip.contains(&step.id) || item.done.contains(&step.id) {
                "-".into()
            } else {
                match &step.work {
                    Work::Agent { .. } => item.agents.get(&step.id).map(crew).unwrap_or_default(),
                    Work::Command { .. } => "command".into(),
                    Work::Commit { .. } => "commit".into(),
                    Work::Merge => "merge".into(),
                }
            });
        }
        table.row(cells.into_iter().map(Cell::from).collect::<Vec<_>>());
    }
    ui::line(table);
    let groups =
        planned.workflow.steps_per(Per::Group).filter(|s| !planned.plan.skip.contains(&s.id));
    let groups: Vec<String> = groups
        .map(|step| match planned.plan.group_agents.get(&step.id) {
            Some(found) => format!("{} ({})", step.label, crew(found)),
            None => step.label.clone(),
        })
        .collect();
    if !groups.is_empty() {
        ui::line(format_args!("after each completed epic: {}", groups.join(", ")));
    }
    if planned.plan.side_by_side > 1 {
        ui::line(format_args!(
            "{} in parallel, each in its own git worktree",
            planned.plan.side_by_side
        ));
    }
    ui::line(permissions(planned.settings.permissions));
    for note in &planned.notes {
        ui::talk(format_args!("note: {note}"));
    }
}

/// What agents may do without asking, in a line.
pub(super) fn permissions(level: Permissions) -> String {
    format!("permissions: {}: {}", level.as_str(), level.meaning())
}

fn crew(crew: &AgentChoice) -> String {
    let model = crew.model.as_ref().map(|model| format!(":{model}")).unwrap_or_default();
    let fallback =
        crew.fallback.as_ref().map(|other| format!(", else {other}")).unwrap_or_default();
    format!("{}{model}{fallback}", crew.primary)
}

fn shape(planned: &Planned) -> PlannedRun {
    let step = |step: &Step| PlannedStep {
        id: step.id.clone(),
        label: step.label.clone(),
        per: step.per,
        optional: step.optional,
        attempts: step.attempts,
    };
    let item = |item: &Item| PlannedItem {
        id: item.id.clone(),
        key: item.key().to_owned(),
        title: item.title.clone(),
        group: item.group.clone(),
        blocking: item.blocking,
        after: item.after.clone(),
        done: item.done.clone(),
        agents: item.agents.clone(),
        complexity: planned.complexity.get(&item.id).cloned(),
    };
    PlannedRun {
        workflow: planned.workflow.name.clone(),
        project: ui::path(&planned.project),
        steps: planned.workflow.steps.iter().map(step).collect(),
        items: planned.plan.items.iter().map(item).collect(),
        group_agents: planned.plan.group_agents.clone(),
        skip: planned.plan.skip.clone(),
        side_by_side: planned.plan.side_by_side,
        budget: planned.plan.budget,
        permissions: planned.settings.permissions,
        notes: planned.notes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_prices_and_nothing_else() {
        let wanted = Prices { input: 3.0, output: 15.0, cached: 0.3 };
        assert_eq!(prices("3, 15,0.3").unwrap(), wanted);
        for bad in ["3,15", "3,x,15,0.3", "3,,15,0.3", "3,15,-1", "3,15,inf", ""] {
            assert!(prices(bad).is_err(), "{bad}");
        }
    }
}
