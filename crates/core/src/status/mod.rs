//! What an agent is doing, and why we think so.
//!
//! - [`evidence`]: what was found out, source by source;
//! - [`payload`], [`hooks`], [`backlog`], [`rollout`], [`own_word`]: how the raw words of agents become evidence;
//! - [`judge`](mod@judge): the rules, one table in order of authority;
//! - [`testimony`]: what a screen is worth as evidence.
//!
//! The verdict names the source that decided and what every other source said, so that it can be
//! explained, disputed and replayed.

pub mod backlog;
pub mod evidence;
mod explain;
pub mod hooks;
pub mod judge;
pub mod payload;
pub mod rollout;
pub mod self_report;
mod signs;
pub mod testimony;
pub mod trust;
mod weigh;
mod words;

#[cfg(test)]
mod old_versions_tests;

pub use dogwatch_protocol::status::Need as WaitFor;
pub use dogwatch_protocol::status::{Basis, Reason, Role, Source, Status, Verdict};
pub use evidence::Evidence;
pub use explain::agrees;
pub use judge::judge;
pub use words::detail;
