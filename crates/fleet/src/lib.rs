//! Several hosts: publishes local events to an MQTT 5 broker, and reads those of other hosts from it.
//!
//! - [`Publisher`] publishes the outbox, keeps the retained states of sessions and host current, and executes what other hosts
//!   may request;
//! - [`picture`] and [`Viewer`] combine what all hosts published;
//! - [`ask()`] sends a request to another host;
//! - [`broker`] runs Mosquitto on this machine; [`doctor`] checks the configured broker;
//! - [`Subscription`] delivers events as they happen, in place of polling.
//!
//! Theory of operation. A lost connection is never repaired: a new one starts from the current state. Order and completeness
//! depend on the outbox, not on the client's memory: rows are sent in order, and removed when the broker has
//! confirmed them; after an interruption the first remaining row is sent again, under the same id.
//!
//! Only this crate uses an async runtime. Each type above has its own, on its own thread or for the duration of a call, so that
//! no other crate depends on it.

mod ask;
pub mod broker;
mod carry_out;
pub mod doctor;
mod link;
mod orders;
mod probe;
mod publish;
mod publisher;
mod push;
mod relay;
mod state_cache;
mod subscription;
mod view;

pub use ask::ask;
pub use probe::{Probe, Trust, probe};
pub use publish::publish;
pub use publisher::{Host, Notice, Publisher};
pub use push::BrokerPush;
pub use subscription::{Subscription, Update};
pub use view::{Viewer, picture};
