use dogwatch_core::exit_code;
use dogwatch_core::roles;
use dogwatch_core::session_file::{Task as Kept, TaskStatus};
use dogwatch_engine::team::session_file::TeamFile;
use dogwatch_engine::team::task;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::team as printed;

use crate::args::{Task, TaskAdd, TaskCommand, TaskList, TaskStatusArg};
use crate::{environment, ui};
use dogwatch_engine::error::TeamError;

pub(crate) fn task(context: &Context, args: &Task) -> Result<u8, Error> {
    match &args.command {
        TaskCommand::Add(args) => add(context, args),
        TaskCommand::List(args) => list(args),
    }
}

fn add(context: &Context, args: &TaskAdd) -> Result<u8, Error> {
    let text =
        super::given_text::text(Some(&args.text), None, task::MOST_BYTES)?.unwrap_or_default();
    let about =
        environment::whereabouts(args.file.session_file.as_deref(), environment::project()?)?;
    let file = TeamFile::find_or_name(&about, &environment::local_time())?;
    let (id, file) = task::add(context, &file, &args.role, &text)?;
    if ui::prints_json() {
        ui::json(&printed::AddedTask { task: id.to_string(), session_file: ui::path(file.path()) });
    } else {
        ui::line(id);
    }
    Ok(exit_code::OK)
}

fn list(args: &TaskList) -> Result<u8, Error> {
    let about =
        environment::whereabouts(args.file.session_file.as_deref(), environment::project()?)?;
    let file = TeamFile::find(&about)?;
    let role = args.role.as_deref().map(roles::role).transpose();
    let role = role.map_err(TeamError::from)?;
    let status = args.status.map(|status| match status {
        TaskStatusArg::Pending => TaskStatus::Pending,
        TaskStatusArg::InProgress => TaskStatus::InProgress,
        TaskStatusArg::Done => TaskStatus::Done,
    });
    let mut tasks = task::list(&file)?;
    tasks.retain(|task| role.as_ref().is_none_or(|role| *role == task.role));
    tasks.retain(|task| status.is_none() || task.status == status);
    if ui::prints_json() {
        let tasks = tasks.iter().map(shape).collect();
        ui::json(&printed::Tasks { session_file: ui::path(file.path()), tasks });
    } else if tasks.is_empty() {
        ui::talk("no tasks; to add one: dogwatch task add --role dev '…'");
    } else {
        let mut table = ui::table(&["TASK", "STATUS", "ROLE", "PANE", "RESULT", "TEXT"]);
        for task in &tasks {
            table.row([
                task.id.to_string().into(),
                task.status.map_or("other", TaskStatus::as_str).into(),
                task.role.as_str().into(),
                task.pane.as_deref().unwrap_or_default().into(),
                task.result.as_deref().unwrap_or_default().into(),
                ui::harmless(task.title().to_owned()).into(),
            ]);
        }
        ui::line(table);
    }
    Ok(exit_code::OK)
}

pub(super) fn shape(task: &Kept) -> printed::Task {
    printed::Task {
        task: task.id.to_string(),
        status: task.status.map(|status| status.as_str().to_owned()),
        role: task.role.clone(),
        pane: task.pane.clone(),
        result: task.result.clone(),
        text: task.text.clone(),
    }
}
