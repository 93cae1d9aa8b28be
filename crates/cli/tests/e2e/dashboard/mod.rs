//! The dashboard on a real terminal, in a real tmux.

mod actions;
mod hardship;
mod in_tmux;
mod queue;
mod terminal;
mod views;
