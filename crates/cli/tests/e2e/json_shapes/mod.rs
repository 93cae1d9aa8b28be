//! The JSON of every command as it is today, key by key: scripts rely on it, so it may grow, and nothing else.
//!
//! What differs from run to run and what is written for people is replaced by a word ([`shape`]); keys, their order and types are not.

/// Compares a text with the one that is stored under that name.
macro_rules! stored {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!($name, $text);
        })
    };
}

/// Compares what a command printed with the stored shape of that name.
macro_rules! shape {
    ($name:expr, $output:expr) => {
        stored!($name, $crate::json_shapes::shape::of(&$output))
    };
}

pub(crate) mod shape;

mod errors;
mod files;
mod messages;
mod questions;
mod registry;
mod sessions;
mod stories;
mod streams;
mod teams;
mod tools;
mod worktrees;
