//! A git worktree for a session: names, the project's settings, and how its work is finished.

pub mod finish;
pub mod names;
pub mod settings;
