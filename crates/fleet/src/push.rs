//! Word from a broker for whoever looks after a registry.

use std::time::Duration;

use dogwatch_core::event::kind;
use dogwatch_store::Mqtt;

use super::subscription::{Subscription, Told};
use dogwatch_engine::Error;
use dogwatch_engine::observe::changes::Waker;
use dogwatch_engine::registry::push::{Heard, Push};

/// What is told of the sessions of this host, by whomever.
#[derive(Debug)]
pub struct BrokerPush {
    subscription: Subscription,
    /// Why nothing is heard right now.
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
        while let Some(told) = self.subscription.next(Duration::ZERO) {
            match told {
                // What happened meanwhile nobody told us.
                Told::Connected => {
                    self.away = None;
                    news = true;
                }
                Told::Lost { because } => self.away = Some(format!("the broker {because}")),
                // What we found ourselves is no news to us.
                Told::Event(event) => {
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
