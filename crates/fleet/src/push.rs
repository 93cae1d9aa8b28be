//! Change reports from a broker for a registry monitor.

use std::time::Duration;

use dogwatch_core::event::kind;
use dogwatch_store::Mqtt;

use super::subscription::{Subscription, Update};
use dogwatch_engine::Error;
use dogwatch_engine::observe::changes::Waker;
use dogwatch_engine::registry::push::{Heard, Push};

/// Events about the sessions of this host, from any publisher.
#[derive(Debug)]
pub struct BrokerPush {
    subscription: Subscription,
    /// Why there is no connection now.
    away: Option<String>,
}

impl BrokerPush {
    pub fn start(mqtt: &Mqtt, waker: Waker) -> Result<Self, Error> {
        let subscription = Subscription::start_waking(mqtt, &mqtt.host, move || waker.wake())?;
        let away = Some(format!("the broker {} was not reached yet", mqtt.address));
        Ok(Self { subscription, away })
    }
}

impl Push for BrokerPush {
    fn heard(&mut self) -> Heard {
        let mut news = false;
        while let Some(update) = self.subscription.next(Duration::ZERO) {
            match update {
                // Events may have been missed while disconnected.
                Update::Connected => {
                    self.away = None;
                    news = true;
                }
                Update::Lost { because } => self.away = Some(format!("the broker {because}")),
                // The monitor's own events are not changes.
                Update::Event(event) => {
                    let ours = [kind::DRIFT, kind::HEARTBEAT, kind::REQUEST];
                    news |= !ours.contains(&event.kind.as_str());
                }
            }
        }
        match &self.away {
            Some(why) => Heard::Away(why.clone()),
            None if news => Heard::News,
            None => Heard::Nothing,
        }
    }
}
