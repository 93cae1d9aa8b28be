//! The broker, as `dogwatch doctor` checks it.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_engine::Error;
use dogwatch_engine::doctor::{Check, Health, check, failed};
use dogwatch_engine::error::ConfigurationError;
use dogwatch_store::{Mqtt, StateDir, Store};

use crate::probe::{Probe, Trust, probe};

/// Time limit for the broker's answer.
const BROKER_PATIENCE: Duration = Duration::from_secs(3);

/// Checks the broker, if one is configured: whether it answers and accepts us, and what waits in the outbox.
pub fn broker(dir: &StateDir, mqtt: Result<Option<Mqtt>, Error>) -> Option<Check> {
    let mqtt = match mqtt {
        Ok(mqtt) => mqtt?,
        // Reported by the check of the configuration.
        Err(Error::Configuration(ConfigurationError::BadConfig { .. })) => return None,
        Err(error) => return Some(failed("broker", &error)),
    };
    let backlog =
        Store::open(dir).and_then(|store| store.backlog()).logged("read the outbox").flatten();
    let found = format!("{}, as {}", mqtt.address, mqtt.host);
    let trust = match probe(&mqtt, BROKER_PATIENCE) {
        Err(error) => return Some(failed("broker", &error)),
        Ok(Probe { problem: Some(problem), .. }) => {
            let waits = backlog.map_or(0, |backlog| backlog.waiting);
            let found = format!("{found} {problem}; {waits} events queued");
            return Some(check("broker", Health::Bad, found, Some(remedy(&problem))));
        }
        Ok(Probe { trust, .. }) => trust,
    };
    if trust != Trust::Authenticated {
        let found = match trust {
            Trust::NoLogin => format!("{found} answers; connected without user and password"),
            _ => format!("{found} answers; it may accept clients without a password"),
        };
        let remedy =
            "anyone who can connect can read all events, and orders are refused; see docs/mqtt.md";
        return Some(check("broker", Health::Missing, found, Some(remedy.to_owned())));
    }
    let found = format!("{found} answers");
    Some(match backlog {
        None => check("broker", Health::Missing, found, Some("dogwatch relay &".to_owned())),
        Some(backlog) if backlog.dropped > 0 => {
            let found =
                format!("{found}, {} events queued, {} dropped", backlog.waiting, backlog.dropped);
            check(
                "broker",
                Health::Missing,
                found,
                Some("check that the broker and `dogwatch relay` are running".to_owned()),
            )
        }
        Some(backlog) => check(
            "broker",
            Health::Good,
            format!("{found}, {} events queued", backlog.waiting),
            None,
        ),
    })
}

/// What to do about an unusable broker.
fn remedy(problem: &str) -> String {
    let remedy = if problem.contains("password") {
        "check `user` and `password_file` (or DOGWATCH_MQTT_PASSWORD) of [mqtt] in config.toml"
    } else if problem.contains("trusted") {
        "check `ca_file` of [mqtt] in config.toml and the broker's certificate"
    } else {
        "start the broker or correct `url` of [mqtt] in config.toml; `dogwatch broker` runs one here"
    };
    remedy.to_owned()
}
