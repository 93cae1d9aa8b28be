use std::net::SocketAddr;
use std::path::PathBuf;

use dogwatch_core::fleet::SpawnRefused;
use dogwatch_store::LocalBrokerError;

use super::kind::{BAD_ARGUMENT, codes};

/// Why a broker or another host cannot be used, or another host's request is refused.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("the broker {broker} {problem}")]
    Broker { broker: String, problem: String },
    #[error("the broker {broker} {problem}")]
    BrokerRefused { broker: String, problem: String },
    #[error("another dogwatch already publishes the events of this state directory")]
    AlreadyRelayed,
    #[error("no host {host:?} on the broker")]
    NoSuchHost { host: String },
    #[error("host {host} is offline: {because}")]
    HostGone { host: String, because: String },
    #[error("host {host} did not answer within {seconds} s")]
    NoReply { host: String, seconds: u64, taken: bool },
    /// For a request of another host.
    #[error("{because}")]
    OrderRefused { because: SpawnRefused },
    #[error(transparent)]
    LocalBroker(LocalBrokerError),
    #[error("{path:?} is not an absolute path")]
    NotAbsolute { path: String },
    #[error("a model's name cannot begin with a dash")]
    BadModel,
    #[error(
        "{listen} is reachable from other machines; set `user` and a password in [mqtt] of config.toml first, or listen on 127.0.0.1"
    )]
    OpenToOthers { listen: SocketAddr },
    #[error("Mosquitto does not support the path {}; use another --state-dir", path.display())]
    BadBrokerPath { path: PathBuf },
    #[error("Mosquitto cannot take user name or password of {user:?}: a colon in it")]
    BadBrokerUser { user: String },
}

codes! { FleetError:
    Self::Broker { .. } => Unavailable "broker";
    Self::BrokerRefused { .. } => Unavailable "broker_refused";
    Self::AlreadyRelayed => Conflict "already_relayed";
    Self::NoSuchHost { .. } => NotFound "no_such_host";
    Self::HostGone { .. } => Unavailable "host_gone";
    Self::NoReply { .. } => Timeout "no_reply";
    Self::OrderRefused { .. } => Refused "order_refused";
    Self::LocalBroker(LocalBrokerError::Runs(_)) => Conflict "broker_runs";
    // Errors of the store and of the configuration are separate (`From<LocalBrokerError>`); this is a bad path.
    Self::LocalBroker(_) => Usage "broker_failed";
    Self::NotAbsolute { .. }
    | Self::BadModel
    | Self::OpenToOthers { .. }
    | Self::BadBrokerPath { .. }
    | Self::BadBrokerUser { .. } => Usage BAD_ARGUMENT;
}

impl FleetError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::BrokerRefused { .. } => {
                "check `user` and `password_file` (or DOGWATCH_MQTT_PASSWORD) of [mqtt] in config.toml".into()
            }
            Self::Broker { .. } => {
                "check that the broker is running; `dogwatch broker` runs one on this machine".into()
            }
            Self::NoSuchHost { .. } | Self::HostGone { .. } => {
                "`dogwatch fleet` lists the hosts; `dogwatch relay` publishes this one".into()
            }
            Self::NoReply { taken: true, .. } => {
                "the host has accepted the order and is still carrying it out; `dogwatch fleet` shows its sessions".into()
            }
            Self::NoReply { .. } => "the order has expired; `dogwatch fleet` lists the hosts".into(),
            _ => return None,
        })
    }
}
