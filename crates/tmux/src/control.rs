//! Control mode: one attached client, many requests, and news from tmux.
//!
//! Theory of operation. A control client must be attached to a session, and what it is attached to
//! it influences: it counts as a client there, and gets all output of its windows. So it makes an
//! anchor session of its own (hidden by [`crate::ANCHOR_PREFIX`]) whose only pane waits in `cat`.
//! The flags `no-output` and `ignore-size` keep the client quiet and without a say in window sizes;
//! `refresh-client -C` would have one all the same and must never be sent.
//!
//! The client removes its anchor when it is dropped, and at its start those of watchers that were
//! killed. The option `destroy-unattached` looks made for this and must not be used: the server of
//! tmux 3.3a crashes, with all sessions, when the client of such a session is detached.
//!
//! While it is there, the anchor keeps the server from exiting with the user's last session. An owner
//! that sees no panes any more may drop the client.
//!
//! Users meet this client: outside tmux it is "the current client", so a `tmux switch-client` may
//! move it and a `tmux detach-client` may end it. A supervising thread moves it back or connects
//! anew, and tells so in a [`Note`]. It never starts a server.
//!
//! Layers: `quote` makes lines from commands and `proto` events from bytes, both pure;
//! `link` is one connection, `parent_death_guard` ends it with our process; `client` is what outlives connections.

mod client;
mod link;
mod look;
mod note;
mod parent_death_guard;
mod pending;
mod proto;
mod quote;
mod supervisor;

pub use client::Control;
pub use note::Note;
