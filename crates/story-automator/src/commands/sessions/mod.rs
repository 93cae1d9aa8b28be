//! Sessions: start, list, check, wait, end. `crate::decide::session` decides the answers.

mod heartbeat;
mod here;
mod list_sessions;
mod monitor;
mod status_check;
mod tmux_wrapper;

use crate::Verb;

pub(crate) const VERBS: &[Verb] = &[
    Verb { name: "list-sessions", answer: list_sessions::answer },
    Verb { name: "tmux-wrapper", answer: tmux_wrapper::answer },
    Verb { name: "heartbeat-check", answer: heartbeat::answer },
    Verb { name: "codex-status-check", answer: status_check::codex },
    Verb { name: "tmux-status-check", answer: status_check::claude },
    Verb { name: "monitor-session", answer: monitor::answer },
];
