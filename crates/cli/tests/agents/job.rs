//! Jobs for real agents: followed to their end by evidence, whatever becomes of those who gave them.

use std::process::Stdio;
use std::time::{Duration, Instant};

use dogwatch_testkit::{eventually, eventually_or};
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

impl Lab {
    fn submit(&self, prompt: &str, more: &[&str]) -> Value {
        let mut words = vec!["job", "submit", "a", prompt, "--json"];
        words.extend(more);
        self.dogwatch(&words).json()
    }

    fn job(&self, job: &Value) -> Value {
        self.dogwatch(&["job", "show", job["id"].as_str().unwrap(), "--json"]).success().json()
    }

    #[track_caller]
    fn job_becomes(&self, job: &Value, state: &str) -> Value {
        let mut found = Value::Null;
        eventually_or(&format!("the job is {state}"), || {
            found = self.job(job);
            if found["state"] == state { Ok(()) } else { Err(format!("{found:#}")) }
        });
        found
    }

    /// The states that were told of a job, in order.
    fn told_of_jobs(&self) -> Vec<String> {
        let dir = dogwatch_store::StateDir::open(self.env.state_dir()).unwrap();
        let session = self.session("a").id;
        let journal = dogwatch_store::Store::open(&dir).unwrap().journal(&session).unwrap();
        let jobs = journal.into_iter().filter(|entry| entry.event.kind == "job");
        jobs.map(|entry| entry.event.data["state"].as_str().unwrap().to_owned()).collect()
    }
}

fn done_with_its_result(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended"]);
    let done = lab.submit("[tool] please", &["--wait", "--timeout", "60s"]);
    assert_eq!(
        (&done["state"], &done["result"]),
        (&"done".into(), &"Tool done.".into()),
        "{done:#}"
    );
    for time in ["submitted", "delivered", "running", "ended"] {
        assert!(done[time].is_string(), "{done:#}");
    }
    assert_eq!(lab.told_of_jobs(), ["queued", "delivered", "running", "done"]);
    let second = lab.submit("[hello]", &["--wait", "--timeout", "60s"]);
    assert_eq!(second["result"], "Hello from the double.", "of this very message: {second:#}");
    let status = lab.dogwatch(&["status", "--json"]).success().json();
    assert_eq!(status["sessions"][0]["job"]["state"], "done");
    let table = lab.dogwatch(&["status"]).success().text();
    assert!(table.contains("JOB"), "{table}");
    let listed = lab.dogwatch(&["job", "ls", "a", "--json"]).success().json();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 2);
    lab.end(&["--now"]);
}

/// One that is over is not running because the next one is.
fn one_after_the_other(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended"]);
    let first = lab.submit("[hello]", &["--timeout", "60s"]);
    let second = lab.submit("[gate]", &["--timeout", "60s"]);
    lab.job_becomes(&second, "running");
    lab.job_becomes(&first, "done");
    assert_eq!(lab.job(&second)["state"], "running");
    lab.end(&["--now"]);
}

#[test]
fn claude_does_one_job_after_the_other() {
    one_after_the_other(Agent::Claude);
}

#[test]
fn codex_does_one_job_after_the_other() {
    one_after_the_other(Agent::Codex);
}

#[test]
fn claude_does_a_job() {
    done_with_its_result(Agent::Claude);
}

#[test]
fn codex_does_a_job() {
    done_with_its_result(Agent::Codex);
}

fn killed_in_its_turn(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&[]);
    let job = lab.submit("[gate]", &["--timeout", "60s"]);
    lab.job_becomes(&job, "running");
    let pid = rustix::process::Pid::from_raw(session.pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let failed = lab.job_becomes(&job, "failed");
    let because = failed["because"].as_str().unwrap();
    assert!(because.starts_with("the session ended: "), "{failed:#}");
    let over =
        lab.dogwatch(&["job", "cancel", job["id"].as_str().unwrap(), "--json"]).code(4).json();
    assert_eq!(over["error"]["code"], "job_over");
    let refused = lab.dogwatch(&["job", "submit", "a", "x", "--json"]).code(4).json();
    assert_eq!(refused["error"]["code"], "is_over");
}

#[test]
fn claude_is_killed_at_its_job() {
    killed_in_its_turn(Agent::Claude);
}

#[test]
fn codex_is_killed_at_its_job() {
    killed_in_its_turn(Agent::Codex);
}

fn a_dialog_holds_it_up(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&[]);
    let job = lab.submit("[ask]", &["--timeout", "60s"]);
    eventually("it waits for an answer", || !lab.job(&job)["waiting"].is_null());
    let waiting = lab.job(&job);
    assert_eq!(waiting["state"], "running", "{waiting:#}");
    let question = waiting["waiting"].as_str().unwrap();
    assert!(question.contains("Which database should I use?"), "{question}");
    let id = job["id"].as_str().unwrap();
    let refused = lab.dogwatch(&["job", "cancel", id, "--json"]).code(1).json();
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("a dialog is open"),
        "{refused}"
    );
    let _ = lab.dogwatch(&["answer", "a", "1"]).success();
    let done = lab.dogwatch(&["job", "wait", id, "--timeout", "60s", "--json"]).success().json();
    assert_eq!((&done["state"], &done["waiting"]), (&"done".into(), &Value::Null), "{done:#}");
    assert_eq!(done["result"], "Answer noted.");
    lab.end(&["--now"]);
}

#[test]
fn a_dialog_of_claude_holds_a_job_up() {
    a_dialog_holds_it_up(Agent::Claude);
}

#[test]
fn a_dialog_of_codex_holds_a_job_up() {
    a_dialog_holds_it_up(Agent::Codex);
}

fn cancelled(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&[]);
    let running = lab.submit("[gate]", &["--timeout", "60s"]);
    lab.job_becomes(&running, "running");
    lab.env.wait_screen("a", "Waiting at the gate.");
    // The agent is at work, so this one stays where it is.
    let queued = lab.submit("[hello]", &["--timeout", "1s"]);
    assert_eq!(queued["state"], "queued", "{queued:#}");
    let cancel = |job: &Value| {
        let id = job["id"].as_str().unwrap().to_owned();
        lab.dogwatch(&["job", "cancel", &id, "--json"]).success().json()
    };
    assert_eq!(cancel(&queued)["state"], "cancelled");
    assert_eq!(cancel(&running)["state"], "cancelled");
    let next = lab.submit("[hello]", &["--wait", "--timeout", "60s"]);
    assert_eq!(next["result"], "Hello from the double.", "{next:#}");
    assert!(!lab.asked().iter().skip(2).any(|asked| asked.contains("[gate]")));
    lab.end(&["--now"]);
}

#[test]
fn a_job_of_claude_is_cancelled() {
    cancelled(Agent::Claude);
}

#[test]
fn a_job_of_codex_is_cancelled() {
    cancelled(Agent::Codex);
}

/// Interrupted before it has said a word, claude takes the message back into its box.
fn cancelled_before_a_word(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&[]);
    let job = lab.submit("[silent-gate]", &["--timeout", "60s"]);
    lab.job_becomes(&job, "running");
    eventually("the model is asked", || {
        lab.asked().iter().any(|asked| asked.contains("[silent-gate]"))
    });
    let id = job["id"].as_str().unwrap();
    let cancelled = lab.dogwatch(&["job", "cancel", id, "--json"]).success().json();
    assert_eq!(cancelled["state"], "cancelled", "{cancelled:#}");
    lab.end(&["--now"]);
}

#[test]
fn a_job_of_claude_is_cancelled_before_a_word() {
    cancelled_before_a_word(Agent::Claude);
}

#[test]
fn a_job_of_codex_is_cancelled_before_a_word() {
    cancelled_before_a_word(Agent::Codex);
}

/// One that is killed while it waits for the agent, and one that is killed while it waits for the end.
#[test]
fn who_submits_may_be_killed() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    let mut submit = lab.env.command(&["job", "submit", "a", "[hello]", "--json"]);
    let mut submit = submit.stdout(Stdio::null()).spawn().unwrap();
    let jobs = || lab.dogwatch(&["job", "ls", "--json"]).success().json()["jobs"].clone();
    eventually("it is filed", || jobs()[0]["state"] == "queued");
    let posted = || lab.dogwatch(&["messages", "--json"]).success().json()["messages"][0].clone();
    eventually("it is posted", || posted()["outcome"] == "queued");
    submit.kill().unwrap();
    submit.wait().unwrap();
    lab.double.release("gate");
    let job = jobs()[0].clone();
    let id = job["id"].as_str().unwrap();
    let mut wait = lab.env.command(&["job", "wait", id]);
    let mut wait = wait.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("somebody else delivers it", || {
        lab.asked().iter().any(|asked| asked.contains("[hello]"))
    });
    wait.kill().unwrap();
    wait.wait().unwrap();
    let done = lab.job_becomes(&job, "done");
    assert_eq!(done["result"], "Hello from the double.");
    // Reading it does not record it: the supervisor does, a moment later.
    eventually("its end is recorded", || lab.told_of_jobs().last().is_some_and(|s| s == "done"));
    // A short turn may end before any process saw it run.
    let told = lab.told_of_jobs();
    let mut in_order = ["queued", "delivered", "running", "done"].iter();
    assert!(told.iter().all(|state| in_order.any(|next| next == state)), "{told:?}");
    assert_eq!(told.first().map(String::as_str), Some("queued"));
    assert_eq!(lab.asked().iter().filter(|asked| asked.contains("[hello]")).count(), 1);
    lab.end(&["--now"]);
}

/// A watcher settles jobs, with nobody asking for them.
#[test]
fn a_watcher_follows_jobs() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&[]);
    let mut watch = lab.env.command(&["watch", "--json"]);
    let mut watch = watch.stdout(Stdio::null()).spawn().unwrap();
    lab.submit("[hello]", &["--timeout", "60s"]);
    eventually("the watcher writes its end down", || {
        lab.told_of_jobs().last().is_some_and(|state| state == "done")
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    lab.end(&["--now"]);
}

#[test]
fn one_is_created_with_a_job() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let create = ["create", "claude", "--name", "a", "--submit-job", "[hello]", "--json"];
    let made = lab.dogwatch(&create).success().json();
    let id = made["job"]["id"].as_str().unwrap_or_else(|| panic!("{made:#}"));
    let done = lab.dogwatch(&["job", "wait", id, "--timeout", "60s", "--json"]).success().json();
    assert_eq!(done["result"], "Hello from the double.");
    let listed = lab.dogwatch(&["registry", "--json"]).success().json();
    assert_eq!(listed["sessions"][0]["delegate_job_id"], id, "{listed:#}");
    lab.end(&["--now"]);
}

/// What a person may do to a job at the agent's own screen.
#[derive(Clone, Copy)]
enum Deed {
    /// Chooses the last option of the dialog.
    Refuses,
    Presses(&'static str),
}

/// The job fails, and says so in these words.
fn stopped_by_a_person(agent: Agent, prompt: &str, deed: Deed, because: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    let careful = ["--", "--sandbox", "read-only", "--ask-for-approval", "on-request"];
    let session = lab.spawn(if agent == Agent::Codex { &careful } else { &[] });
    let job = lab.submit(prompt, &["--timeout", "60s"]);
    let why = || lab.dogwatch(&["why", "a", "--json"]).success().json();
    if prompt == "[gate]" {
        lab.env.wait_screen("a", "Waiting at the gate.");
    } else {
        eventually("it asks for permission", || why()["options"].is_array());
    }
    match deed {
        Deed::Refuses => {
            let last = why()["options"].as_array().unwrap().len().to_string();
            let _answered = lab.dogwatch(&["answer", "a", &last]).success();
        }
        // claude ignores keys for a moment after a dialog appeared.
        Deed::Presses(key) => eventually("the agent takes the key", || {
            lab.env.keys(&session, &[key]);
            let pressed = Instant::now();
            while why()["state"] == "waiting" && pressed.elapsed() < Duration::from_secs(3) {
                // sleep: the interval of a poll.
                std::thread::sleep(Duration::from_millis(50));
            }
            why()["state"] != "waiting"
        }),
    }
    let failed = lab.job_becomes(&job, "failed");
    assert!(failed["because"].as_str().unwrap().starts_with(because), "{failed:#}");
    let status = why();
    assert_eq!((&status["state"], &status["interrupted"]), (&"idle".into(), &true.into()));
    lab.end(&["--now"]);
}

const INTERRUPTED: &str = "the turn was interrupted";

#[test]
fn claude_is_refused_a_permission() {
    let because = "permission denied: Bash echo dogwatch-tool-ran";
    stopped_by_a_person(Agent::Claude, "[tool]", Deed::Refuses, because);
}

#[test]
fn claude_is_refused_a_permission_by_escape() {
    let because = "permission denied: Bash echo dogwatch-tool-ran";
    stopped_by_a_person(Agent::Claude, "[tool]", Deed::Presses("Escape"), because);
}

#[test]
fn claude_is_interrupted_by_escape() {
    stopped_by_a_person(Agent::Claude, "[gate]", Deed::Presses("Escape"), INTERRUPTED);
}

#[test]
fn claude_is_interrupted_by_ctrl_c() {
    stopped_by_a_person(Agent::Claude, "[gate]", Deed::Presses("C-c"), INTERRUPTED);
}

#[test]
fn codex_is_refused_a_permission() {
    let because = "the turn was interrupted: apply_patch";
    stopped_by_a_person(Agent::Codex, "[write]", Deed::Refuses, because);
}

#[test]
fn codex_is_refused_a_permission_by_escape() {
    let because = "the turn was interrupted: apply_patch";
    stopped_by_a_person(Agent::Codex, "[write]", Deed::Presses("Escape"), because);
}

#[test]
fn codex_is_interrupted_by_escape() {
    stopped_by_a_person(Agent::Codex, "[gate]", Deed::Presses("Escape"), INTERRUPTED);
}

#[test]
fn codex_is_interrupted_by_ctrl_c() {
    stopped_by_a_person(Agent::Codex, "[gate]", Deed::Presses("C-c"), INTERRUPTED);
}
