//! The actor as a process: in panes of a private tmux server, or on plain pipes.

#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking, too")]

mod children;
mod demos;
mod hooks;
mod input;
mod library;
mod lifetime;
mod pane;
mod screen;
mod script;
