use std::path::PathBuf;
use std::time::Duration;

use dogwatch_core::notice::Notice;

use super::{Sink, command};

/// Publishes the notification to the configured broker, by a process of our own: what speaks MQTT is above this crate, and a client
/// is not needed by anything else here.
pub(super) struct Mqtt {
    pub(super) dogwatch: PathBuf,
    pub(super) state: PathBuf,
    pub(super) topic: String,
}

impl Sink for Mqtt {
    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let json = serde_json::to_vec(notice).map_err(|error| error.to_string())?;
        let (dogwatch, state) = (self.dogwatch.to_string_lossy(), self.state.to_string_lossy());
        let words = [&dogwatch, "--state-dir", &state, "notify", "publish", "--topic", &self.topic];
        command::run(&words.map(ToOwned::to_owned), &[], &json, limit)
    }
}
