//! A loopback stand-in for hosted model APIs, driven by a scenario file.
//!
//! Real agents run against it with no network and no credentials. A request becomes
//! [`facts::Facts`], [`choose`](mod@choose) turns those and the [`scenario::Scenario`] into a
//! [`reply::Answer`], and the [`dialect::Dialect`] that read the request writes the answer. All of
//! that is pure; the server around it only waits and sends.

pub mod agents;
pub mod choose;
mod control;
pub mod dialect;
mod double;
pub mod facts;
mod gates;
pub mod homes;
mod log;
pub mod parent;
pub mod reply;
pub mod scenario;
mod server;
pub mod tools;

pub use double::{ModelDouble, Options};
pub use gates::GateReport;
pub use log::{Outcome, Question, Request};
pub use scenario::{Scenario, ScenarioError};
