//! `actor FILE`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    dogwatch_actor::main(&[], std::env::args_os().skip(1))
}
