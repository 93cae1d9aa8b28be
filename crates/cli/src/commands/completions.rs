use std::io::Write as _;

use dogwatch_core::exit_code;
use dogwatch_engine::Error;

use crate::args::Completions;
use crate::complete;

/// Prints the script that a shell loads.
pub(crate) fn completions(args: &Completions) -> Result<u8, Error> {
    let script = complete::script(args.shell.as_str());
    script
        .and_then(|script| std::io::stdout().write_all(&script))
        .map_err(Error::io("write the result"))?;
    Ok(exit_code::OK)
}
