//! Sends a request to another host.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::fleet::{Envelope, HostStatus, Order, Picture, Presence, Reply, ReplyState};
use dogwatch_store::Mqtt;
use jiff::{SignedDuration, Timestamp};
use rumqttc::{PublishOptions, QoS};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::link::{self, Heard, Kind, Link, Trouble};
use dogwatch_engine::Error;
use dogwatch_engine::error::FleetError;

/// Time limit for the broker.
const BROKER: Duration = Duration::from_secs(10);
/// Extra time for the host's confirmation of a request that it accepted just in time.
const GRACE: Duration = Duration::from_secs(3);

/// Sends a request to a host and waits for the result: until it expires if the host does not accept it, then at most
/// `patience`.
pub fn ask(
    mqtt: &Mqtt,
    host: &str,
    order: &Order,
    expires: Duration,
    patience: Duration,
) -> Result<Reply, Error> {
    link::runtime()?.block_on(async {
        let mut asker = Asker::connect(mqtt).await?;
        asker.must_be_there(host).await?;
        asker.order(host, order, expires, patience).await
    })
}

struct Asker<'a> {
    mqtt: &'a Mqtt,
    link: Link,
    id: String,
    /// Topic for the replies.
    inbox: String,
}

impl<'a> Asker<'a> {
    async fn connect(mqtt: &'a Mqtt) -> Result<Self, Error> {
        let id = Uuid::now_v7().to_string();
        let open = Link::open(mqtt, &format!("dogwatch-ask-{id}"), None);
        let mut link = open.map_err(|trouble| trouble.error(mqtt))?;
        let deadline = Instant::now() + BROKER;
        let connected =
            timeout_at(deadline, link.connected()).await.unwrap_or_else(|_| Err(slow()));
        connected.map_err(|trouble| trouble.error(mqtt))?;
        let inbox = mqtt.topics.reply(&id);
        Ok(Self { mqtt, link, id, inbox })
    }

    /// Fails unless the host's retained status says that it is online: otherwise the request would be lost silently.
    async fn must_be_there(&mut self, host: &str) -> Result<(), Error> {
        let topics = &self.mqtt.topics;
        self.link.subscribe([
            (topics.status(host), QoS::AtMostOnce),
            (self.inbox.clone(), QoS::AtLeastOnce),
        ]);
        let deadline = Instant::now() + BROKER;
        let mut picture = Picture::default();
        loop {
            match timeout_at(deadline, self.link.next()).await {
                Err(_) => return Err(slow().error(self.mqtt)),
                Ok(Heard::Lost(trouble)) => return Err(trouble.error(self.mqtt)),
                Ok(Heard::Connected) => {}
                Ok(Heard::Subscribed) => {
                    // The broker returns this message after all its retained ones.
                    let (inbox, options) = (self.inbox.clone(), PublishOptions::at_most_once());
                    self.link.publish(inbox, b"mark".to_vec(), options);
                }
                Ok(Heard::Message(message)) => {
                    let topic = String::from_utf8_lossy(&message.topic);
                    if topic == self.inbox {
                        break;
                    }
                    picture.take_in(topics, &topic, &message.payload);
                }
            }
        }
        let status = picture.hosts.remove(host).and_then(|host| host.status);
        match status {
            Some(HostStatus { state: Presence::Online, .. }) => Ok(()),
            Some(status) => {
                let because = status.because.unwrap_or_default();
                Err(FleetError::HostGone { host: host.to_owned(), because }.into())
            }
            None => Err(FleetError::NoSuchHost { host: host.to_owned() }.into()),
        }
    }

    async fn order(
        &mut self,
        host: &str,
        order: &Order,
        expires: Duration,
        patience: Duration,
    ) -> Result<Reply, Error> {
        let (now, limit) = (Timestamp::now(), SignedDuration::try_from(expires).ok());
        let envelope = Envelope {
            id: self.id.clone(),
            from: Some(self.mqtt.host.clone()),
            issued: Some(now),
            expires: limit.and_then(|limit| now.checked_add(limit).ok()),
        };
        let mut properties = link::as_json();
        properties.response_topic = Some(self.inbox.clone());
        properties.correlation_data = Some(self.id.clone().into_bytes().into());
        properties.message_expiry_interval = u32::try_from(expires.as_secs().max(1)).ok();
        let options = PublishOptions::at_least_once().properties(properties);
        let topic = self.mqtt.topics.request(host, order.verb().as_str());
        self.link.publish(topic, link::json(&order.write(&envelope)), options);
        let begun = Instant::now();
        let (mut deadline, mut taken) = (begun + expires + GRACE, false);
        loop {
            let Some((topic, payload)) = self.next_message(deadline).await? else {
                let seconds = begun.elapsed().as_secs();
                return Err(FleetError::NoReply { host: host.to_owned(), seconds, taken }.into());
            };
            let reply = serde_json::from_slice::<Reply>(&payload).logged("read JSON");
            match reply.filter(|reply| topic == self.inbox && reply.id == self.id) {
                Some(Reply { state: ReplyState::Accepted, .. }) => {
                    taken = true;
                    deadline = begun + patience;
                }
                Some(reply) => return Ok(reply),
                None => {}
            }
        }
    }

    /// The next message, or `None` at the deadline.
    async fn next_message(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<(String, Vec<u8>)>, Error> {
        loop {
            match timeout_at(deadline, self.link.next()).await {
                Err(_) => return Ok(None),
                Ok(Heard::Lost(trouble)) => return Err(trouble.error(self.mqtt)),
                Ok(Heard::Connected | Heard::Subscribed) => {}
                Ok(Heard::Message(message)) => {
                    let topic = String::from_utf8_lossy(&message.topic).into_owned();
                    return Ok(Some((topic, message.payload.to_vec())));
                }
            }
        }
    }
}

pub(super) fn slow() -> Trouble {
    Trouble::new(Kind::Away, format!("did not answer within {} s", BROKER.as_secs()))
}
