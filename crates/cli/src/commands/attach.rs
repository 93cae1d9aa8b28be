use dogwatch_core::exit_code;
use dogwatch_engine::actions::attach;
use dogwatch_engine::observe::status;
use dogwatch_engine::{Context, Error};

use crate::args::Attach;
use crate::environment;

pub(crate) fn attach(context: &Context, args: &Attach) -> Result<u8, Error> {
    let Some(target) = &args.session else { return next(context) };
    let seen = status::shown(context, target)?;
    attach::attach(context, &seen, environment::tmux_around().as_deref())?;
    Ok(exit_code::OK)
}

/// Attaches to the session that needs a person most.
pub(crate) fn next(context: &Context) -> Result<u8, Error> {
    let seen = attach::next(context, environment::own_pane(context))?;
    attach::attach(context, &seen, environment::tmux_around().as_deref())?;
    Ok(exit_code::OK)
}
