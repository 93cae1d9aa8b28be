//! Notifications by MQTT, without a relay.

use std::fs;

use dogwatch_testkit::TestEnv;

use crate::mosquitto::{self, Mosquitto, Sub};
use crate::relay::configure;

#[test]
fn a_runner_publishes_a_notification() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    let rules = "[[notify]]\nkind = 'mqtt'\non = ['crashed']\n\
                 [[notify]]\nkind = 'mqtt'\ntopic = '/alerts/agents'\non = ['crashed']\n";
    configure(&env, broker.port, "desk", "");
    let file = env.home().join(".config/dogwatch/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n{rules}")).unwrap();
    let below = Sub::start(&env, broker.port, "dogwatch/desk/notify", &["-V", "5"]);
    let anywhere = Sub::start(&env, broker.port, "alerts/agents", &["-V", "5"]);
    env.spawn_script("x", "exit 3");
    for sub in [below, anywhere] {
        let told = sub.hears("a crash", |message| message.json()["occasion"] == "crashed");
        assert_eq!(told.json()["title"], "x: crashed, exit code 3");
    }
}
