//! An MQTT broker in this process, for one machine or a small team.
//!
//! rumqttd has a server a version of the protocol, each with a port of its own. People expect one port, so a gate of ours
//! listens there, reads the version from a client's first bytes and joins it with the server that speaks it. The servers
//! listen on loopback, on ports that the system picks.
//!
//! Nobody is let in without a password, on loopback neither. Clients of ours come through a socket in the state directory
//! ([`LocalBroker`]), with a password that was made for them.

mod guard;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use dogwatch_store::{LOCAL_USER, LocalBroker, Mqtt, Secret};
use rumqttd::protocol::Protocol;
use rumqttd::protocol::v4::V4;
use rumqttd::protocol::v5::V5;
use rumqttd::{ConnectionSettings, LinkType, Router, RouterConfig, Server, ServerSettings};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::time::timeout;

use crate::Error;
use guard::Guarded;

/// How long a client may take to say which version it speaks.
const FIRST_BYTES: Duration = Duration::from_secs(5);
const MOST_CONNECTIONS: usize = 1000;
const MOST_BYTES: usize = 1024 * 1024;
/// As many retained messages are told at once to a new subscriber.
const MOST_RETAINED: u64 = 100_000;

/// Runs a broker until the process ends. `ready` is called once it listens.
pub fn run(
    listen: SocketAddr,
    mqtt: Option<&Mqtt>,
    local: &LocalBroker,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let named = mqtt.and_then(credentials);
    if named.is_none() && !listen.ip().is_loopback() {
        let problem = format!(
            "other machines could talk to a broker on {listen}; set `user` and a password in [mqtt] of config.toml first, or listen on 127.0.0.1"
        );
        return Err(Error::BadArgument { problem });
    }
    let (password, _lock) = local.take(&new_password())?;
    let own = (LOCAL_USER.to_owned(), password.reveal().to_owned());
    let auth: HashMap<String, String> = named.into_iter().chain([own]).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Error::io("start a runtime"))?.block_on(serve(listen, auth, local, ready))
}

/// What the configuration names. An empty password is none.
fn credentials(mqtt: &Mqtt) -> Option<(String, String)> {
    let password = mqtt.password.as_ref().map(Secret::reveal).filter(|word| !word.is_empty())?;
    Some((mqtt.user.clone()?, password.to_owned()))
}

/// 244 random bits.
fn new_password() -> String {
    [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|part| part.simple().to_string()).concat()
}

async fn serve(
    listen: SocketAddr,
    auth: HashMap<String, String>,
    local: &LocalBroker,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let action = format!("listen on {listen}");
    let gate = TcpListener::bind(listen).await.map_err(Error::io(action.clone()))?;
    let address = gate.local_addr().map_err(Error::io(action))?;
    let socket = local.socket();
    let door = UnixListener::bind(&socket)
        .map_err(Error::io(format!("listen on {}", socket.display())))?;
    local.note(address)?;
    let router = Router::new(
        0,
        RouterConfig {
            max_connections: MOST_CONNECTIONS,
            max_outgoing_packet_count: MOST_RETAINED,
            max_segment_size: 16 * MOST_BYTES,
            max_segment_count: 4,
            ..RouterConfig::default()
        },
    );
    // Its thread is taken for granted there.
    crate::program::thread_to_be_had().map_err(Error::io("start a thread"))?;
    let router = router.spawn();
    let v4 = free_port().await?;
    let v5 = free_port().await?;
    let mut server_4 =
        Server::new(settings("v4", v4, auth.clone()), router.clone(), Guarded::plain(V4));
    let mut server_5 = Server::new(settings("v5", v5, auth), router, Guarded::rich(V5));
    ready(address);
    tokio::select! {
        ended = start(&mut server_4) => ended,
        ended = start(&mut server_5) => ended,
        () = let_in(&gate, v4, v5) => Ok(()),
        () = let_own_in(&door, v4, v5) => Ok(()),
    }
}

async fn start<P: Protocol + Clone + Send + 'static>(server: &mut Server<P>) -> Result<(), Error> {
    let ended = server.start(LinkType::Remote).await;
    ended.map_err(|error| Error::io("run the broker")(std::io::Error::other(error.to_string())))
}

/// The system picks one, and gives it out to nobody else for a while.
async fn free_port() -> Result<SocketAddr, Error> {
    let action = "find a free port on loopback";
    let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(Error::io(action))?;
    probe.local_addr().map_err(Error::io(action))
}

fn settings(name: &str, listen: SocketAddr, auth: HashMap<String, String>) -> ServerSettings {
    ServerSettings {
        name: name.to_owned(),
        listen,
        tls: None,
        next_connection_delay_ms: 1,
        connections: ConnectionSettings {
            connection_timeout_ms: 5000,
            max_payload_size: MOST_BYTES,
            max_inflight_count: 100,
            auth: Some(auth),
            external_auth: None,
            dynamic_filters: true,
        },
    }
}

async fn let_in(gate: &TcpListener, v4: SocketAddr, v5: SocketAddr) {
    loop {
        match gate.accept().await {
            Ok((client, _)) => {
                let _ = client.set_nodelay(true);
                drop(tokio::spawn(join(client, v4, v5)));
            }
            // Out of handles, say: that passes.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn let_own_in(door: &UnixListener, v4: SocketAddr, v5: SocketAddr) {
    loop {
        match door.accept().await {
            Ok((client, _)) => drop(tokio::spawn(join(client, v4, v5))),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Joins a client with the server that speaks its version. Any failure ends the connection, which says enough.
async fn join(mut client: impl AsyncRead + AsyncWrite + Unpin, v4: SocketAddr, v5: SocketAddr) {
    let mut head = Vec::new();
    let Ok(Some(version)) = timeout(FIRST_BYTES, version(&mut client, &mut head)).await else {
        return;
    };
    let address = if version >= 5 { v5 } else { v4 };
    let Ok(mut server) = TcpStream::connect(address).await else { return };
    let _ = server.set_nodelay(true);
    if server.write_all(&head).await.is_ok() {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// Reads as far as the version; what was read is kept for the server.
async fn version(client: &mut (impl AsyncRead + Unpin), head: &mut Vec<u8>) -> Option<u8> {
    loop {
        match read_version(head) {
            Hello::Version(version) => return Some(version),
            Hello::SomethingElse => return None,
            Hello::Unfinished => {}
        }
        if client.read_buf(head).await.ok()? == 0 {
            return None;
        }
    }
}

/// The beginning of a connection.
#[derive(Debug, PartialEq, Eq)]
enum Hello {
    Unfinished,
    Version(u8),
    /// No CONNECT packet.
    SomethingElse,
}

fn read_version(head: &[u8]) -> Hello {
    const CONNECT: u8 = 0x10;
    match head.first() {
        None => return Hello::Unfinished,
        Some(&CONNECT) => {}
        Some(_) => return Hello::SomethingElse,
    }
    // The length of the rest has one to four bytes, all but the last with the high bit set.
    let rest = match head.iter().skip(1).take(4).position(|byte| byte & 0x80 == 0) {
        Some(end) => &head[end + 2..],
        None if head.len() < 5 => return Hello::Unfinished,
        None => return Hello::SomethingElse,
    };
    let Some(&[high, low]) = rest.first_chunk::<2>() else { return Hello::Unfinished };
    let name = usize::from(u16::from_be_bytes([high, low]));
    // "MQTT", or "MQIsdp" before 3.1.1.
    if name > 6 {
        return Hello::SomethingElse;
    }
    rest.get(2 + name).map_or(Hello::Unfinished, |version| Hello::Version(*version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let v5 = [0x10, 16, 0, 4, b'M', b'Q', b'T', b'T', 5, 2];
        for cut in 0..9 {
            assert_eq!(read_version(&v5[..cut]), Hello::Unfinished, "{cut}");
        }
        assert_eq!(read_version(&v5), Hello::Version(5));
        let long = [0x10, 0x90, 0x01, 0, 4, b'M', b'Q', b'T', b'T', 4];
        assert_eq!(read_version(&long), Hello::Version(4));
        let bad: [&[u8]; 3] =
            [b"GET / HTTP/1.1\r\n", &[0x10, 0xff, 0xff, 0xff, 0xff, 0xff], &[0x10, 16, 9, 9, 9]];
        for bytes in bad {
            assert_eq!(read_version(bytes), Hello::SomethingElse, "{bytes:?}");
        }
    }
}
