use dogwatch_core::exit_code;
use dogwatch_core::workflow::Standing;
use dogwatch_engine::workflow::{self, Listed};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::run::{RunRow, RunStanding, Runs};
use jiff::Timestamp;

use crate::args::StoryLs;
use crate::{environment, ui};

pub(super) fn ls(context: &Context, args: &StoryLs) -> Result<u8, Error> {
    let project = if args.all { None } else { Some(environment::project()?) };
    let runs = workflow::list(context, project.as_deref())?;
    if ui::prints_json() {
        ui::json(&Runs { runs: runs.iter().map(shape).collect() });
        return Ok(exit_code::OK);
    }
    if runs.is_empty() {
        ui::talk(if args.all { "no runs" } else { "no runs of this project" });
        return Ok(exit_code::OK);
    }
    let mut header = vec!["RUN", "STATE", "DONE", "AGE", "WORKFLOW", "PERMISSIONS"];
    header.extend(args.all.then_some("PROJECT"));
    let mut table = ui::table(&header);
    let now = Timestamp::now();
    for one in &runs {
        let (done, total) = progress(one);
        let mut cells = vec![
            one.kept.id.to_string(),
            state(one),
            format!("{done}/{total}"),
            ui::age(one.kept.begun, now),
            ui::harmless(one.kept.workflow.clone()),
            one.settings.permissions.as_str().to_owned(),
        ];
        cells.extend(args.all.then(|| ui::harmless(one.kept.project.display().to_string())));
        table.row(cells.into_iter().map(crate::table::Cell::from).collect::<Vec<_>>());
    }
    ui::line(table);
    Ok(exit_code::OK)
}

/// Number of items that are done, and of all.
fn progress(one: &Listed) -> (usize, usize) {
    let done = one.run.as_ref().map_or(0, |run| {
        run.items.values().filter(|i| i.finished.is_some() && i.dropped.is_none()).count()
    });
    (done, one.kept.plan.items.len())
}

fn standing(one: &Listed) -> RunStanding {
    match one.run.as_ref().map(|run| &run.standing) {
        None => RunStanding::Unreadable,
        Some(Standing::Complete) => RunStanding::Complete,
        Some(Standing::Aborted { .. }) => RunStanding::Aborted,
        Some(Standing::Paused { .. }) => RunStanding::Paused,
        Some(Standing::Going) => RunStanding::Going,
    }
}

/// The state for people, with what to do about it.
fn state(one: &Listed) -> String {
    let word = match (standing(one), one.attended) {
        (RunStanding::Going, true) => "running",
        (RunStanding::Going, false) => "unfinished, not running",
        (standing, _) => standing.as_str(),
    };
    match one.questions {
        0 => word.to_owned(),
        1 => format!("{word}, 1 question"),
        n => format!("{word}, {n} questions"),
    }
}

fn shape(one: &Listed) -> RunRow {
    let (done, total) = progress(one);
    RunRow {
        run: one.kept.id.clone(),
        workflow: one.kept.workflow.clone(),
        project: ui::path(&one.kept.project),
        standing: standing(one),
        attended: one.attended,
        begun: one.kept.begun,
        over: one.kept.over,
        items: total,
        items_done: done,
        questions: one.questions,
        permissions: one.settings.permissions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::workflow::Plan;
    use dogwatch_engine::workflow::Settings;
    use dogwatch_store::KeptRun;

    #[test]
    fn a_run_of_another_version_is_listed() {
        let kept = KeptRun {
            id: "r".into(),
            project: "/p".into(),
            workflow: "bmad".into(),
            definition: String::new(),
            plan: Plan::default(),
            settings: serde_json::Value::Null,
            begun: Timestamp::UNIX_EPOCH,
            over: None,
        };
        let one = Listed {
            kept,
            run: None,
            settings: Settings::default(),
            attended: false,
            questions: 2,
        };
        assert_eq!(state(&one), "unreadable, 2 questions");
    }
}
