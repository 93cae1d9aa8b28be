//! The terminal dashboard: one queue of what needs you.
//!
//! A pure core: [`model`] has rows, their order and the selection, [`keys`] says what each key does, [`view`] draws a frame from
//! the state. Thin edges around it: the terminal, the watcher that feeds it, and the actions, each on a thread of its own.

mod edge;
pub mod keys;
pub mod model;
pub mod text;
pub mod view;

pub use edge::{Options, run};
