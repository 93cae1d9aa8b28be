//! Passwords and certificates.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dogwatch_testkit::TestEnv;

use crate::mosquitto::{self, Mosquitto};
use crate::relay::{Relay, configure, configure_url};

/// A broker that wants a password: `me`, `hunter2`.
fn with_password(env: &TestEnv) -> Mosquitto {
    let file = env.root().join("passwords");
    let mut make = env.foreign("mosquitto_passwd");
    let _ = env.run(make.args(["-b", "-c"]).arg(&file).args(["me", "hunter2"])).success();
    Mosquitto::start_with(
        env,
        &format!("allow_anonymous false\npassword_file {}\n", file.display()),
    )
}

fn password_file(env: &TestEnv, password: &str, mode: u32) {
    let path = env.home().join(".config/dogwatch/password");
    fs::write(&path, format!("{password}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_password_from_a_file_or_the_environment() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = with_password(&env);
    configure(&env, broker.port, "desk", "user = 'me'\npassword_file = 'password'");
    password_file(&env, "hunter2", 0o600);
    let relay = Relay::start(&env);
    relay.says("publishing");
    assert!(env.dogwatch(&["fleet"]).success().text().contains("desk"));
    relay.ended();
    // Others could read it: it is not used.
    password_file(&env, "hunter2", 0o644);
    let open = env.dogwatch(&["relay"]).code(2);
    assert!(open.stderr.contains("readable by other users") && open.stderr.contains("chmod 600"));
    configure(&env, broker.port, "desk", "user = 'me'");
    let relay = Relay::start_with(&env, &["relay"], &[("DOGWATCH_MQTT_PASSWORD", "hunter2")]);
    relay.says("publishing");
    // It is nobody's business.
    let shown = fs::read(format!("/proc/{}/cmdline", relay.pid())).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&shown).contains("hunter2"));
    relay.ended();
}

#[test]
fn a_wrong_password_is_said_and_tried_again_slowly() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = with_password(&env);
    configure(&env, broker.port, "desk", "user = 'me'\npassword_file = 'password'");
    password_file(&env, "wrong", 0o600);
    let relay = Relay::start(&env);
    relay.says("refused the connection: wrong user name or password");
    // Everything else works, and the broker is not pestered.
    env.spawn_script("one", "exec sleep 300");
    let fleet = env.dogwatch(&["fleet", "--json"]).code(1).json();
    assert_eq!(fleet["error"]["code"], "broker_refused");
    assert!(fleet["error"]["hint"].as_str().unwrap().contains("password_file"));
    let asked = broker.log().matches("New connection").count();
    assert!(asked <= 4, "asked {asked} times:\n{}", broker.log());
    relay.ended();
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn doctor_says_what_is_wrong_with_a_broker() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let found = |env: &TestEnv| {
        let said = env.dogwatch(&["doctor", "--json"]).json();
        let checks = said["checks"].as_array().unwrap().clone();
        let broker = checks.into_iter().find(|check| check["check"] == "broker").unwrap();
        let text = |key: &str| broker[key].as_str().unwrap_or_default().to_owned();
        (text("health"), text("found"), text("remedy"))
    };
    let broker = with_password(&env);
    configure(&env, broker.port, "desk", "user = 'me'\npassword_file = 'password'");
    password_file(&env, "hunter2", 0o600);
    let (health, said, _) = found(&env);
    assert!(health == "missing" && said.contains("answers"), "no relay yet: {said}");
    password_file(&env, "wrong", 0o600);
    let (health, said, remedy) = found(&env);
    assert!(health == "bad" && said.contains("wrong user name or password"), "{said}");
    assert!(remedy.contains("password_file"), "{remedy}");
    password_file(&env, "hunter2", 0o600);
    configure_url(&env, &format!("mqtts://127.0.0.1:{}", broker.port), "desk", "");
    let (health, said, _) = found(&env);
    assert!(health == "bad" && said.contains("mqtts://"), "no TLS there: {said}");
    // Listens, and says nothing.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    configure(&env, silent.local_addr().unwrap().port(), "desk", "");
    let (health, said, _) = found(&env);
    assert!(health == "bad" && said.contains("did not answer within 3 s"), "{said}");
    drop(silent);
    let (health, said, remedy) = found(&env);
    assert!(health == "bad" && said.contains("cannot be reached"), "{said}");
    assert!(remedy.contains("dogwatch broker"), "{remedy}");
}

/// A certificate authority and a certificate of the broker's, made by openssl.
fn certificates(env: &TestEnv) {
    let script = "set -e; cd \"$1\"\n\
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=test authority' -keyout ca.key -out ca.pem \
          -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign'\n\
        openssl req -newkey rsa:2048 -nodes -subj '/CN=localhost' -keyout broker.key -out broker.csr\n\
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\nbasicConstraints=CA:FALSE\\n' > ext\n\
        openssl x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out broker.pem\n";
    let mut make = env.foreign("sh");
    let _ = env.run(make.args(["-c", script, "sh"]).arg(env.root())).success();
}

fn tls(root: &Path) -> String {
    let file = |name: &str| root.join(name).display().to_string();
    format!(
        "allow_anonymous true\ncafile {}\ncertfile {}\nkeyfile {}\n",
        file("ca.pem"),
        file("broker.pem"),
        file("broker.key")
    )
}

#[test]
fn tls_with_an_authority_of_ones_own() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    certificates(&env);
    let broker = Mosquitto::start_with(&env, &tls(&env.root()));
    let url = format!("mqtts://localhost:{}", broker.port);
    let ca = env.root().join("ca.pem");
    configure_url(&env, &url, "desk", &format!("ca_file = '{}'", ca.display()));
    let relay = Relay::start(&env);
    relay.says("publishing to mqtts://localhost");
    assert!(env.dogwatch(&["fleet"]).success().text().contains("online"));
    relay.ended();
    // Without it the system's authorities decide, and they do not know this one.
    configure_url(&env, &url, "desk", "");
    let fleet = env.dogwatch(&["fleet"]).code(1);
    assert!(fleet.stderr.contains("cannot be trusted"), "{}", fleet.stderr);
    configure_url(&env, &url, "desk", "ca_file = '/no/such/file'");
    let fleet = env.dogwatch(&["fleet"]).code(1);
    assert!(fleet.stderr.contains("/no/such/file"), "{}", fleet.stderr);
    // Nobody is talked to in the clear who should be trusted.
    configure_url(&env, &format!("mqtt://localhost:{}", broker.port), "desk", "");
    let _ = env.dogwatch(&["fleet"]).code(1);
}
