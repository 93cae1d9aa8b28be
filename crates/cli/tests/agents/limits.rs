//! Real agents that meet a usage limit, and are continued once.

use std::cell::RefCell;
use std::fs;
use std::time::Duration;

use dogwatch_testkit::{eventually, eventually_or, process, wait_within};
use model_double::homes::Agent;
use model_double::{Options, Scenario};
use rustix::process::Signal;
use serde_json::Value;

use crate::lab::Lab;

/// A limit lasts as long as it lasts: agents round its end to minutes.
#[track_caller]
fn patiently(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let instead = RefCell::new(String::new());
    let say = || format!("{what}; but: {}", instead.borrow());
    let look = || condition().map_err(|seen| *instead.borrow_mut() = seen).ok();
    wait_within(Duration::from_secs(100), say, look);
}

/// The message to the agent; the double answers it.
const GO_ON: &str = "Continue where you left off.";

/// A limit in the middle of a turn that ends after so many seconds, or never says when.
fn scenario(error: &str) -> String {
    format!(
        "side = '{{\"title\": \"Double\"}}'\n\
         [[rule]]\nmatch = '\\[work\\]'\nsteps = [[\"I begin.\", {{ shell = \"echo begun\" }}], {{ error = {error} }}]\n\
         [[rule]]\nmatch = '\\[at-once\\]'\nsteps = [{{ error = {error} }}]\n\
         [[rule]]\nmatch = '\\[hello\\]'\nsteps = [[{{ stall_s = 2.5 }}, \"Hello.\"]]\n\
         [[rule]]\nmatch = 'Continue where'\nsteps = [\"It is done now.\"]\n"
    )
}

/// With a key, claude shows what the server says.
const SHORT: &str = r#"{ kind = "usage_limit", resets_in_s = 20, message = "You have reached your usage limit, try again in 20 seconds" }"#;
/// Far ahead.
const LONG: &str = r#"{ kind = "usage_limit", resets_in_s = 7200 }"#;

impl Lab {
    fn limited(agent: Agent, error: &str) -> Option<Self> {
        Self::with_scenario(agent, &Options::default(), &scenario(error))
    }

    fn configure(&self, text: &str) {
        let folder = self.env.home().join(".config/dogwatch");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    fn limits(&self) -> Value {
        self.dogwatch(&["limits", "--json"]).success().json()
    }

    /// The last limit of the only session.
    fn last_limit(&self) -> Value {
        self.limits()["accounts"][0]["sessions"][0]["last"].clone()
    }

    #[track_caller]
    fn limit_becomes(&self, action: &str) -> Value {
        let mut found = Value::Null;
        patiently(&format!("the limit is {action}"), || {
            found = self.last_limit();
            let shown = || format!("{found:#}\n{}", self.dogwatch(&["capture", "a"]).text());
            if found["action"] == action { Ok(()) } else { Err(shown()) }
        });
        found
    }

    fn times_continued(&self) -> usize {
        self.asked().iter().filter(|asked| asked.contains(GO_ON)).count()
    }

    /// It is idle, and got this many messages to continue.
    #[track_caller]
    fn is_continued(&self, times: usize) {
        self.limit_becomes("continued");
        let wait = ["wait", "a", "--for", "idle", "--timeout", "60s"];
        let _idle = self.dogwatch(&wait).success();
        let asked: Vec<String> =
            self.asked().into_iter().filter(|asked| asked.contains(GO_ON)).collect();
        assert_eq!(asked.len(), times, "{asked:#?}");
        let listed = self.dogwatch(&["messages", "a", "--json"]).success().json();
        assert_eq!(listed["messages"].as_array().unwrap().len(), times, "{listed:#}");
    }

    /// The pid of the supervisor.
    fn supervisor(&self) -> i32 {
        let mut found = None;
        eventually_or("a supervisor serves", || {
            found = self.env.supervisor();
            found.map(drop).ok_or_else(|| self.dogwatch(&["status"]).text())
        });
        found.unwrap()
    }
}

fn in_mid_turn(agent: Agent) {
    let Some(lab) = Lab::limited(agent, SHORT) else { return };
    lab.spawn(&["--unattended", "--when-limited", "wait", "--prompt", "[work]"]);
    let armed = lab.limit_becomes("armed");
    assert!(armed["until"].is_string(), "it gave a time: {armed:#}");
    let table = lab.dogwatch(&["status"]).success().text();
    assert!(table.contains("continues "), "{table}");
    lab.is_continued(1);
    lab.end(&["--now"]);
}

#[test]
fn of_claude_in_mid_turn() {
    in_mid_turn(Agent::Claude);
}

#[test]
fn of_codex_in_mid_turn() {
    in_mid_turn(Agent::Codex);
}

/// The supervisor is killed while it waits, and the next one suspended past the end of the limit.
#[test]
fn killed_and_suspended_while_it_waits() {
    let Some(lab) = Lab::limited(Agent::Claude, SHORT) else { return };
    lab.spawn(&["--unattended", "--when-limited", "wait"]);
    lab.env.wait_screen("a", "❯");
    let _sent = lab.dogwatch(&["send", "a", "[at-once]"]).success();
    lab.limit_becomes("armed");
    let first = lab.supervisor();
    process::signal(first, Signal::KILL);
    let mut second = first;
    eventually_or("another supervisor serves", || {
        second = lab.env.supervisor().unwrap_or(first);
        if second == first { Err("none".to_owned()) } else { Ok(()) }
    });
    process::signal(second, Signal::STOP);
    patiently("its time has come", || {
        let due: jiff::Timestamp = lab.last_limit()["continues"].as_str().unwrap().parse().unwrap();
        if jiff::Timestamp::now() > due { Ok(()) } else { Err(format!("{due}")) }
    });
    assert_eq!(lab.times_continued(), 0);
    process::signal(second, Signal::CONT);
    lab.limit_becomes("continued");
    let wait = ["wait", "a", "--for", "idle", "--timeout", "60s"];
    let _idle = lab.dogwatch(&wait).success();
    assert_eq!(lab.times_continued(), 1);
    lab.end(&["--now"]);
}

/// A person goes on by hand: nothing is sent.
#[test]
fn a_person_was_first() {
    let Some(lab) = Lab::limited(Agent::Claude, LONG) else { return };
    lab.spawn(&["--unattended", "--when-limited", "wait", "--prompt", "[work]"]);
    lab.limit_becomes("armed");
    let _sent = lab.dogwatch(&["send", "a", "[hello]"]).success();
    let left = lab.limit_becomes("left");
    assert_eq!(left["because"], "a turn began since", "{left:#}");
    assert_eq!(lab.times_continued(), 0);
    lab.end(&["--now"]);
}

/// The message that continues it meets the limit as well: twice in a row or more, each continued once. The agent gives no time, or a
/// wrong one.
fn twice_in_a_row(agent: Agent, error: &str) {
    let again = scenario(error)
        .replace("steps = [\"It is done now.\"]", &format!("steps = [{{ error = {error} }}]"));
    let Some(lab) = Lab::with_scenario(agent, &Options::default(), &again) else { return };
    lab.configure("[limits]\nwhen_limited = 'wait'\nretry_after = 1\n");
    lab.spawn(&["--unattended", "--prompt", "[work]"]);
    patiently("it is limited again", || {
        let times = lab.times_continued();
        if times == 2 { Ok(()) } else { Err(format!("{times}\n{:#}", lab.limits())) }
    });
    lab.double.replace_scenario(Scenario::parse("limits.toml", &scenario(error)).unwrap());
    patiently("it is done", || {
        let shown = lab.dogwatch(&["capture", "a"]).text();
        let is_done = shown.contains("It is done now.");
        if is_done { Ok(()) } else { Err(format!("{shown}\n{:#}", lab.limits())) }
    });
    lab.limit_becomes("continued");
    let listed = lab.dogwatch(&["messages", "a", "--json"]).success().json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 3, "{listed:#}");
    assert_eq!(lab.times_continued(), 3);
    lab.end(&["--now"]);
}

#[test]
fn of_codex_twice_in_a_row_with_a_wrong_time() {
    twice_in_a_row(Agent::Codex, r#"{ kind = "usage_limit", resets_in_s = 99999999 }"#);
}

#[test]
fn of_claude_twice_in_a_row_without_a_time() {
    twice_in_a_row(Agent::Claude, r#"{ kind = "usage_limit", resets_in_s = 20 }"#);
}

/// A draft of a person, and a pause: nothing is sent.
#[test]
fn paused_or_a_draft_in_the_box() {
    let Some(lab) = Lab::limited(Agent::Claude, r#"{ kind = "usage_limit" }"#) else { return };
    lab.configure("[limits]\nretry_after = 1\n");
    let _paused = lab.dogwatch(&["limits", "pause"]).success();
    lab.spawn(&["--unattended", "--when-limited", "wait", "--prompt", "[work]"]);
    lab.limit_becomes("armed");
    let table = lab.dogwatch(&["status"]).success().text();
    assert!(table.contains("automatic continuation is paused"), "{table}");
    lab.env.tmux(&["send-keys", "-t", "=a:", "-l", "half a thought"]);
    lab.env.wait_screen("a", "half a thought");
    let _resumed = lab.dogwatch(&["limits", "resume"]).success();
    let left = lab.limit_becomes("left");
    assert_eq!(left["because"], "a draft is in the input box", "{left:#}");
    assert_eq!(lab.times_continued(), 0);
    lab.end(&["--now"]);
}

#[test]
fn claude_switches_to_another_model() {
    let Some(lab) = Lab::limited(Agent::Claude, LONG) else { return };
    lab.spawn(&["--unattended", "--when-limited", "switch:haiku", "--prompt", "[work]"]);
    let done = lab.limit_becomes("switched");
    assert!(done["because"].as_str().unwrap().starts_with("delivered"), "{done:#}");
    eventually("it goes on", || lab.times_continued() == 1);
    let questions = lab.double.requests().into_iter().filter_map(|request| request.question);
    let models: Vec<String> = questions
        .filter(|question| question.human.contains(GO_ON) && !question.side)
        .map(|question| question.model)
        .collect();
    assert!(models.iter().all(|model| model.contains("haiku")), "{models:?}");
    lab.end(&["--now"]);
}

#[test]
fn codex_cannot_switch_and_says_so() {
    let Some(lab) = Lab::limited(Agent::Codex, LONG) else { return };
    lab.spawn(&["--unattended", "--when-limited", "switch:gpt-5.5-mini", "--prompt", "[work]"]);
    let asked = lab.limit_becomes("asked");
    assert_eq!(asked["because"], "codex has no command that switches to a model");
    assert_eq!(lab.times_continued(), 0);
    lab.end(&["--now"]);
}

#[test]
fn codex_takes_over_from_claude() {
    if !crate::lab::is_installed(Agent::Codex) {
        return;
    }
    let Some(lab) = Lab::for_a_team(Agent::Claude, Agent::Codex) else { return };
    lab.double.replace_scenario(Scenario::parse("limits.toml", &scenario(LONG)).unwrap());
    lab.spawn(&[
        "--unattended",
        "--when-limited",
        "fallback:codex",
        "--prompt",
        "[at-once] Do it.",
    ]);
    let done = lab.limit_becomes("fell_back");
    let name = done["because"].as_str().unwrap().strip_prefix("started ").unwrap().to_owned();
    let taken = || {
        lab.asked().into_iter().any(|asked| {
            asked.starts_with("Another agent (claude)") && asked.contains("[at-once] Do it.")
        })
    };
    eventually_or("codex has the task", || {
        if taken() {
            Ok(())
        } else {
            Err(format!("{:#?}\n{}", lab.asked(), lab.dogwatch(&["status"]).text()))
        }
    });
    let listed = lab.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed:#}");
    let _killed = lab.dogwatch(&["kill", &name, "--now"]).success();
    lab.end(&["--now"]);
}

/// A new session of a limited account starts; its prompt waits, and is delivered once the limit is over.
#[test]
fn a_new_session_waits_for_its_account() {
    let Some(lab) = Lab::limited(Agent::Claude, SHORT) else { return };
    lab.spawn(&["--unattended", "--when-limited", "wait", "--prompt", "[work]"]);
    lab.limit_becomes("armed");
    let second = [
        "spawn",
        "claude",
        "--name",
        "b",
        "--unattended",
        "--when-limited",
        "wait",
        "-p",
        "[hello]",
    ];
    let said = lab.dogwatch(&second).success();
    assert!(
        said.to_string().contains("its account is limited; the prompt is delivered at "),
        "{said}"
    );
    assert!(!lab.asked().iter().any(|asked| asked.contains("[hello]")));
    lab.limit_becomes("continued");
    patiently("the prompt arrives", || {
        let count = lab.asked().iter().filter(|asked| asked.contains("[hello]")).count();
        // Its hook confirms a message before the model is asked.
        let is_all = (count, lab.times_continued()) == (1, 1);
        if is_all { Ok(()) } else { Err(lab.dogwatch(&["messages"]).text()) }
    });
    let _killed = lab.dogwatch(&["kill", "b", "--now"]).success();
    lab.end(&["--now"]);
}

/// Sessions that would switch or fall back wait for their account too, and a pause does not release what is held. One that only notifies
/// is left alone.
#[test]
fn all_sessions_of_a_limited_account_are_held() {
    let limit = r#"{ kind = "usage_limit", resets_in_s = 7200, message = "You have reached your usage limit, try again in 7200 seconds" }"#;
    let Some(lab) = Lab::limited(Agent::Claude, limit) else { return };
    lab.spawn(&["--unattended", "--when-limited", "wait", "--prompt", "[work]"]);
    lab.limit_becomes("armed");
    let spawn = |name: &str, policy: &str| {
        let prompt = format!("[hello] {name}");
        let args = ["spawn", "claude", "--name", name, "--when-limited", policy, "-p", &prompt];
        lab.dogwatch(&args).success().to_string()
    };
    let held = "its account is limited; the prompt is delivered at ";
    assert!(spawn("b", "fallback:codex").contains(held));
    let _paused = lab.dogwatch(&["limits", "pause"]).success();
    assert!(spawn("c", "switch:small").contains(held));
    assert!(!spawn("d", "notify").contains(held));
    patiently("the prompt of the one that is not held arrives", || {
        let is_there = lab.asked().iter().any(|asked| asked.contains("[hello] d"));
        if is_there { Ok(()) } else { Err(lab.dogwatch(&["messages"]).text()) }
    });
    for name in ["b", "c"] {
        let prompt = format!("[hello] {name}");
        assert!(!lab.asked().iter().any(|asked| asked.contains(&prompt)), "{name}");
        let _killed = lab.dogwatch(&["kill", name, "--now"]).success();
    }
    let _killed = lab.dogwatch(&["kill", "d", "--now"]).success();
    lab.end(&["--now"]);
}
