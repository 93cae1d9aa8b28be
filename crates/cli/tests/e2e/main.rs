//! The command line from end to end: the real binary, a real tmux on a private socket, real processes.
//!
//! One file a verb or theme. `env` is the world a test lives in, `output` what a command said.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on ends here")]
#![expect(clippy::print_stderr, reason = "a test has no other way to say why it was skipped")]

mod agents;
mod arguments;
mod attach;
mod bad_input;
mod bug_report;
mod builds;
mod capture;
mod completions;
mod crash_proof;
mod crowd;
mod debug_screen;
mod demo;
mod disk;
mod doctor;
mod environment;
mod escalations;
mod events;
mod exists;
mod exit_codes;
mod family;
mod gc;
mod growth;
mod hook;
mod hostile_files;
mod interrupted;
mod job_control;
mod json_shapes;
mod kanban;
mod kill;
mod kill_all;
mod launchers;
mod limits;
mod logging;
mod mistaken;
mod monitor;
mod names;
mod nested;
mod panes;
mod places;
mod prompt;
mod registry;
mod registry_closed;
mod registry_crowd;
mod runner;
mod secrets;
mod send;
mod servers;
mod session_file;
mod sinks;
mod sources;
mod spawn;
mod status;
mod statusline;
mod store;
mod stories;
mod story_automator;
mod story_checks;
mod terminal;
mod tmux_versions;
mod tortured;
mod watch;
mod witnesses;
mod workflows;
