use dogwatch_base::log::Logged as _;
use dogwatch_core::exit_code;
use dogwatch_core::window::Side;
use dogwatch_engine::actions::spawn::What;
use dogwatch_engine::team::pane::{
    self, Balanced, CloseRequest, Closed, Expected, Handed, HowClosed,
};
use dogwatch_engine::team::pane::{SpawnRequest, SpawnedPane, TaskFor};
use dogwatch_engine::team::session_file::TeamFile;
use dogwatch_engine::team::task;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::team::{self as printed, PaneCheck};
use dogwatch_tmux::PaneId;

use crate::args::{Pane, PaneClose, PaneCommand, PaneRebalance, PaneSpawn, PaneVerify, SideArg};
use crate::usage::UsageError;
use crate::{environment, ui};

/// The default agent.
const USUAL_AGENT: &str = "claude";

pub(crate) fn pane(context: &Context, args: Pane) -> Result<u8, Error> {
    match args.command {
        PaneCommand::Spawn(args) => spawn(context, *args),
        PaneCommand::Verify(args) => verify(context, &args),
        PaneCommand::Rebalance(args) => rebalance(context, &args),
        PaneCommand::Close(args) => close(context, &args),
    }
}

fn spawn(context: &Context, args: PaneSpawn) -> Result<u8, Error> {
    let as_json = ui::prints_json();
    let request = spawn_request(context, args)?;
    let made = pane::spawn(context, &request, &environment::local_time())?;
    for warning in &made.warnings {
        ui::talk(format_args!("warning: {warning}"));
    }
    if as_json {
        ui::json(&spawned_shape(&made));
    } else {
        ui::line(made.spawned.pane);
    }
    Ok(exit_code::OK)
}

fn spawn_request(context: &Context, args: PaneSpawn) -> Result<SpawnRequest, Error> {
    let here = environment::current_dir()?;
    let project = environment::project_of(&here);
    let cwd = args.cwd.map_or_else(|| project.clone(), |dir| here.join(dir));
    let cwd = cwd.canonicalize().unwrap_or(cwd);
    let about = environment::whereabouts(args.file.session_file.as_deref(), project.clone())?;
    let text =
        super::given_text::text(args.task.as_deref(), args.task_file.as_deref(), task::MOST_BYTES)?;
    let task = match (text, &args.task_id) {
        (Some(text), _) => Some(TaskFor::New(text)),
        (None, Some(id)) => Some(TaskFor::Kept(super::agent::task_id(id)?)),
        (None, None) => None,
    };
    let what = match args.agent {
        Some(name) => What::Agent { name, extra_args: args.args },
        None if args.args.is_empty() => {
            What::Agent { name: USUAL_AGENT.to_owned(), extra_args: Vec::new() }
        }
        None => What::Command(args.args),
    };
    Ok(SpawnRequest {
        role: args.role,
        what,
        task,
        file: TeamFile::find_or_name(&about, &environment::local_time())?,
        master: args.master.as_deref().map(|target| pane::pane_of(context, target)).transpose()?,
        spawner: environment::own_pane(context),
        own_session: environment::own_session(),
        side: args.side.map(side),
        name: args.name,
        project,
        cwd,
        model: args.model,
        unattended: args.unattended,
        env: super::spawn::variables(&args.env)?,
        caller_env: std::env::vars_os().collect(),
        ready: args.ready,
    })
}

fn side(side: SideArg) -> Side {
    match side {
        SideArg::Left => Side::Left,
        SideArg::Right => Side::Right,
        SideArg::Top => Side::Top,
        SideArg::Bottom => Side::Bottom,
    }
}

fn verify(context: &Context, args: &PaneVerify) -> Result<u8, Error> {
    let expected = Expected { session: args.session.clone(), window: args.window.clone() };
    let found = pane::verify(context, &args.target, &expected)?;
    match &found {
        _ if ui::prints_json() => ui::json(&match &found {
            Ok(valid) => PaneCheck::Valid {
                valid: true,
                pane: valid.pane.to_string(),
                session: valid.session.clone(),
                window: valid.window.clone(),
                title: valid.title.clone(),
            },
            Err(reason) => PaneCheck::Invalid {
                valid: false,
                target: args.target.clone(),
                reason: reason.clone(),
            },
        }),
        Ok(valid) => {
            let (pane, session, window) = (valid.pane, &valid.session, &valid.window);
            let title = ui::harmless(valid.title.clone());
            ui::line(format_args!("VALID: {pane} {session} {window} {title}"));
        }
        Err(reason) => ui::line(format_args!("INVALID: {reason}")),
    }
    Ok(if found.is_ok() { exit_code::OK } else { exit_code::FAILED })
}

fn rebalance(context: &Context, args: &PaneRebalance) -> Result<u8, Error> {
    let master = match (&args.master, environment::own_pane(context)) {
        (Some(target), _) => pane::pane_of(context, target)?,
        (None, Some(own)) => pane::master_of(context, own)?,
        (None, None) => return Err(UsageError::NoMaster.into()),
    };
    let balanced = pane::rebalance(context, master, args.side.map(side))?;
    if ui::prints_json() {
        ui::json(&layout(&balanced));
    } else {
        let Balanced { master, side, panes, .. } = balanced;
        let side = side.as_str();
        let word = if balanced.is_proven { "" } else { "not " };
        ui::line(format_args!("{word}balanced: {panes} panes, {master} on the {side}"));
    }
    Ok(if balanced.is_proven { exit_code::OK } else { exit_code::FAILED })
}

fn close(context: &Context, args: &PaneClose) -> Result<u8, Error> {
    let about =
        environment::whereabouts(args.file.session_file.as_deref(), environment::project()?)?;
    let file = TeamFile::find(&about).logged("read the session file");
    let own_session = environment::own_session();
    let own_pane: Option<PaneId> = environment::own_pane(context);
    let closed = pane::close(
        context,
        &CloseRequest {
            target: &args.target,
            force: args.force,
            own_pane,
            own_session: own_session.as_deref(),
            file: file.as_ref(),
        },
    )?;
    if ui::prints_json() {
        ui::json(&closed_shape(&closed));
    } else {
        let role = closed.role.as_ref().map(|role| format!(" {role}")).unwrap_or_default();
        let how = match &closed.how {
            HowClosed::Gone => "already gone".to_owned(),
            HowClosed::Exit(killed) => {
                let exit = killed.ended.as_ref().map(|ended| ui::exit(ended.exit));
                format!("exited cleanly ({})", exit.unwrap_or_default())
            }
            HowClosed::Ended(killed) => super::kill::words(killed),
        };
        ui::line(format_args!("{}{role}: closed, {how}", closed.pane));
    }
    Ok(exit_code::OK)
}

fn spawned_shape(made: &SpawnedPane) -> printed::SpawnedPane {
    printed::SpawnedPane {
        spawned: super::spawn::shape(&made.spawned),
        role: made.role.clone(),
        master: made.master.to_string(),
        spawner: made.spawner.to_string(),
        session_file: ui::path(&made.file),
        task: made.task.map(|id| id.to_string()),
        told: match made.handed {
            Handed::Message(proof) => printed::Handed::Message { proof },
            Handed::Prompt => printed::Handed::Prompt,
        },
        layout: layout(&made.balanced),
        tries: made.tries,
        warnings: made.warnings.clone(),
    }
}

fn layout(balanced: &Balanced) -> printed::Layout {
    printed::Layout {
        master: balanced.master.to_string(),
        side: balanced.side.as_str().to_owned(),
        panes: balanced.panes,
        proven: balanced.is_proven,
    }
}

fn closed_shape(closed: &Closed) -> printed::ClosedPane {
    let (by, killed) = match &closed.how {
        HowClosed::Gone => ("gone", None),
        HowClosed::Exit(killed) => ("exit", Some(killed)),
        HowClosed::Ended(killed) => (killed.by.as_str(), Some(killed)),
    };
    printed::ClosedPane {
        pane: closed.pane.clone(),
        role: closed.role.clone(),
        by: by.to_owned(),
        exit: killed.and_then(|killed| killed.ended.as_ref()).map(|ended| ended.exit),
        session_file: closed.file.as_deref().map(ui::path),
        layout: closed.balanced.as_ref().map(layout),
    }
}
