//! Control mode: one attached client, many requests, and notifications from tmux.
//!
//! Theory of operation. A control client must be attached to a session, and influences that session: it counts as a
//! client there, and gets all output of its windows. So it creates its own
//! anchor session (hidden by [`crate::ANCHOR_PREFIX`]) whose only pane waits in `cat`.
//! The flags `no-output` and `ignore-size` keep the client quiet and without influence on window sizes;
//! `refresh-client -C` would override that and must never be sent.
//!
//! The client removes its anchor when it is dropped, and at its start those of watchers that were
//! killed. The option `destroy-unattached` must not be used for this: the server of
//! tmux 3.3a crashes, with all sessions, when the client of such a session is detached.
//!
//! While it exists, the anchor keeps the server from exiting with the user's last session. An owner
//! that sees no more panes may drop the client.
//!
//! Users can affect this client: outside tmux it is "the current client", so a `tmux switch-client` may
//! move it and a `tmux detach-client` may end it. A supervising thread moves it back or
//! reconnects, and reports it in a [`Note`]. It never starts a server.
//!
//! Layers: `quote` makes lines from commands and `proto` events from bytes, both pure;
//! `link` is one connection, `parent_death_guard` ends it with our process; `client` spans connections.

mod client;
mod link;
mod look;
mod note;
mod parent_death_guard;
mod pending;
mod proto;
mod supervisor;

pub use client::Control;
pub use note::Note;
