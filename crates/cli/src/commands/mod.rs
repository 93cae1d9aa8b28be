//! One file per command.

mod adopt;
mod agent;
mod agents;
mod agents_verify;
mod answer;
mod archive;
mod attach;
mod broker;
mod budget;
mod bug_report;
mod capture;
mod completions;
mod create;
mod debug;
mod delete;
mod demo;
mod diff;
mod doctor;
mod escalations;
mod events;
mod exists;
mod finish;
mod fleet;
mod gc;
mod given_text;
pub(crate) mod hook;
mod in_tmux;
mod install_skill;
mod job;
mod kill;
mod kill_all;
mod limits;
mod ls;
mod man;
mod mcp;
mod messages;
mod monitor;
mod notify;
mod pane;
mod pr;
mod reconcile;
mod registry;
mod relay;
mod rename;
mod report;
mod resume;
mod rules;
mod run;
mod schema;
mod search;
mod send;
mod spawn;
mod status;
mod story;
mod supervisor;
mod tag;
mod task;
mod team;
mod top;
mod trust;
mod usage;
mod wait;
mod watch;
mod why;

use std::process::ExitCode;

use dogwatch_engine::Error;
use dogwatch_engine::actions::collect;

use crate::args::{
    Agents, AgentsVerb, Args, Command, Debug, DebugCommand, Lab, LabTool, Mcp, Next,
};
use crate::environment;

/// Runs the command and returns the exit code.
pub(crate) fn run(args: Args) -> Result<ExitCode, Error> {
    match args.command {
        Command::Lab(Lab { tool }) => lab(tool),
        _ => carry_out(args).map(ExitCode::from),
    }
}

/// The tools of the laboratory need no state directory.
fn lab(tool: LabTool) -> Result<ExitCode, Error> {
    match tool {
        LabTool::Actor { args } => Ok(dogwatch_actor::main(&["lab", "actor"], args)),
        LabTool::Verify { folder } => agents_verify::laboratory(&folder).map(ExitCode::from),
        LabTool::Matrix { docs, files } => {
            agents_verify::matrix(docs.as_deref(), &files).map(ExitCode::from)
        }
    }
}

fn carry_out(args: Args) -> Result<u8, Error> {
    // These need no state directory: tmux calls the first, and the demo has its own.
    let command = match args.command {
        Command::Run(run) => return run::run(&run, args.state_dir),
        Command::Demo(_) => return demo::demo(),
        Command::Completions(args) => return completions::completions(&args),
        Command::Man(args) => return man::man(&args),
        Command::Schema(args) => return schema::schema(&args),
        Command::Judge(screen) => return debug::screen(&screen),
        Command::Debug(Debug { command: DebugCommand::Screen(screen) }) => {
            return debug::screen(&screen);
        }
        command => command,
    };
    if matches!(command, Command::Mcp(_)) {
        mcp::complete_environment();
    }
    let context = environment::context(args.socket.as_deref(), args.state_dir);
    if matches!(command, Command::Doctor(_)) {
        return Ok(doctor::doctor(&context));
    }
    let context = context?;
    // Cleaned up here, so that reading commands need not act.
    collect::handovers(&context);
    match command {
        Command::Spawn(args) => spawn::spawn(&context, *args),
        Command::Ls(args) => ls::ls(&context, &args),
        Command::Diff(args) => diff::diff(&context, &args),
        Command::Finish(args) => finish::finish(&context, &args),
        Command::Pr(args) => pr::pr(&context, &args),
        Command::Trust(args) => trust::trust(&context, &args),
        Command::Untrust(args) => trust::untrust(&context, &args),
        Command::Popup(args) => in_tmux::popup(&context, &args),
        Command::Sidebar(args) => in_tmux::sidebar(&context, &args),
        Command::TmuxStatus(args) => in_tmux::status(&context, &args),
        Command::Top(args) => top::top(&context, &args),
        Command::Status(args) => status::status(&context, &args),
        Command::Send(args) => send::send(&context, &args),
        Command::Deliver(args) => Ok(supervisor::deliver(&context, &args)),
        Command::Supervisor(args) => supervisor::supervisor(&context, &args),
        Command::Answer(args) => answer::answer(&context, &args),
        Command::Rules(args) => rules::rules(&context, &args),
        Command::Messages(args) => messages::messages(&context, &args),
        Command::Job(args) => job::job(&context, &args),
        Command::Escalations(args) => escalations::escalations(&context, &args),
        Command::Notify(args) => notify::notify(&context, &args),
        Command::Create(args) => create::create(&context, *args),
        Command::Resume(args) => resume::resume(&context, &args),
        Command::Delete(args) => delete::delete(&context, &args),
        Command::Adopt(args) => adopt::adopt(&context, &args),
        Command::Registry(args) => registry::registry(&context, &args),
        Command::Reconcile(args) => reconcile::reconcile(&context, &args),
        Command::Monitor(args) => monitor::monitor(&context, &args),
        Command::Team(args) => team::team(&context, &args),
        Command::Pane(args) => pane::pane(&context, args),
        Command::Agent(args) => agent::agent(&context, &args),
        Command::Task(args) => task::task(&context, &args),
        Command::Story(args) => story::story(&context, &args),
        Command::Wait(args) => wait::wait(&context, &args),
        Command::Watch(args) => watch::watch(&context, &args),
        Command::Events(args) => events::events(&context, &args),
        Command::Usage(args) => usage::usage(&context, &args),
        Command::Budget(args) => budget::budget(&context, &args),
        Command::Report(args) => report::report(&context, &args),
        Command::Relay(args) => relay::relay(&context, &args),
        Command::Fleet(args) => fleet::fleet(&context, args),
        Command::Broker(args) => broker::broker(&context, &args),
        Command::InstallSkill(args) => install_skill::install_skill(&context, &args),
        Command::Mcp(Mcp {}) => mcp::mcp(context),
        Command::Why(args) => why::why(&context, &args),
        Command::BugReport(args) => bug_report::bug_report(&context, &args),
        Command::Capture(args) => capture::capture(&context, &args),
        Command::Attach(args) => attach::attach(&context, &args),
        Command::Next(Next {}) => attach::next(&context),
        Command::Kill(args) => kill::kill(&context, &args),
        Command::KillAll(args) => kill_all::kill_all(&context, &args),
        Command::Exists(args) => exists::exists(&context, &args),
        Command::Search(args) => search::search(&context, &args),
        Command::Limits(args) => limits::limits(&context, &args),
        Command::Tag(args) => tag::tag(&context, &args),
        Command::Rename(args) => rename::rename(&context, &args),
        Command::Archive(args) => archive::archive(&context, &args),
        Command::Unarchive(args) => archive::unarchive(&context, &args),
        Command::Gc(args) => gc::gc(&context, &args),
        Command::Agents(Agents { verb: Some(AgentsVerb::Verify(args)), .. }) => {
            agents_verify::verify(&context, &args)
        }
        Command::Agents(_) => Ok(agents::agents(&context)),
        Command::Run(_)
        | Command::Lab(_)
        | Command::Demo(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Schema(_)
        | Command::Judge(_)
        | Command::Debug(_)
        | Command::Doctor(_) => {
            unreachable!("invariant: these were carried out above")
        }
    }
}
