//! Against a real tmux on private sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may as well end here")]

mod capture;
mod control;
mod fake;
mod input;
mod one_shot;
mod reconnect;
mod rows;
mod trouble;
mod versions;
mod window;
