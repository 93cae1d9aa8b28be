//! What hosts tell each other over MQTT: topics, and the payloads on them.
//!
//! Every shape has a JSON Schema in `docs/schemas`; `docs/mqtt.md` is for those who join with other tools.

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
