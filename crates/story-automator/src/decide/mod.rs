//! Decisions of the drop-in, without side effects.
//!
//! | module | decides |
//! | --- | --- |
//! | [`agents_plan`] | the agents of all tasks of every story, as a file |
//! | [`codex_config`], [`hook_settings`] | the stop hook in an agent's own settings |
//! | [`escalation`] | when to ask a person |
//! | [`presets`] | named agent configurations |
//! | [`reading`] | what a transcript proves by itself, and the question to a model |
//! | [`selection`] | which entries of a list a person chose |
//! | [`session`] | the answers about a session |

pub mod agents_plan;
pub mod codex_config;
pub mod escalation;
pub mod hook_settings;
pub mod presets;
pub mod reading;
pub mod selection;
pub mod session;

#[cfg(test)]
mod any_text_tests;
