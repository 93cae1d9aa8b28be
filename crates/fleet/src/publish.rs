//! Publishes one message.

use std::time::Duration;

use dogwatch_store::Mqtt;
use tokio::time::timeout;
use uuid::Uuid;

use super::link::{self, Kind, Link, Trouble};
use dogwatch_engine::Error;

/// Publishes a message and waits until the broker has confirmed it. The topic is below that of this host, unless it begins with a slash.
pub fn publish(mqtt: &Mqtt, topic: &str, payload: Vec<u8>, limit: Duration) -> Result<(), Error> {
    let topic = match topic.strip_prefix('/') {
        Some(topic) => topic.to_owned(),
        None => mqtt.topics.below_host(&mqtt.host, topic),
    };
    let send = async {
        let id = format!("dogwatch-notify-{}", Uuid::now_v7());
        let mut link = Link::open(mqtt, &id, None)?;
        link.connected().await?;
        let confirmed = link.publish_tracked(topic, payload, link::confirmed())?;
        let failed = |error: String| Trouble::new(Kind::Away, error);
        confirmed
            .wait_completion_async()
            .await
            .map_err(|error| failed(format!("does not accept it: {error}")))?;
        link.close(Duration::from_secs(1)).await;
        Ok(())
    };
    let sent = link::runtime()?.block_on(async {
        let slow = || Err(Trouble::new(Kind::Away, "does not answer in time"));
        timeout(limit, send).await.unwrap_or_else(|_| slow())
    });
    sent.map_err(|trouble| trouble.error(mqtt))
}
