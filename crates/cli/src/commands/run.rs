use std::path::PathBuf;

use dogwatch_engine::{Error, runner};

use crate::args::Run;
use crate::environment;

pub(crate) fn run(args: &Run, state_dir: Option<PathBuf>) -> Result<u8, Error> {
    let state = environment::state_dir(state_dir)?;
    Ok(runner::run(&state, args.session.as_str())?)
}
