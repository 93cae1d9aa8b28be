//! What rumqttd 0.20 takes for impossible, and a client can bring about all the same. Each of these would be a panic, and with
//! it the end of the broker for everybody.

use bytes::BytesMut;
use rumqttd::protocol::{Error, LastWill, Packet, Protocol, Publish};

/// A version of the protocol with a guard before it.
#[derive(Debug, Clone)]
pub(super) struct Guarded<P> {
    inner: P,
    /// The version knows no properties: a message that came with them goes out without.
    is_plain: bool,
}

impl<P> Guarded<P> {
    pub(super) fn plain(inner: P) -> Self {
        Self { inner, is_plain: true }
    }

    pub(super) fn rich(inner: P) -> Self {
        Self { inner, is_plain: false }
    }
}

impl<P: Protocol> Protocol for Guarded<P> {
    fn read_mut(&mut self, stream: &mut BytesMut, max_size: usize) -> Result<Packet, Error> {
        match stream.first() {
            Some(&first) if !is_from_client(first >> 4) => Err(Error::InvalidPacketType(first)),
            _ => match self.inner.read_mut(stream, max_size)? {
                // The router clears the flag, and the host could not tell any more that it was there.
                Packet::Publish(Publish { retain: true, topic, payload, .. }, _)
                    if is_order(&topic, &payload) =>
                {
                    Err(Error::InvalidPacketType(PUBLISH_RETAINED))
                }
                Packet::Connect(
                    _,
                    _,
                    Some(LastWill { retain: true, topic, message, .. }),
                    _,
                    _,
                ) if is_order(&topic, &message) => Err(Error::InvalidPacketType(PUBLISH_RETAINED)),
                packet => Ok(packet),
            },
        }
    }

    fn write(&self, packet: Packet, write: &mut BytesMut) -> Result<usize, Error> {
        let packet = if self.is_plain { without_properties(packet) } else { packet };
        self.inner.write(packet, write)
    }
}

const PUBLISH_RETAINED: u8 = 0x31;

/// An order to a host. Retained, it would be given anew to whoever subscribes later; an empty payload clears one that is.
fn is_order(topic: &[u8], payload: &[u8]) -> bool {
    let mut levels = topic.rsplit(|byte| *byte == b'/');
    !payload.is_empty() && levels.nth(1) == Some(b"request")
}

/// CONNECT, PUBLISH and what belongs to it, SUBSCRIBE, UNSUBSCRIBE, PINGREQ, DISCONNECT.
fn is_from_client(packet_type: u8) -> bool {
    matches!(packet_type, 1 | 3..=8 | 10 | 12 | 14)
}

fn without_properties(packet: Packet) -> Packet {
    match packet {
        Packet::Publish(packet, _) => Packet::Publish(packet, None),
        Packet::PubAck(packet, _) => Packet::PubAck(packet, None),
        Packet::SubAck(packet, _) => Packet::SubAck(packet, None),
        Packet::PubRec(packet, _) => Packet::PubRec(packet, None),
        Packet::PubRel(packet, _) => Packet::PubRel(packet, None),
        Packet::PubComp(packet, _) => Packet::PubComp(packet, None),
        Packet::UnsubAck(packet, _) => Packet::UnsubAck(packet, None),
        Packet::Disconnect(packet, _) => Packet::Disconnect(packet, None),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rumqttd::protocol::PublishProperties;
    use rumqttd::protocol::v4::V4;
    use rumqttd::protocol::v5::V5;

    #[test]
    fn a_message_with_properties_goes_to_old_clients_too() {
        let publish = Publish::new("t", "hello", false);
        let packet = Packet::Publish(publish, Some(PublishProperties::default()));
        let mut out = BytesMut::new();
        assert!(Guarded::plain(V4).write(packet, &mut out).is_ok());
        assert!(out.ends_with(b"hello"));
    }

    #[test]
    fn orders_are_not_retained() {
        let table = [
            ("dogwatch/desk/request/kill", "{}", true, false),
            ("team/x/desk/request/kill", "{}", true, false),
            ("dogwatch/desk/request/kill", "", true, true),
            ("dogwatch/desk/request/kill", "{}", false, true),
            ("dogwatch/desk/status", "{}", true, true),
        ];
        for (topic, payload, retain, is_taken) in table {
            let packet = Packet::Publish(Publish::new(topic, payload, retain), None);
            let mut bytes = BytesMut::new();
            let _ = V4.write(packet, &mut bytes).unwrap();
            let read = Guarded::plain(V4).read_mut(&mut bytes, 1024);
            assert_eq!(read.is_ok(), is_taken, "{topic} {payload:?} {retain}: {read:?}");
        }
    }

    #[test]
    fn packets_that_only_a_broker_sends_are_refused() {
        for first in 0..=255_u8 {
            let bytes = [first, 2, 0, 1];
            let mut v4 = BytesMut::from(&bytes[..]);
            let mut v5 = v4.clone();
            let _ = Guarded::plain(V4).read_mut(&mut v4, 1024);
            let _ = Guarded::rich(V5).read_mut(&mut v5, 1024);
        }
    }
}
