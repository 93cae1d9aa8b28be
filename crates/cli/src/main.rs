//! dogwatch supervises AI coding agents in tmux and reports what each one is really doing.
//!
//! This crate is the front end: arguments, texts, tables and exit codes. It makes no decisions and does not
//! call tmux itself.

mod args;
mod commands;
mod complete;
mod environment;
mod interrupt;
mod logging;
mod report;
mod screen;
mod table;
mod ui;
mod usage;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(words) = dogwatch_story_automator::called(&words) {
        return dogwatch_story_automator::main(words);
    }
    if let Some(code) = commands::hook::called(&words) {
        return code;
    }
    if complete::answered(&words) {
        return ExitCode::SUCCESS;
    }
    let args = args::Args::read(words);
    // The runner begins by itself: it has the session's environment, not that of the one who made the session.
    if !matches!(args.command, args::Command::Run(_)) {
        logging::begin(args.command.logs_to_file(), args.state_dir.as_deref());
    }
    ui::print_json(args.json);
    let json = args.wants_json();
    match commands::run(args) {
        Ok(code) => code,
        Err(error) => report::failure(&error, json),
    }
}
