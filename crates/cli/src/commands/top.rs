use std::io::{self, IsTerminal as _};

use dogwatch_core::exit_code;
use dogwatch_dashboard::Options;
use dogwatch_engine::{Context, Error};

use crate::args::{Args, StatusArgs, Top};
use crate::{environment, ui};

/// The dashboard; without a terminal, what each session is doing.
pub(crate) fn top(context: &Context, args: &Top) -> Result<u8, Error> {
    if ui::prints_json() || !ui::stdout_is_terminal() || !io::stdin().is_terminal() {
        let status = StatusArgs {
            sessions: Vec::new(),
            watch: false,
            waiting: false,
            states: Vec::new(),
            agents: Vec::new(),
            tags: Vec::new(),
            project: None,
            project_only: args.project_only,
            all: false,
            archived: false,
        };
        return super::status::status(context, &status);
    }
    dogwatch_dashboard::run(context, options(args)?)?;
    Ok(exit_code::OK)
}

fn options(args: &Top) -> Result<Options, Error> {
    let here = environment::current_dir()?;
    Ok(Options {
        around: environment::tmux_around(),
        project: environment::project_of(&here),
        here,
        only_project: args.project_only,
        commands: commands(),
        has_colours: environment::has_colours(),
        filter: args.filter.join(" "),
        has_mouse: args.mouse,
        popup: args.once.clone(),
        sidebar: args.beside.then(environment::own_pane_id).flatten(),
    })
}

/// Every command with its help text.
fn commands() -> Vec<(String, String)> {
    let whole = Args::whole();
    let listed = whole.get_subcommands().filter(|part| !part.is_hide_set());
    let about = |part: &clap::Command| part.get_about().map(ToString::to_string);
    listed.map(|part| (part.get_name().to_owned(), about(part).unwrap_or_default())).collect()
}
