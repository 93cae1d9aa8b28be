//! Notifications: rules, channels, and what is promised when something fails.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use dogwatch_testkit::{
    TestEnv, dogwatch, eventually, eventually_or, process, skip, wait_until, wait_within,
};
use rustix::process::Signal;
use serde_json::Value;

use crate::sinks::{CERTIFICATES, Secure};

/// Set by `./test`, which installs them.
const DESKTOP: Option<&str> = Some("DOGWATCH_REQUIRE_DESKTOP");

pub(crate) fn configure(env: &TestEnv, text: &str) {
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    // In one step, as editors do: a runner may read it at any moment.
    fs::write(folder.join("new"), text).unwrap();
    fs::rename(folder.join("new"), folder.join("config.toml")).unwrap();
}

/// A channel that appends each notification to a file.
pub(crate) fn to_file(env: &TestEnv) -> String {
    let script = env.write("told.sh", "cat >> \"$1\"\n");
    let told = env.root().join("told");
    format!("kind = 'command'\ncommand = ['sh', '{}', '{}']\n", script.display(), told.display())
}

pub(crate) fn told(env: &TestEnv) -> Vec<Value> {
    let text = fs::read_to_string(env.root().join("told")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn log(env: &TestEnv) -> Vec<Value> {
    let log = env.dogwatch(&["notify", "log", "--json"]).success().json();
    log["deliveries"].as_array().unwrap().clone()
}

/// A server that gives these answers, one a connection; what it was sent comes through the channel.
fn server(answers: &'static [&'static str]) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heard) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut part = [0; 4096];
            while !is_whole(&asked) {
                match stream.read(&mut part).unwrap() {
                    0 => break,
                    length => asked.extend_from_slice(&part[..length]),
                }
            }
            let head =
                format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            let _ = sender.send(String::from_utf8_lossy(&asked).into_owned());
        }
    });
    (port, heard)
}

fn is_whole(asked: &[u8]) -> bool {
    let text = String::from_utf8_lossy(asked).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.map_or(0, |length| length.trim().parse().unwrap()) <= body.len()
}

fn body(asked: &str) -> Value {
    serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn the_runner_alone_sends_a_notification_of_a_crash() {
    let env = TestEnv::new();
    configure(&env, &format!("[[notify]]\n{}on = ['crashed', 'done']\n", to_file(&env)));
    env.spawn_script("x", "read line; exit 3");
    env.tmux(&["send-keys", "-t", "=x:", "Enter"]);
    let notice = wait_until("a notification", || told(&env).pop());
    assert_eq!((&notice["occasion"], &notice["session"]), (&"crashed".into(), &"x".into()));
    assert_eq!(notice["title"], "x: crashed, exit code 3");
    env.spawn_script("y", "read line; exit 0");
    env.tmux(&["send-keys", "-t", "=y:", "Enter"]);
    eventually("the next", || told(&env).len() == 2);
    assert_eq!(told(&env)[1]["title"], "y: done, ended with 0");
    // Killed on request: no event.
    env.spawn_script("z", "exec sleep 300");
    let _ = env.dogwatch(&["kill", "z"]).success();
    env.spawn_script("mark", "exit 4");
    eventually("the mark", || told(&env).iter().any(|one| one["session"] == "mark"));
    assert!(told(&env).iter().all(|one| one["session"] != "z"));
    assert!(log(&env).iter().all(|one| one["state"] == "sent"));
}

#[test]
fn filters_decide_and_the_configuration_may_come_later() {
    let env = TestEnv::new();
    env.spawn_script("before", "read line; exit 3");
    let rule = format!("[[notify]]\n{}on = ['crashed']\nsession = ['b*', 'c']\n", to_file(&env));
    configure(&env, &rule);
    env.spawn_script("a", "exit 3");
    env.spawn_script("c", "exit 3");
    eventually("one of them", || told(&env).iter().any(|one| one["session"] == "c"));
    env.tmux(&["send-keys", "-t", "=before:", "Enter"]);
    eventually("one that was there before", || {
        told(&env).iter().any(|one| one["session"] == "before")
    });
    assert!(told(&env).iter().all(|one| one["session"] != "a"));
}

#[test]
fn several_at_once_are_one_notification() {
    let env = TestEnv::new();
    let text = format!("[[notify]]\n{}on = ['crashed']\nbatch = '3s'\n", to_file(&env));
    configure(&env, &text);
    for name in ["a", "b", "c"] {
        env.spawn_script(name, "read line; exit 3");
    }
    for name in ["a", "b", "c"] {
        env.tmux(&["send-keys", "-t", &format!("={name}:"), "Enter"]);
    }
    eventually("all three are sent", || {
        log(&env).iter().filter(|one| one["state"] == "sent").count() == 3
    });
    let told = told(&env);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["title"], "3 notifications: 3 crashed");
    assert_eq!(told[0]["several"].as_array().unwrap().len(), 3);
}

#[test]
fn a_webhook_that_is_away_is_tried_again_and_nothing_is_lost() {
    let env = TestEnv::new();
    // No server listens there yet.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let hook = format!(
        "[[notify]]\nkind = 'webhook'\nurl = 'http://127.0.0.1:{port}/x'\non = ['crashed']\n"
    );
    configure(&env, &hook);
    // Its runner lives on, and tries again.
    env.spawn_script("x", "exit 3");
    eventually("it failed", || log(&env).first().is_some_and(|one| one["attempts"] == 1));
    let doctor = env.dogwatch(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|one| one["check"] == "notifications").unwrap();
    assert_eq!(check["health"], "warning", "{check:#}");
    assert!(check["found"].as_str().unwrap().contains("webhook 127.0.0.1"), "{check:#}");
    let failed = env.dogwatch(&["notify", "log", "--failed"]).success().text();
    assert!(failed.contains("x: crashed") && failed.contains("due at"), "{failed}");
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        let mut part = [0; 4096];
        while !is_whole(&asked) {
            let length = stream.read(&mut part).unwrap();
            asked.extend_from_slice(&part[..length]);
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        String::from_utf8_lossy(&asked).into_owned()
    });
    // The next one that has something to tell sends what was left behind too.
    let mut watch =
        env.command(&["watch"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let asked = heard.join().unwrap();
    assert_eq!(body(&asked)["session"], "x");
    eventually("it is recorded", || log(&env)[0]["state"] == "sent");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn a_webhook_that_hangs_delays_no_other_channel() {
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let hook = format!(
        "[[notify]]\nkind = 'webhook'\nurl = 'http://127.0.0.1:{port}/x'\ntimeout = 30\non = ['crashed']\n"
    );
    let file = format!("[[notify]]\n{}on = ['crashed']\n", to_file(&env));
    configure(&env, &format!("{hook}{file}"));
    env.spawn_script("stays", "exec sleep 600");
    env.spawn_script("a", "exit 3");
    // Asked, it says nothing.
    let (held, _) = listener.accept().unwrap();
    env.spawn_script("b", "exit 4");
    eventually("the other channel tells of the next", || {
        told(&env).iter().any(|one| one["session"] == "b")
    });
    let is_webhook = |one: &&Value| one["channel"].as_str().unwrap().starts_with("webhook");
    let hung: Vec<Value> = log(&env).iter().filter(is_webhook).cloned().collect();
    assert!(!hung.is_empty() && hung.iter().all(|one| one["attempts"] == 0), "{hung:?}");
    drop(held);
}

#[test]
fn shapes_of_receivers_and_ntfy() {
    let env = TestEnv::new();
    let (port, heard) = server(&["200 OK"; 5]);
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    for (name, value) in [("bot", "s3cret"), ("url", &format!("http://127.0.0.1:{port}/hidden"))] {
        fs::write(folder.join(name), value).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let text = format!(
        "[[notify]]\nkind = 'ntfy'\nname = 'n'\nurl = 'http://127.0.0.1:{port}/agents'\ntoken_file = 'bot'\npriority = 5\n\
         [[notify]]\nkind = 'webhook'\nname = 't'\nurl = 'http://127.0.0.1:{port}/bot{{token}}/sendMessage'\ntoken_file = 'bot'\nformat = 'telegram'\nchat = 7\n\
         [[notify]]\nkind = 'webhook'\nname = 's'\nurl_file = 'url'\nformat = 'slack'\n\
         [[notify]]\nkind = 'webhook'\nname = 'd'\nurl_file = 'url'\nformat = 'discord'\n\
         [[notify]]\nkind = 'webhook'\nname = 'own'\nurl = 'http://127.0.0.1:{port}/own'\nbody = 'm={{title}}'\ncontent_type = 'application/x-www-form-urlencoded'\n"
    );
    configure(&env, &text);
    let sent = |name: &str| {
        let tested = env.dogwatch(&["notify", "test", name, "--json"]).success().json();
        assert_eq!(tested["channels"][0]["channel"], name);
        heard.recv_timeout(Duration::from_secs(20)).unwrap()
    };
    let ntfy = sent("n");
    assert!(ntfy.starts_with("POST / HTTP/1.1"), "{ntfy}");
    assert!(ntfy.contains("authorization: Bearer s3cret"), "{ntfy}");
    assert_eq!(body(&ntfy)["topic"], "agents");
    assert_eq!(
        (&body(&ntfy)["title"], &body(&ntfy)["priority"]),
        (&"dogwatch: test".into(), &5.into())
    );
    let telegram = sent("t");
    assert!(telegram.starts_with("POST /bots3cret/sendMessage "), "{telegram}");
    assert!(!telegram.contains("authorization"), "{telegram}");
    assert_eq!(body(&telegram)["chat_id"], "7");
    let slack = sent("s");
    assert!(slack.starts_with("POST /hidden "), "{slack}");
    assert_eq!(body(&slack)["text"], "*dogwatch: test*\nThis channel works.");
    assert_eq!(body(&sent("d"))["content"], "**dogwatch: test**\nThis channel works.");
    let own = sent("own");
    assert!(own.ends_with("m=dogwatch%3A%20test"), "{own}");
    let unknown = env.dogwatch(&["notify", "test", "no-such"]).code(2);
    assert!(unknown.stderr.contains("no-such"), "{unknown}");
    // The server is gone: the result says so, without the secret.
    let failed = env.dogwatch(&["notify", "test", "t"]).code(1);
    assert!(failed.text().contains("failed") && !failed.text().contains("s3cret"), "{failed}");
}

/// The runner trusts what the shell that started the session trusts.
#[test]
fn a_secure_webhook_from_a_runner() {
    let env = TestEnv::new();
    let _ = env.run(env.foreign("sh").args(["-c", CERTIFICATES])).success();
    let trust = env.work().join("ca.pem");
    let server = Secure::start(&env, "204 No Content");
    let url = format!("https://localhost:{}/hook", server.port);
    configure(&env, &format!("[[notify]]\nkind = 'webhook'\nurl = '{url}'\non = ['crashed']\n"));
    let mut spawn = env.command(&["spawn", "--name", "x", "--", "sh", "-c", "exit 3"]);
    let _ = env.run(spawn.env("SSL_CERT_FILE", trust)).success();
    let heard = server.heard();
    assert!(heard.contains("POST /hook HTTP/1.1") && heard.contains("x: crashed"), "{heard}");
    eventually("it is recorded", || log(&env).iter().any(|one| one["state"] == "sent"));
}

#[test]
fn a_message_in_tmux_for_who_is_attached() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    let text = format!(
        "[[notify]]\nkind = 'tmux'\non = ['crashed']\n[[notify]]\n{}on = ['crashed']\nunless_attached = 'session'\n\
         [[notify]]\nname = 'server'\n{}on = ['crashed']\nunless_attached = 'server'\n",
        to_file(&env),
        to_file(&env)
    );
    configure(&env, &text);
    let refused = env.dogwatch(&["notify", "test", "tmux"]).code(1);
    assert!(refused.text().contains("no client is attached"), "{refused}");
    let outer = env.another_socket("outer");
    let attach = format!("{} attach x", dogwatch());
    env.tmux_on(&outer, &["new-session", "-d", "-s", "outer", "-x", "120", "-y", "20", &attach]);
    eventually("attached", || env.seen("x")["attached"] == true);
    let _ = env.dogwatch(&["notify", "test", "tmux"]).success();
    let shows =
        |text: &str| env.tmux_on(&outer, &["capture-pane", "-p", "-t", "=outer:"]).contains(text);
    eventually("the message", || shows("dogwatch: test"));
    env.spawn_script("y", "exit 3");
    eventually("of a crash", || shows("y: crashed"));
    // No client is attached to that session, but one is to the server.
    eventually("all are settled", || log(&env).iter().all(|one| one["state"] != "waiting"));
    let log = log(&env);
    let of = |channel: &str| log.iter().find(|one| one["channel"] == channel).unwrap().clone();
    assert_eq!(of("tmux")["state"], "sent");
    assert_eq!(of("command sh")["state"], "sent");
    assert_eq!(
        (&of("server")["state"], &of("server")["because"]),
        (&"skipped".into(), &"a client is attached".into())
    );
}

#[test]
fn a_runner_that_is_killed_is_noticed_by_another() {
    let env = TestEnv::new();
    configure(&env, &format!("[[notify]]\n{}on = ['crashed']\n", to_file(&env)));
    let x = env.spawn_script("x", "exec sleep 300");
    let started = fs::read_to_string(env.session_dir(&x).join("started")).unwrap();
    let started: Value = serde_json::from_str(&started).unwrap();
    let runner = i32::try_from(started["runner"]["pid"].as_i64().unwrap()).unwrap();
    process::signal(runner, Signal::KILL);
    eventually("it is gone", || !process::is_alive(runner));
    env.spawn_script("y", "exit 3");
    eventually_or("notifications of both arrive", || {
        let titles: Vec<String> = told(&env).iter().flat_map(titles).collect();
        let has = |start: &str| titles.iter().any(|title| title.starts_with(start));
        if has("x: ") && has("y: crashed") {
            Ok(())
        } else {
            Err(format!("{titles:?}\n{:#?}", log(&env)))
        }
    });
}

fn titles(notice: &Value) -> Vec<String> {
    let title = |notice: &Value| notice["title"].as_str().unwrap().to_owned();
    match notice["several"].as_array() {
        Some(several) => several.iter().map(title).collect(),
        None => vec![title(notice)],
    }
}

#[test]
fn quiet_hours_hold_it_back() {
    let env = TestEnv::new();
    let text = format!(
        "[[notify]]\n{}on = ['crashed']\nquiet = ['00:00-12:00', '12:00-00:00']\n",
        to_file(&env)
    );
    configure(&env, &text);
    env.spawn_script("x", "exit 3");
    let held = wait_until("it is held", || log(&env).pop());
    assert_eq!((&held["state"], &held["attempts"]), (&"waiting".into(), &0.into()));
    assert!(told(&env).is_empty());
    // Without them, the next one that looks does not wait for what was planned before.
    let listed = env.dogwatch(&["notify", "log"]).success().text();
    assert!(listed.contains("waiting") && listed.contains("due at"), "{listed}");
}

/// dogwatch sends the first at once, and then one that stays: not each.
#[test]
fn a_status_that_comes_and_goes_does_not_flood_people() {
    let env = TestEnv::new();
    configure(&env, &format!("[[notify]]\n{}on = ['waiting']\n", to_file(&env)));
    let session = env.spawn_script("x", "exec sleep 300");
    let hook = |event: &str| {
        let mut hook = env.command(&["hook", "claude"]);
        hook.env("DOGWATCH_SESSION", &session.id);
        let payload = format!("{{\"hook_event_name\":\"{event}\",\"tool_name\":\"Bash\"}}");
        let _ = env.run_with_input(&mut hook, payload.as_bytes()).success();
    };
    let asks = |times: usize| {
        hook("PermissionRequest");
        eventually("it is seen", || log(&env).len() == times);
    };
    asks(1);
    eventually("the first notification arrives", || told(&env).len() == 1);
    for times in 2..5 {
        hook("PostToolUse");
        eventually("it works", || {
            let seen = env.dogwatch(&["status", "x", "--json"]).success().json();
            seen["sessions"][0]["state"] == "working"
        });
        asks(times);
    }
    let settled = |log: &[Value]| log.iter().all(|one| one["state"] != "waiting");
    let log = wait_within(
        Duration::from_mins(1),
        || format!("all notifications are settled: {:#?}", log(&env)),
        || Some(log(&env)).filter(|log| settled(log)),
    );
    assert_eq!(log.last().unwrap()["state"], "sent", "{log:#?}");
    assert!(told(&env).len() < log.len(), "{log:#?}");
}

#[test]
fn the_heartbeat_is_called_while_a_watcher_runs() {
    let env = TestEnv::new();
    let (port, heard) = server(&["200 OK", "500 Oh", "200 OK"]);
    configure(&env, &format!("[heartbeat]\nurl = 'http://127.0.0.1:{port}/ping'\nevery = 1\n"));
    let mut watch = env.command(&["watch"]);
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..3 {
        let asked = heard.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(asked.starts_with("GET /ping HTTP/1.1"), "{asked}");
    }
    watch.kill().unwrap();
    let said = watch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("heartbeat") && said.contains("500"), "{said}");
}

/// A D-Bus session with a virtual screen, and a real notification daemon.
struct Desktop {
    children: Vec<Child>,
    bus: String,
    display: String,
}

impl Desktop {
    fn start(env: &TestEnv) -> Option<Self> {
        for program in ["dbus-daemon", "Xvfb", "dunst", "dunstctl", "notify-send"] {
            if !skip::has_program(program, DESKTOP) {
                return None;
            }
        }
        let bus = format!("unix:path={}", env.root().join("bus").display());
        let quiet = |command: &mut Command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut daemon = env.foreign("dbus-daemon");
        daemon.args(["--session", "--nofork", "--nopidfile", "--address", &bus]);
        let mut children = vec![quiet(&mut daemon)];
        // It chooses a free display, and says which when it is ready.
        let mut screen = env.foreign("Xvfb");
        screen.args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"]);
        let mut screen = screen.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut number = [0; 8];
        let length = screen.stdout.as_mut().unwrap().read(&mut number).unwrap();
        let display = format!(":{}", String::from_utf8_lossy(&number[..length]).trim());
        children.push(screen);
        let mut dunst = env.foreign("dunst");
        dunst.env("DBUS_SESSION_BUS_ADDRESS", &bus).env("DISPLAY", &display);
        eventually("the bus is there", || env.root().join("bus").exists());
        children.push(quiet(&mut dunst));
        let desktop = Self { children, bus, display };
        eventually("the daemon answers", || desktop.ctl(env, &["count"]).is_some());
        Some(desktop)
    }

    fn ctl(&self, env: &TestEnv, args: &[&str]) -> Option<String> {
        let mut command = env.foreign("dunstctl");
        command.args(args).env("DBUS_SESSION_BUS_ADDRESS", &self.bus);
        let output = command.output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_real_desktop_shows_it() {
    let env = TestEnv::new();
    let Some(desktop) = Desktop::start(&env) else { return };
    configure(&env, "[[notify]]\nkind = 'desktop'\non = ['crashed']\n");
    let mut spawn = env.command(&["spawn", "--name", "x", "--", "sh", "-c", "exit 3"]);
    spawn.env("DBUS_SESSION_BUS_ADDRESS", &desktop.bus).env("DISPLAY", &desktop.display);
    let _ = env.run(&mut spawn).success();
    eventually("it is sent", || log(&env).iter().any(|one| one["state"] == "sent"));
    let _ = desktop.ctl(&env, &["close-all"]);
    let shown = wait_until("it was shown", || {
        desktop.ctl(&env, &["history"]).filter(|history| history.contains("x: crashed"))
    });
    assert_eq!(shown.matches("\"summary\"").count(), 1, "{shown}");
    let tested =
        env.run(env.command(&["notify", "test"]).env("DBUS_SESSION_BUS_ADDRESS", &desktop.bus));
    let _ = tested.success();
}

/// The supervisor was started without one; a person attached from a desktop since.
#[test]
fn a_desktop_is_that_of_who_is_attached() {
    let env = TestEnv::new();
    let Some(desktop) = Desktop::start(&env) else { return };
    configure(&env, "[[notify]]\nkind = 'desktop'\non = ['crashed']\n");
    env.spawn_script("s", "exec sleep 300");
    let outer = env.another_socket("outer");
    let attach = format!(
        "exec env -u TMUX DBUS_SESSION_BUS_ADDRESS='{}' DISPLAY='{}' tmux -u -f /dev/null -S {} attach",
        desktop.bus,
        desktop.display,
        env.socket().display()
    );
    env.tmux_on(&outer, &["new-session", "-d", "-x", "100", "-y", "30", "sh", "-c", &attach]);
    eventually("a person is attached", || env.tmux(&["list-clients"]).contains("/dev/"));
    env.spawn_script("x", "exit 3");
    eventually("it is sent", || log(&env).iter().any(|one| one["state"] == "sent"));
    let _ = desktop.ctl(&env, &["close-all"]);
    let shown = wait_until("it was shown", || {
        desktop.ctl(&env, &["history"]).filter(|history| history.contains("x: crashed"))
    });
    assert_eq!(shown.matches("\"summary\"").count(), 1, "{shown}");
}
