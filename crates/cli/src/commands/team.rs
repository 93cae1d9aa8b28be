use dogwatch_base::log::Logged as _;
use dogwatch_core::exit_code;
use dogwatch_core::session_file::TaskStatus;
use dogwatch_engine::observe::listing;
use dogwatch_engine::team::pane;
use dogwatch_engine::team::session_file::TeamFile;
use dogwatch_engine::team::{self, Member};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::team as printed;
use dogwatch_tmux::PaneId;

use crate::args::Team;
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn team(context: &Context, args: &Team) -> Result<u8, Error> {
    let pane = window(context, args)?;
    let about =
        environment::whereabouts(args.file.session_file.as_deref(), environment::project()?)?;
    let file = TeamFile::find(&about).logged("read the session file");
    let team = team::team(context, pane, file.as_ref())?;
    if ui::prints_json() {
        ui::json(&shape(&team));
        return Ok(exit_code::OK);
    }
    let mut table =
        ui::table(&["ROLE", "PANE", "NAME", "AGENT", "STATE", "TASK", "CLOSING", "DETAIL"]);
    for member in &team.members {
        let current = member.status.as_ref();
        let session = current.map(|one| &one.seen.session);
        let status = current.map(|one| &one.verdict.status);
        table.row([
            member.role.as_deref().unwrap_or("-").into(),
            member.pane.as_str().into(),
            session.map_or("-", |session| session.name.as_str()).into(),
            session.map_or("-", |session| session.agent.as_str()).into(),
            status.map_or_else(|| "-".into(), super::status::state),
            task(member).into(),
            member.lifecycle.as_ref().map_or("", |row| row.status.as_str()).into(),
            ui::harmless(status.map(super::status::detail).unwrap_or_default()).into(),
        ]);
    }
    ui::line(table);
    if let Some(problem) = &team.problem {
        ui::talk(format_args!("note: {problem}"));
    }
    Ok(exit_code::OK)
}

/// A pane in the team's window.
fn window(context: &Context, args: &Team) -> Result<PaneId, Error> {
    if let Some(target) = &args.target {
        return pane::pane_of(context, target);
    }
    if let Some(own) = environment::own_pane(context) {
        return Ok(own);
    }
    let masters = team::masters(context, &environment::project()?)?;
    match masters.as_slice() {
        [one] => Ok(*one),
        [] => Err(UsageError::NoTeam.into()),
        many => {
            let shown: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(UsageError::SeveralTeams { masters: shown.join(", ") }.into())
        }
    }
}

fn task(member: &Member) -> String {
    let Some(task) = &member.task else { return String::new() };
    format!("{} {}", task.id, task.status.map_or("other", TaskStatus::as_str))
}

fn shape(team: &team::Team) -> printed::Team {
    printed::Team {
        window: team.window.clone(),
        master: team.master.to_string(),
        session_file: team.file.as_deref().map(ui::path),
        problem: team.problem.clone(),
        members: team.members.iter().map(member).collect(),
    }
}

fn member(member: &Member) -> printed::Member {
    let closing = member.lifecycle.as_ref().map(|row| printed::Closing {
        status: row.status.as_str().to_owned(),
        report_back_sent: row.boxes.report_back_sent,
        session_id_saved: row.boxes.session_id_saved,
        task_marked_done: row.boxes.task_marked_done,
        ready_to_close_set: row.boxes.ready_to_close_set,
    });
    printed::Member {
        role: member.role.clone(),
        pane: member.pane.clone(),
        session: member.status.as_ref().map(listing::report),
        task: member.task.as_ref().map(super::task::shape),
        closing,
    }
}
