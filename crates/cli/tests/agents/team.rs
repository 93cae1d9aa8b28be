//! Teams of real agents: started, at work, reporting back, closed.

use std::time::Duration;

use dogwatch_testkit::{eventually, eventually_or, wait_within};
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

impl Lab {
    /// The members of the team that session `a` leads.
    fn members(&self) -> Vec<Value> {
        let team = self.dogwatch(&["team", "a", "--json"]).success().json();
        team["members"].as_array().unwrap().clone()
    }

    /// Waits until so many members may be closed.
    #[track_caller]
    fn ready(&self, count: usize) {
        let is_ready = |member: &&Value| member["closing"]["status"] == "ready-to-close";
        // Five agents start on one machine.
        let at_most = Duration::from_secs(100);
        let what = || format!("{count} are ready: {:#?}", self.members());
        wait_within(at_most, what, || {
            (self.members().iter().filter(is_ready).count() == count).then_some(())
        });
    }

    /// The reports that the model of the master was told of.
    fn reports(&self) -> Vec<String> {
        let asked = self.asked().into_iter();
        let lines = asked.flat_map(|text| text.lines().map(ToOwned::to_owned).collect::<Vec<_>>());
        let mut reports: Vec<String> = lines
            .filter(|line| line.contains("STEP COMPLETE:"))
            .map(|line| line.trim().to_owned())
            .collect();
        reports.sort();
        reports.dedup();
        reports
    }

    fn member(&self, role: &str, agent: &str, task: &str) -> Value {
        let words = [
            "pane",
            "spawn",
            "--role",
            role,
            "--master",
            "a",
            "--unattended",
            "--task",
            task,
            "--json",
            agent,
        ];
        self.dogwatch(&words).success().json()
    }

    fn pane_count(&self) -> usize {
        self.env.tmux(&["list-panes", "-t", "=a:", "-F", "#{pane_id}"]).lines().count()
    }
}

#[test]
fn one_master_and_four_roles() {
    let Some(lab) = Lab::for_a_team(Agent::Claude, Agent::Codex) else { return };
    let master = lab.spawn(&["--unattended", "--prompt", "[lead]"]);
    eventually("the first is there", || lab.pane_count() > 1);
    lab.ready(4);
    let members = lab.members();
    let roles: Vec<&str> = members.iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["master", "dev", "qa", "architect", "research"]);
    assert_eq!(members[4]["session"]["agent"], "codex");
    for (number, member) in members.iter().enumerate().skip(1) {
        assert_eq!(member["task"]["status"], "done", "{member:#}");
        assert_eq!(member["task"]["task"], format!("TASK-{number:03}"), "{member:#}");
        for ticked in
            ["report_back_sent", "session_id_saved", "task_marked_done", "ready_to_close_set"]
        {
            assert_eq!(member["closing"][ticked], true, "{member:#}");
        }
    }
    eventually_or("the master heard of all", || match lab.reports() {
        reports if reports.len() == 4 => Ok(()),
        reports => Err(format!("{reports:#?}")),
    });
    for (number, report) in lab.reports().iter().enumerate() {
        let task = number + 1;
        assert!(
            report.contains(&format!("STEP COMPLETE: TASK-{task:03} | result: pass | session: ")),
            "{report}"
        );
    }
    let messages = lab.dogwatch(&["messages", "a", "--json"]).success().json();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 4, "told once each: {messages:#}");

    let dev = members[1]["pane"].as_str().unwrap();
    assert!(lab.env.screen("work-dev").contains("dev-agent"), "{}", lab.env.screen("work-dev"));
    let places =
        lab.env.tmux(&["list-panes", "-t", dev, "-F", "#{pane_id} #{pane_left},#{pane_top}"]);
    assert!(
        places.starts_with(&format!("{} 0,0\n", master.pane)),
        "the master kept its place: {places}"
    );

    for member in &members[1..] {
        let closed = lab
            .dogwatch(&["pane", "close", member["pane"].as_str().unwrap(), "--json"])
            .success()
            .json();
        assert_eq!(
            (&closed["by"], &closed["exit"]["code"]),
            (&"exit".into(), &0.into()),
            "{closed:#}"
        );
    }
    assert_eq!(lab.pane_count(), 1);
    assert_eq!(lab.members().len(), 1);
    lab.end(&["--now"]);
}

/// Colour and name are there, and the task comes after them, as a message of its own.
fn told_who_it_is(agent: Agent, expected: &[&str]) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.env.tmux(&["new-session", "-d", "-s", "a", "-x", "200", "-y", "50", "cat"]);
    let words = [
        "pane",
        "spawn",
        "--role",
        "dev",
        "--master",
        "%0",
        "--unattended",
        "--task",
        "[gate]",
        "--json",
    ];
    let made = lab.dogwatch(&[&words[..], &[agent.name()]].concat()).success().json();
    assert_eq!(
        (&made["told"]["by"], &made["warnings"]),
        (&"message".into(), &Value::Array(vec![])),
        "{made:#}"
    );
    let sent = lab.dogwatch(&["messages", "--json"]).success().json();
    let sent: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().filter_map(|m| m["text"].as_str()).collect();
    assert_eq!(&sent[..sent.len() - 1], expected);
    assert!(sent[sent.len() - 1].ends_with("Your task, TASK-001:\n\n[gate]"), "{sent:?}");
    lab.env.wait_screen("work-dev", "Waiting at the gate.");
    lab.double.release("gate");
    let _ = lab.dogwatch(&["wait", "work-dev", "--for", "idle", "--timeout", "30s"]).success();
    let refused = lab.dogwatch(&["pane", "close", "work-dev"]).code(4);
    assert!(refused.to_string().contains("not marked ready-to-close"), "{refused}");
    let closed = lab.dogwatch(&["pane", "close", "work-dev", "--force", "--json"]).success().json();
    assert_eq!((&closed["by"], &closed["exit"]["code"]), (&"exit".into(), &0.into()), "{closed:#}");
}

#[test]
fn claude_is_told_who_it_is() {
    told_who_it_is(Agent::Claude, &["/color green", "/rename dev-agent"]);
}

#[test]
fn codex_is_told_who_it_is() {
    told_who_it_is(Agent::Codex, &["/rename dev-agent"]);
}

/// A question is open in the master's pane: a report must not answer it, and is not lost.
#[test]
fn a_report_waits_for_an_open_dialog() {
    let Some(lab) = Lab::for_a_team(Agent::Claude, Agent::Codex) else { return };
    lab.spawn(&["--prompt", "[ask]"]);
    let _ = lab.dogwatch(&["wait", "a", "--for", "waiting", "--timeout", "30s"]).success();
    let member = lab.member("dev", "claude", "[hello]");
    let pane = member["pane"].as_str().unwrap().to_owned();
    let complete =
        ["agent", "complete", "--result", "pass", "--pane", &pane, "--timeout", "2s", "--json"];
    let refused = lab.dogwatch(&complete).code(1).json();
    assert_eq!(refused["error"]["code"], "not_reported", "{refused:#}");
    let waiting = lab.members().into_iter().find(|m| m["pane"] == pane.as_str()).unwrap();
    assert_eq!(waiting["task"]["status"], "done");
    assert_eq!(waiting["closing"]["report_back_sent"], false);
    let _ = lab.dogwatch(&["pane", "close", &pane]).code(4);
    let _ = lab.dogwatch(&["answer", "a", "1"]).success();
    let done = lab
        .dogwatch(&["agent", "complete", "--result", "pass", "--pane", &pane, "--json"])
        .success()
        .json();
    assert_eq!((&done["told"]["by"], &done["ready_to_close"]), (&"message".into(), &true.into()));
    let messages = lab.dogwatch(&["messages", "a", "--json"]).success().json();
    let delivered = |m: &&Value| m["outcome"] == "delivered";
    assert_eq!(
        messages["messages"].as_array().unwrap().iter().filter(delivered).count(),
        1,
        "{messages:#}"
    );
    let _ = lab.dogwatch(&["pane", "close", &pane]).success();
    lab.end(&["--now"]);
}

/// The master was started by a person, by hand: it is told all the same.
#[test]
fn a_master_that_somebody_else_started() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let master = lab.start_by_hand();
    // Not by `wait`: until its launcher has started it, another process is the agent in the pane.
    let state =
        || serde_json::from_slice::<Value>(&lab.dogwatch(&["why", &master, "--json"]).stdout);
    eventually("it is at its prompt", || state().is_ok_and(|said| said["state"] == "idle"));
    let words = ["pane", "spawn", "--role", "dev", "--unattended", "--task", "[member]", "--json"];
    let made = lab.dogwatch(&[&words[..], &["--master", &master]].concat()).success().json();
    assert_eq!(
        (&made["master"], &made["warnings"]),
        (&master.as_str().into(), &Value::Array(vec![]))
    );
    let listed = || lab.dogwatch(&["task", "list", "--status", "done", "--json"]).success().json();
    eventually("it is done", || listed()["tasks"].as_array().is_some_and(|tasks| tasks.len() == 1));
    eventually("the master heard of it", || lab.reports().len() == 1);
    let closing = || {
        let team = lab.dogwatch(&["team", &master, "--json"]).success().json();
        team["members"][1]["closing"]["status"].clone()
    };
    eventually("it may be closed", || closing() == "ready-to-close");
    let _ = lab.dogwatch(&["pane", "close", "work-dev"]).success();
    assert_eq!(lab.dogwatch(&["pane", "verify", &master]).success().code, Some(0));
}

#[test]
fn a_pane_that_is_killed_behind_our_back() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.env.tmux(&["new-session", "-d", "-s", "a", "-x", "200", "-y", "50", "cat"]);
    let words =
        ["pane", "spawn", "--role", "dev", "--master", "%0", "--unattended", "--task", "[gate]"];
    let pane = lab.dogwatch(&words).success().text().trim().to_owned();
    lab.env.wait_screen("work-dev", "Waiting at the gate.");
    lab.env.tmux(&["kill-pane", "-t", &pane]);
    let dev = || {
        let team = lab.dogwatch(&["team", "%0", "--json"]).success().json();
        team["members"].as_array().unwrap().get(1).cloned()
    };
    eventually("it is missed", || dev().is_some_and(|dev| dev["session"]["state"] == "stopped"));
    let closed = lab.dogwatch(&["pane", "close", &pane, "--json"]).success().json();
    assert_eq!(closed["by"], "gone");
    assert_eq!(dev(), None);
    let again = lab.dogwatch(&[
        "pane",
        "spawn",
        "--role",
        "dev",
        "--master",
        "%0",
        "--unattended",
        "--task-id",
        "TASK-001",
        "--json",
    ]);
    let again = again.success().json();
    assert_eq!(
        (&again["task"], &again["name"]),
        (&"TASK-001".into(), &"work-dev".into()),
        "taken up by another"
    );
    let _ = lab.dogwatch(&["kill", "--now", "work-dev"]).success();
}
