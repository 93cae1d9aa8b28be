//! Events, MQTT and the fleet from end to end: the real binary, a real Mosquitto on a port of the test's own, real processes.
//!
//! `./test` installs Mosquitto; where it is missing the tests say so and pass, unless `DOGWATCH_REQUIRE_MOSQUITTO` is set, as
//! `./test` does.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod mosquitto;
mod relay;

mod broker;
mod delivery;
mod fleet;
mod notify;
mod orders;
mod presence;
mod subscription;
mod trust;
