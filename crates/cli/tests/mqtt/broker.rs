//! `dogwatch broker`, with Mosquitto's clients and our own.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use dogwatch_testkit::{TestEnv, eventually};

use crate::mosquitto::{self, Sub, free_port, publish};
use crate::relay::{Relay, configure, write_config};

fn broker(env: &TestEnv, port: u16) -> Relay {
    let listen = format!("127.0.0.1:{port}");
    let broker = Relay::start_with(env, &["broker", "--listen", &listen], &[]);
    broker.says("is listening on");
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
    eventually("its last will", || env.dogwatch(&["fleet"]).text().contains("offline"));
    second.killed();
}

#[test]
fn it_wants_a_password_where_there_is_one_and_does_not_open_up_without() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let port = free_port();
    write_config(&env, &format!("[mqtt]\nurl = 'mqtt://127.0.0.1:{port}'"));
    let open = env.dogwatch(&["broker", "--listen", "0.0.0.0:0"]).code(2);
    assert!(open.stderr.contains("is reachable from other machines"), "{}", open.stderr);
    let password = env.home().join(".config/dogwatch/password");
    std::fs::write(&password, "hunter2").unwrap();
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).unwrap();
    configure(&env, port, "desk", "user = 'me'\npassword_file = 'password'");
    let broker = broker(&env, port);
    assert!(env.dogwatch(&["fleet"]).success().stderr.contains("no hosts"));
    std::fs::write(&password, "wrong").unwrap();
    let refused = env.dogwatch(&["fleet"]).code(1);
    assert!(refused.stderr.contains("wrong user name or password"), "{}", refused.stderr);
    let port_text = port.to_string();
    let mut anonymous = env.foreign("mosquitto_pub");
    anonymous.args(["-h", "127.0.0.1", "-p", &port_text, "-t", "x", "-m", "y"]);
    assert_ne!(env.run(&mut anonymous).code, Some(0));
    broker.killed();
}

#[test]
fn without_any_configuration_of_passwords_only_we_get_in() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let port = free_port();
    let url = format!("mqtt://127.0.0.1:{port}");
    write_config(&env, &format!("[mqtt]\nurl = '{url}'\nhost = 'desk'\n[fleet]\nallow = ['kill']"));
    // Who listens there first learns nothing: there is no password yet, and later it goes to the socket alone.
    let relay = Relay::start(&env);
    let broker = broker(&env, port);
    relay.says("publishing");
    assert!(!relay.said().contains("warning"), "{}", relay.said());
    let file = env.state_dir().join("broker/password");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let password = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(password.len() >= 32);
    let one = env.spawn_script("one", "exec sleep 300");
    eventually("it is seen", || env.dogwatch(&["fleet"]).text().contains("one"));
    let doctor = env.dogwatch(&["doctor"]).text();
    assert!(doctor.contains("answers"), "{doctor}");
    // Others need the password, whatever they speak.
    let port_text = port.to_string();
    let sub = |version: &str, login: &[&str]| {
        let mut sub = env.foreign("mosquitto_sub");
        sub.args([
            "-V",
            version,
            "-h",
            "127.0.0.1",
            "-p",
            &port_text,
            "-t",
            "dogwatch/#",
            "-C",
            "1",
        ]);
        env.run(sub.args(["-W", "2"]).args(login)).code
    };
    for version in ["311", "5"] {
        let logins: [&[&str]; 4] = [
            &[],
            &["-u", "dogwatch"],
            &["-u", "dogwatch", "-P", ""],
            &["-u", "dogwatch", "-P", "wrong"],
        ];
        for login in logins {
            assert_ne!(sub(version, login), Some(0), "{version} {login:?}");
        }
        assert_eq!(sub(version, &["-u", "dogwatch", "-P", &password]), Some(0), "{version}");
    }
    // A second one is refused, and an order that is to be retained too.
    let second = env.dogwatch(&["broker", "--listen", "127.0.0.1:0"]).code(4);
    assert!(second.stderr.contains("is already running"), "{}", second.stderr);
    let issued = jiff::Timestamp::now();
    let order = format!("{{\"id\":\"1\",\"session\":\"one\",\"issued\":\"{issued}\"}}");
    let mut retained = env.foreign("mosquitto_pub");
    retained.args(["-V", "5", "-q", "1", "-r", "-h", "127.0.0.1", "-p", &port_text]);
    retained.args([
        "-u",
        "dogwatch",
        "-P",
        &password,
        "-t",
        "dogwatch/desk/request/kill",
        "-m",
        &order,
    ]);
    let _ = env.run(&mut retained);
    let _ = env.dogwatch(&["fleet", "kill", "desk/nosuch"]).code(3);
    assert!(dogwatch_testkit::process::is_alive(one.pid), "the retained one came first");
    let _ = env.dogwatch(&["fleet", "kill", "desk/one"]).success();
    relay.ended();
    broker.killed();
    // Somebody else listens on its port: he is not given the password.
    let stranger = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    stranger.set_nonblocking(true).unwrap();
    let refused = env.dogwatch(&["fleet"]).code(1);
    assert!(refused.stderr.contains("cannot be reached"), "{}", refused.stderr);
    assert!(stranger.accept().is_err(), "nobody came");
    let doctor = env.dogwatch(&["doctor"]).text();
    assert!(doctor.contains("cannot be reached"), "{doctor}");
}
