//! What hosts exchange over MQTT: topics and payloads.
//!
//! Every payload has a JSON Schema (`dogwatch schema NAME`); `docs/mqtt.md` describes them for other tools.

mod order;
mod pace;
mod picture;
#[cfg(test)]
mod schema_tests;
mod terms;
mod topics;

pub use dogwatch_protocol::fleet::{
    HostStatus, Kill, Presence, Reply, ReplyState, Send, SessionState, Spawn, Verb,
};
pub use order::{Envelope, Order, OrderError};
pub use pace::Pace;
pub use picture::{HostPicture, Picture};
pub use terms::{SpawnRefused, SpawnTerms, Stale, freshness};
pub use topics::{Place, TopicError, Topics, session_level};
