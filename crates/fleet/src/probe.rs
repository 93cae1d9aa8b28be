//! Probes a broker: whether it answers, accepts us, and accepts clients without a password.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_store::Mqtt;
use tokio::time::timeout;
use uuid::Uuid;

use super::link::{self, Kind, Link, Login, Trouble};
use dogwatch_engine::Error;

/// Time limit for the connection without a password.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Why the broker is not usable.
    pub problem: Option<String>,
    /// Which clients it accepts, as far as known.
    pub trust: Trust,
}

/// Whether a broker authenticates its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It accepted our password, and accepts no client without one.
    Authenticated,
    /// We use no user and password ourselves.
    NoLogin,
    /// It accepts clients without a password.
    Anonymous,
    /// Could not be determined.
    Unknown,
}

impl Trust {
    /// Why requests over such a broker are refused.
    pub fn objection(self) -> Option<&'static str> {
        match self {
            Self::Authenticated => None,
            Self::NoLogin => Some(
                "this host is not authenticated at its broker; set `user` and `password_file` in [mqtt] of its config.toml",
            ),
            Self::Anonymous => Some(
                "its broker accepts clients without a password, so anyone could have sent the order",
            ),
            Self::Unknown => Some(
                "dogwatch could not check whether its broker accepts clients without a password",
            ),
        }
    }
}

/// Connects once, within a time limit.
pub fn probe(mqtt: &Mqtt, patience: Duration) -> Result<Probe, Error> {
    link::runtime()?.block_on(async {
        let slow = || {
            let seconds = patience.as_secs();
            Trouble::new(Kind::Away, format!("did not answer within {seconds} s"))
        };
        let taken = async {
            let id = format!("dogwatch-probe-{}", Uuid::now_v7());
            let mut link = Link::open(mqtt, &id, None)?;
            link.connected().await?;
            link.close(Duration::from_millis(200)).await;
            Ok(())
        };
        let taken = timeout(patience, taken).await.unwrap_or_else(|_| Err(slow()));
        let problem = taken.err().map(|trouble: Trouble| trouble.to_string());
        let trust = match problem {
            Some(_) => Trust::Unknown,
            None => trust(mqtt).await,
        };
        Ok(Probe { problem, trust })
    })
}

/// Determines the trust in a broker that has just accepted us.
pub(super) async fn trust(mqtt: &Mqtt) -> Trust {
    let Some(route) = mqtt.route().logged("find the way to the broker") else {
        return Trust::Unknown;
    };
    match (route.login, route.socket) {
        (None, _) => return Trust::NoLogin,
        // Our own broker accepts no client without a password.
        (Some(_), Some(_)) => return Trust::Authenticated,
        (Some(_), None) => {}
    }
    let id = format!("dogwatch-probe-{}", Uuid::now_v7());
    let Some(mut stranger) =
        Link::open_as(mqtt, &id, None, Login::Anonymous).logged("connect without a password")
    else {
        return Trust::Unknown;
    };
    match timeout(PATIENCE, stranger.connected()).await {
        Ok(Ok(())) => {
            stranger.close(Duration::from_millis(200)).await;
            Trust::Anonymous
        }
        Ok(Err(Trouble { kind: Kind::Refused | Kind::HungUp, .. })) => Trust::Authenticated,
        Ok(Err(_)) | Err(_) => Trust::Unknown,
    }
}
