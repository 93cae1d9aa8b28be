//! `dogwatch broker`, with Mosquitto's clients and our own.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use crate::env::{TestEnv, eventually};
use crate::mosquitto::{self, Sub, free_port, publish};
use crate::relay::{Relay, configure};

fn broker(env: &TestEnv, port: u16) -> Relay {
    let listen = format!("127.0.0.1:{port}");
    let broker = Relay::start_with(env, &["broker", "--listen", &listen], &[]);
    broker.says("a broker listens");
    eventually("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    broker
}

#[test]
fn it_serves_everybody() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let port = free_port();
    configure(&env, port, "desk", "[fleet]\nallow = ['kill']");
    let first = broker(&env, port);
    let relay = Relay::start(&env);
    relay.says("publishing");
    // Old clients and new ones, on one port.
    let [old, new] = ["311", "5"].map(|v| Sub::start(&env, port, "dogwatch/#", &["-V", v]));
    let is_online =
        |m: &mosquitto::Message| m.topic == "dogwatch/desk/status" && m.json()["state"] == "online";
    old.hears("the host", is_online);
    new.hears("the host", is_online);
    env.spawn_script("one", "exec sleep 300");
    for sub in [&old, &new] {
        sub.hears("the state", |m| {
            m.topic == "dogwatch/desk/session/one/state" && m.json()["status"]["state"] == "working"
        });
    }
    publish(&env, port, "dogwatch/note", "hello", &[]);
    old.hears("what a new client said", |m| m.payload == "hello");
    // Nobody can end it for all with bytes that make no sense.
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0x10, 0xff, 0xff, 0xff, 0xff],
        &[0xf0, 2, 0, 0],
        &[0x20, 2, 0, 0],
    ] {
        TcpStream::connect(("127.0.0.1", port)).unwrap().write_all(bytes).unwrap();
    }
    let table = env.dogwatch(&["fleet"]).success().text();
    assert!(table.contains("one") && table.contains("working"), "{table}");
    // It keeps nothing: after a restart the host says it all again.
    first.killed();
    let second = broker(&env, port);
    eventually("the host is back", || env.dogwatch(&["fleet"]).text().contains("working"));
    let _ = env.dogwatch(&["fleet", "kill", "desk/one"]).success();
    relay.killed();
    eventually("its last will", || env.dogwatch(&["fleet"]).text().contains("gone"));
    second.killed();
}

#[test]
fn it_wants_a_password_where_there_is_one_and_does_not_open_up_without() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let port = free_port();
    configure(&env, port, "desk", "");
    let open = env.dogwatch(&["broker", "--listen", "0.0.0.0:0"]).code(2);
    assert!(open.stderr.contains("anybody could talk"), "{}", open.stderr);
    let password = env.home().join(".config/dogwatch/password");
    std::fs::write(&password, "hunter2").unwrap();
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).unwrap();
    configure(&env, port, "desk", "user = 'me'\npassword_file = 'password'");
    let broker = broker(&env, port);
    assert!(env.dogwatch(&["fleet"]).success().stderr.contains("no hosts"));
    std::fs::write(&password, "wrong").unwrap();
    let refused = env.dogwatch(&["fleet"]).code(1);
    assert!(refused.stderr.contains("are user name and password right?"), "{}", refused.stderr);
    let port_text = port.to_string();
    let mut anonymous = env.foreign("mosquitto_pub");
    anonymous.args(["-h", "127.0.0.1", "-p", &port_text, "-t", "x", "-m", "y"]);
    assert_ne!(env.run(&mut anonymous).code, Some(0));
    broker.killed();
}
