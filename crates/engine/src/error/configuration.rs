use std::path::PathBuf;

use dogwatch_core::config::ConfigError;
use dogwatch_store::MqttError;

use super::kind::codes;

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    #[error("{}, {problem}", path.display())]
    BadConfig { path: PathBuf, problem: ConfigError },
    #[error(transparent)]
    Mqtt(#[from] MqttError),
}

codes! { ConfigurationError:
    Self::BadConfig { .. } | Self::Mqtt(_) => Usage "bad_config";
}

impl ConfigurationError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::BadConfig { .. } => {
                Some("correct that line; `dogwatch doctor` checks it".to_owned())
            }
            Self::Mqtt(error) => error.hint(),
        }
    }
}
