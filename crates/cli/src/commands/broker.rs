use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dogwatch_engine::{Context, Error};

use crate::args::Broker;

pub(crate) fn broker(context: &Context, args: &Broker) -> Result<u8, Error> {
    let mqtt = crate::environment::mqtt(context)?;
    let local = dogwatch_store::LocalBroker::of(&context.state);
    let password = local.password_file();
    let ready = |address| {
        crate::ui::talk(format_args!("Mosquitto is listening on {address}; Ctrl-C stops it"));
        crate::ui::talk(format_args!(
            "dogwatch on this machine connects automatically; other clients: user {}, password in {}",
            dogwatch_store::LOCAL_USER,
            password.display()
        ));
    };
    let configured = mqtt.as_ref().and_then(|mqtt| {
        let plain = !mqtt.address.tls;
        plain.then(|| on_loopback(&mqtt.address.host, mqtt.address.port)).flatten()
    });
    let listen = args.listen.or(configured).unwrap_or(USUAL);
    match dogwatch_fleet::broker::run(listen, mqtt.as_ref(), &local, ready)? {}
}

const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1883);

/// The configured address of the broker, if it is on this machine only.
fn on_loopback(host: &str, port: u16) -> Option<SocketAddr> {
    let host = if host == "localhost" { "127.0.0.1" } else { host };
    let ip: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
    ip.is_loopback().then_some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broker_listens_where_local_clients_connect() {
        for (host, listen) in [
            ("127.0.0.1", Some("127.0.0.1:18")),
            ("localhost", Some("127.0.0.1:18")),
            ("::1", Some("[::1]:18")),
            ("[::1]", Some("[::1]:18")),
            ("0.0.0.0", None),
            ("192.0.2.1", None),
            ("broker.example", None),
        ] {
            let found = on_loopback(host, 18).map(|address| address.to_string());
            assert_eq!(found.as_deref(), listen, "{host}");
        }
    }
}
