//! Several hosts: local events are published to an MQTT 5 broker, and the events of others are read from it.
//!
//! - [`Publisher`] brings the outbox to the broker, keeps the retained words on sessions and host true, and carries out what
//!   other hosts may ask;
//! - [`picture`] and [`Viewer`] put together what all hosts said;
//! - [`ask()`] asks something of another host;
//! - [`broker`] runs Mosquitto on this machine; [`doctor`] checks whichever broker is set up;
//! - [`Subscription`] is told of events as they happen, for those who would poll otherwise.
//!
//! Theory of operation. A connection that was lost is never mended: a new one is made and begins anew, with what is true then. Order and
//! completeness do not depend on the client's memory, but on the outbox: rows are sent in order, and removed when the broker has
//! confirmed them; after a break the first that is left is sent again, under the same id.
//!
//! This is the only place with a runtime. Each of the above has one of its own, on a thread of its own or while it runs, so that
//! nothing else need know of it.

mod ask;
pub mod broker;
mod carry_out;
pub mod doctor;
mod link;
mod orders;
mod probe;
mod publisher;
mod push;
mod relay;
mod state_cache;
mod subscription;
mod view;

pub use ask::ask;
pub use probe::{Probe, Trust, probe};
pub use publisher::{Host, Notice, Publisher};
pub use push::BrokerPush;
pub use subscription::{Subscription, Told};
pub use view::{Viewer, picture};
