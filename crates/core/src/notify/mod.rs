//! Which notification is sent where, and when: values in, values out.
//!
//! | file | decides |
//! | --- | --- |
//! | `rule` | whether a `[[notify]]` table wants an event, on which channel, and when it is due |
//! | `quiet` | quiet hours |
//! | `repeat` | how long a status that comes and goes must hold |
//! | `session` | which event a status is, and its words |
//! | `batch` | several notifications in one |
//! | `retry` | when a channel that failed is tried again |
//! | `body` | what is posted: templates, and the shapes of Slack, Discord, Telegram and ntfy |

pub mod batch;
pub mod body;
pub mod channel;
pub mod quiet;
pub mod repeat;
pub mod retry;
pub mod rule;
pub mod session;

pub use channel::{Body, Channel, Format, Post, Secret};
pub use quiet::Quiet;
pub use rule::{
    About, Facts, Filter, On, Planned, Rule, UnlessAttached, due_regardless, next_try, plan,
};
