//! One connection to a broker, from opening to loss.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_store::Mqtt;
use rumqttc::{
    AsyncClient, Broker, ConnectReturnCode, ConnectionError, DisconnectReasonCode, Event, LastWill,
    MqttOptions, NetworkOptions, Packet, Publish, PublishNotice, PublishOptions, PublishProperties,
    QoS, StateError, SubscribeFilterInput, default_socket_connect,
};
use rustls::pki_types::ServerName;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use dogwatch_engine::Error;
use dogwatch_engine::error::FleetError;
use dogwatch_engine::notify::tls;

/// Much longer than a reachable broker needs.
const CONNECT: Duration = Duration::from_secs(5);
/// Seconds. Either side notices a dead connection after at most one and a half times as long.
const KEEP_ALIVE: u16 = 15;
const MOST_BYTES: u32 = 1024 * 1024;

/// Why a connection failed or was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) problem: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not reachable; may come back at any moment.
    Away,
    /// The broker refused us, and will again.
    Refused,
    /// The broker's identity is wrong or cannot be verified.
    Tls,
    /// The broker closed the connection before accepting us: some refuse a password that way.
    HungUp,
}

impl Kind {
    /// Retrying soon would not help.
    pub(super) fn is_lasting(self) -> bool {
        matches!(self, Self::Refused | Self::Tls)
    }
}

/// Which credentials to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Login {
    Ours,
    /// No user and password, to test whether the broker accepts that.
    Anonymous,
}

impl Trouble {
    pub(super) fn new(kind: Kind, problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), kind }
    }

    pub(super) fn error(self, mqtt: &Mqtt) -> Error {
        let (broker, problem) = (mqtt.address.to_string(), self.problem);
        match self.kind {
            Kind::Refused => FleetError::BrokerRefused { broker, problem }.into(),
            _ => FleetError::Broker { broker, problem }.into(),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

#[derive(Debug)]
pub(super) enum Heard {
    Connected,
    /// The broker confirmed our subscriptions. Messages published before may overtake them: the client sends in two queues.
    Subscribed,
    Message(Box<Publish>),
    Lost(Trouble),
}

#[derive(Debug)]
pub(super) struct Link {
    client: AsyncClient,
    heard: UnboundedReceiver<Heard>,
    reader: JoinHandle<()>,
}

impl Link {
    /// Starts to connect; must be called within a runtime.
    pub(super) fn open(mqtt: &Mqtt, id: &str, will: Option<LastWill>) -> Result<Self, Trouble> {
        Self::open_as(mqtt, id, will, Login::Ours)
    }

    pub(super) fn open_as(
        mqtt: &Mqtt,
        id: &str,
        will: Option<LastWill>,
        login: Login,
    ) -> Result<Self, Trouble> {
        let options = options(mqtt, id, will, login)?;
        if mqtt.address.host.parse::<IpAddr>().is_err() {
            // The runtime resolves names on a thread of its own, and panics if it cannot start one.
            dogwatch_base::program::ensure_thread_available().map_err(|error| {
                Trouble::new(
                    Kind::Away,
                    format!("cannot be looked up: cannot start a thread: {error}"),
                )
            })?;
        }
        let (client, mut eventloop) = AsyncClient::builder(options).unbounded().build();
        let (sender, heard) = unbounded_channel();
        // A separate task: cancelling a poll would restart the connection.
        let reader = tokio::spawn(async move {
            let mut was_taken = false;
            loop {
                let heard = match eventloop.poll().await {
                    Ok(Event::Incoming(Packet::ConnAck(_))) => {
                        was_taken = true;
                        Heard::Connected
                    }
                    Ok(Event::Incoming(Packet::SubAck(_))) => Heard::Subscribed,
                    Ok(Event::Incoming(Packet::Publish(publish))) => {
                        Heard::Message(Box::new(publish))
                    }
                    Ok(_) => continue,
                    Err(error) => Heard::Lost(explain(&error, was_taken)),
                };
                let is_last = matches!(heard, Heard::Lost(_));
                if sender.send(heard).is_err() || is_last {
                    return;
                }
            }
        });
        Ok(Self { client, heard, reader })
    }

    pub(super) async fn next(&mut self) -> Heard {
        let lost = || Heard::Lost(Trouble::new(Kind::Away, "closed the connection"));
        self.heard.recv().await.unwrap_or_else(lost)
    }

    /// Waits until the broker has accepted us.
    pub(super) async fn connected(&mut self) -> Result<(), Trouble> {
        loop {
            match self.next().await {
                Heard::Connected => return Ok(()),
                Heard::Lost(trouble) => return Err(trouble),
                Heard::Subscribed | Heard::Message(_) => {}
            }
        }
    }

    /// Subscribes. A failure to send shows as a lost connection soon after.
    pub(super) fn subscribe(&self, filters: impl IntoIterator<Item = (String, QoS)>) {
        // Keeps the retain flag also on messages that are forwarded live.
        let filters = filters
            .into_iter()
            .map(|(path, qos)| SubscribeFilterInput::new(path, qos).preserve_retain(true));
        self.client.try_subscribe_many(filters).logged("subscribe");
    }

    pub(super) fn publish(&self, topic: String, payload: Vec<u8>, options: PublishOptions) {
        self.client.try_publish(topic, payload, options).logged("publish");
    }

    /// The same, and returns a handle to the broker's confirmation.
    pub(super) fn publish_tracked(
        &self,
        topic: String,
        payload: Vec<u8>,
        options: PublishOptions,
    ) -> Result<PublishNotice, Trouble> {
        let sent = self.client.try_publish_tracked(topic, payload, options);
        sent.map_err(|error| Trouble::new(Kind::Away, error.to_string()))
    }

    /// Disconnects after everything sent was confirmed, so that the broker does not publish the last will.
    pub(super) async fn close(mut self, patience: Duration) {
        if self.client.try_disconnect_with_timeout(patience).is_ok() {
            let drained = async { while !matches!(self.next().await, Heard::Lost(_)) {} };
            let _ = tokio::time::timeout(patience, drained).await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

pub(super) fn runtime() -> Result<Runtime, Error> {
    let built = Builder::new_current_thread().enable_io().enable_time().build();
    built.map_err(Error::io("start a runtime"))
}

/// QoS 1, JSON.
pub(super) fn confirmed() -> PublishOptions {
    PublishOptions::at_least_once().properties(as_json())
}

pub(super) fn as_json() -> PublishProperties {
    PublishProperties {
        payload_format_indicator: Some(1),
        content_type: Some("application/json".to_owned()),
        ..PublishProperties::default()
    }
}

pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).logged("write JSON").unwrap_or_default()
}

fn options(
    mqtt: &Mqtt,
    id: &str,
    will: Option<LastWill>,
    login: Login,
) -> Result<MqttOptions, Trouble> {
    let address = &mqtt.address;
    let route = mqtt
        .route()
        .map_err(|error| Trouble::new(Kind::Refused, format!("cannot be used: {error}")))?;
    let is_local = route.socket.is_some();
    let broker = match route.socket {
        Some(socket) => Broker::unix(socket),
        None => Broker::tcp(address.host.clone(), address.port),
    };
    let mut options = MqttOptions::new(id, broker);
    let mut network = NetworkOptions::new();
    network.set_tcp_nodelay(true);
    options
        .set_keep_alive(KEEP_ALIVE)
        .set_clean_start(true)
        .set_connect_timeout(CONNECT)
        .set_max_packet_size(Some(MOST_BYTES))
        .set_network_options(network);
    if let Some(will) = will {
        options.set_last_will(will);
    }
    if let Some((user, password)) = route.login.filter(|_| login == Login::Ours) {
        options.set_credentials(user, password.reveal().to_owned());
    }
    if address.tls && !is_local {
        encrypt(&mut options, mqtt)?;
    }
    Ok(options)
}

/// TLS is configured here and not by rumqttc: see the workspace's Cargo.toml.
fn encrypt(options: &mut MqttOptions, mqtt: &Mqtt) -> Result<(), Trouble> {
    let untrusted =
        |problem: String| Trouble::new(Kind::Tls, format!("cannot be trusted: {problem}"));
    let config = tls::for_broker(mqtt.ca_file.as_deref()).map_err(untrusted)?;
    let name = mqtt.address.host.trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(name).map_err(|error| untrusted(error.to_string()))?;
    options.set_socket_connector(move |host, network| {
        let (tls, name) = (TlsConnector::from(Arc::clone(&config)), name.clone());
        async move { tls.connect(name, default_socket_connect(host, network).await?).await }
    });
    Ok(())
}

fn explain(error: &ConnectionError, was_taken: bool) -> Trouble {
    let (kind, problem) = match error {
        ConnectionError::Io(error) => match certificate(error) {
            Some(problem) => (Kind::Tls, problem),
            None => (Kind::Away, format!("cannot be reached: {error}")),
        },
        ConnectionError::Timeout(_) => {
            (Kind::Away, format!("did not answer within {} s", CONNECT.as_secs()))
        }
        ConnectionError::ConnectionRefused(code)
        | ConnectionError::MqttState(StateError::ConnFail { reason: code }) => refusal(*code),
        ConnectionError::MqttState(StateError::ServerDisconnect {
            reason_code: DisconnectReasonCode::SessionTakenOver,
            ..
        }) => (
            Kind::Refused,
            "disconnected us because another client has the same id; check that no two hosts have the same name".to_owned(),
        ),
        // Some brokers refuse by closing the connection.
        ConnectionError::MqttState(StateError::ConnectionAborted | StateError::Io(_))
            if !was_taken =>
        {
            let problem = "closed the connection during login; check user and password";
            (Kind::HungUp, problem.to_owned())
        }
        ConnectionError::MqttState(StateError::ConnectionAborted) => {
            (Kind::Away, "closed the connection".to_owned())
        }
        other => (Kind::Away, format!("disconnected: {other}")),
    };
    Trouble::new(kind, problem)
}

fn refusal(code: ConnectReturnCode) -> (Kind, String) {
    match code {
        ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized => {
            (Kind::Refused, "refused the connection: wrong user name or password".to_owned())
        }
        ConnectReturnCode::UnsupportedProtocolVersion
        | ConnectReturnCode::RefusedProtocolVersion => {
            (Kind::Refused, "does not speak MQTT 5".to_owned())
        }
        other => (Kind::Away, format!("refused the connection: {other:?}")),
    }
}

/// rustls's complaint about the certificate, if that is the cause.
fn certificate(error: &std::io::Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(format!("cannot be trusted: {inner}"))
}
