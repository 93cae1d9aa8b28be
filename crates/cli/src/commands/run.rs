use std::path::PathBuf;

use dogwatch_core::exit_code;
use dogwatch_engine::{Error, runner};

use crate::args::Run;
use crate::environment;

pub(crate) fn run(args: &Run, state_dir: Option<PathBuf>) -> Result<u8, Error> {
    let state = environment::state_dir(state_dir)?;
    if args.startup {
        runner::watch_start(&state, args.session.as_str());
        return Ok(exit_code::OK);
    }
    Ok(runner::run(&state, args.session.as_str())?)
}
