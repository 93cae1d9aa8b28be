use std::path::PathBuf;

use dogwatch_engine::{Error, runner};
use dogwatch_store::StateDir;

use crate::args::Run;
use crate::environment;

pub(crate) fn run(args: &Run, state_dir: Option<PathBuf>) -> Result<u8, Error> {
    let xdg = environment::path_variable("XDG_STATE_HOME");
    let root = StateDir::locate(state_dir, xdg, environment::home())?;
    let state = StateDir::open(&root)?;
    Ok(runner::run(&state, &args.session)?)
}
