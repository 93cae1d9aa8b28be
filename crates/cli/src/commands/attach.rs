use dogwatch_core::exit_code;
use dogwatch_engine::actions::attach;
use dogwatch_engine::observe::status;
use dogwatch_engine::{Context, Error};

use crate::args::Attach;
use crate::environment;

pub(crate) fn attach(context: &Context, args: &Attach) -> Result<u8, Error> {
    let seen = status::shown(context, &args.session)?;
    attach::attach(context, &seen, environment::tmux_around().as_deref())?;
    Ok(exit_code::OK)
}
