//! Decisions of the drop-in, without touching anything.
//!
//! | module | decides |
//! | --- | --- |
//! | [`agents_plan`] | which agent does which task of every story, as a file |
//! | [`codex_config`], [`hook_settings`] | the stop hook in an agent's own settings |
//! | [`escalation`] | when a person has to be asked |
//! | [`presets`] | agent configurations that are kept by name |
//! | [`reading`] | what a transcript says by itself, and what a model is asked |
//! | [`selection`] | which of a list a person means |
//! | [`session`] | what callers are told of a session |

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
