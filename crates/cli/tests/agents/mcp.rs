//! Real agents that supervise real agents: by MCP, and by commands as the skill says. The double plays what their models decide.

use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_testkit::{TestEnv, dogwatch, skip, wait_within};
use model_double::homes::Agent;
use model_double::{Options, agents};
use serde_json::Value;

use crate::lab::Lab;

/// What the workers do: ask a question, crash, hit a limit.
const WORKERS: &str = r#"
default = ["I am the model double."]

[[rule]]
match = '\[ask\]'
steps = [
  { ask = { question = "Which database should I use?", header = "Database", options = ["PostgreSQL", "SQLite"] } },
  "Answer noted.",
]

[[rule]]
match = '\[die\]'
steps = [{ shell = "kill -9 $PPID" }, "Still here."]

[[rule]]
match = '\[usage-limit\]'
steps = [{ error = { kind = "usage_limit", resets_in_s = 3600 } }]

[[rule]]
match = '\[dogwatch\]'
steps = ["Noted."]
"#;

/// What the lead does with the tools of the MCP server. It never waits and never looks: what happens comes to it.
const BY_MCP: &str = r#"
[[rule]]
match = '\[orchestrate\]'
steps = [
  [
    { tool = { name = "dogwatch/spawn", args = { agent = "claude", name = "w1", unattended = true } } },
    { tool = { name = "dogwatch/spawn", args = { agent = "claude", name = "w2", unattended = true } } },
    { tool = { name = "dogwatch/spawn", args = { agent = "claude", name = "w3", unattended = true } } },
  ],
  [
    { tool = { name = "dogwatch/job_submit", args = { session = "w1", prompt = "[ask] please", key = "1", notify_me = true } } },
    { tool = { name = "dogwatch/job_submit", args = { session = "w2", prompt = "[die] please", key = "2", notify_me = true } } },
    { tool = { name = "dogwatch/job_submit", args = { session = "w3", prompt = "[usage-limit] please", key = "3", notify_me = true } } },
  ],
  "They work.",
]

[[rule]]
match = '\[dogwatch\](?:.|\n)*--dialog'
steps = [
  { tool = { name = "dogwatch/answer", args = { session = "w1", mark = "$after --dialog", choice = "1" } } },
  "Answered.",
]
"#;

/// The same with the commands of the skill.
const BY_SKILL: &str = r#"
[[rule]]
match = '\[orchestrate\]'
steps = [
  { shell = { command = "for w in w1 w2 w3; do PATH=@PATH@ $DOGWATCH_BIN spawn claude --name $w --unattended; done", timeout_ms = 100000 } },
  { shell = { command = "$DOGWATCH_BIN job submit w1 '[ask] please' --notify-me --timeout 20s; $DOGWATCH_BIN job submit w2 '[die] please' --notify-me --timeout 20s; $DOGWATCH_BIN job submit w3 '[usage-limit] please' --notify-me --timeout 20s", timeout_ms = 100000 } },
  "They work.",
]

[[rule]]
match = '\[dogwatch\](?:.|\n)*--dialog'
steps = [{ shell = "$DOGWATCH_BIN answer w1 1" }, "Answered."]
"#;

fn lab(agent: Agent, rules: &str) -> Option<Lab> {
    // Rules of the lead come first: of those that match at the same place the first one counts.
    let (head, tail) = WORKERS.split_once("\n\n").unwrap();
    // A login shell, which codex runs commands in, has a search path of its own.
    let claude = agents::pinned("claude").and_then(|pinned| pinned.installed());
    let folder = claude.as_deref().and_then(Path::parent).unwrap_or(Path::new("/")).display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let scenario = format!("{head}\n{rules}\n{tail}").replace("@PATH@", &path);
    let lab = Lab::with_scenario(agent, &Options::default(), &scenario)?;
    let lab = if agent == Agent::Claude { lab } else { lab.joined_by(Agent::Claude)? };
    let folder = lab.env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let allow = "[mcp]\nallow = ['spawn', 'job_submit', 'answer', 'unattended']\n";
    fs::write(folder.join("config.toml"), allow).unwrap();
    Some(lab)
}

impl Lab {
    fn sent_to_lead(&self) -> Vec<String> {
        let listed = self.dogwatch(&["messages", "a", "--json"]).success().json();
        let messages = listed["messages"].as_array().unwrap().clone();
        let ours = messages.into_iter().filter(|message| message["outcome"] == "delivered");
        let text = |message: Value| message["text"].as_str().unwrap().to_owned();
        ours.map(text).filter(|text| text.starts_with("[dogwatch]")).collect()
    }

    fn job_of(&self, session: &str) -> Value {
        let listed = self.dogwatch(&["job", "ls", session, "--json"]).success().json();
        let jobs = listed["jobs"].as_array().unwrap().clone();
        assert!(jobs.len() <= 1, "nothing is done twice: {jobs:#?}");
        jobs.into_iter().next().unwrap_or_default()
    }

    /// Tool calls of the MCP server that were recorded.
    fn calls(&self) -> Vec<String> {
        let said = self.dogwatch(&["events", "--kind", "tool_call", "--json"]).success().text();
        let events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let call = |event: Value| {
            let data = &event["data"];
            let text = |key: &str| data[key].as_str().unwrap().to_owned();
            format!("{} by {}: {}", text("tool"), text("by"), text("outcome"))
        };
        events.map(call).collect()
    }

    /// The whole exercise: the lead is given one prompt, and everything else comes to it.
    fn orchestrate(&self) {
        let _sent = self.dogwatch(&["send", "a", "[orchestrate]", "--timeout", "60s"]).success();
        let wanted = ["w1 waits", "w1 finished", "w2 failed", "w3 failed"];
        let begun = std::time::Instant::now();
        let mut found = Vec::new();
        // Three agents start, on a machine that may be busy.
        while begun.elapsed().as_secs() < 180 {
            found = self.sent_to_lead();
            if wanted.iter().all(|text| found.iter().any(|one| one.contains(text))) {
                break;
            }
            // sleep: the next look; what is waited for has no event of its own here.
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        for text in wanted {
            let count = found.iter().map(|one| one.matches(text).count()).sum::<usize>();
            let jobs: Vec<Value> = ["w1", "w2", "w3"].map(|name| self.job_of(name)).into();
            let screen = self.dogwatch(&["capture", "a"]).text();
            assert_eq!(count, 1, "{text}: {found:#?}\n{jobs:#?}\n{:#?}\n{screen}", self.calls());
        }
        let done = self.job_of("w1");
        assert_eq!((&done["state"], &done["result"]), (&"done".into(), &"Answer noted.".into()));
        assert_eq!(self.job_of("w2")["state"], "failed");
        assert_eq!(self.job_of("w3")["state"], "failed");
    }
}

fn by_mcp(agent: Agent) {
    let Some(lab) = lab(agent, BY_MCP) else { return };
    let program = dogwatch();
    if agent == Agent::Claude {
        let config =
            format!(r#"{{"mcpServers":{{"dogwatch":{{"command":"{program}","args":["mcp"]}}}}}}"#);
        let file = lab.env.write("mcp.json", config).display().to_string();
        lab.spawn(&["--unattended", "--", "--mcp-config", &file]);
    } else {
        let command = format!("mcp_servers.dogwatch.command=\"{program}\"");
        let args = "mcp_servers.dogwatch.args=[\"mcp\"]";
        lab.spawn(&["--unattended", "--", "-c", &command, "-c", args]);
    }
    // Clients connect to servers in the background.
    let patience = std::time::Duration::from_secs(90);
    wait_within(
        patience,
        || "the tools are offered".to_owned(),
        || {
            let _sent = lab.dogwatch(&["send", "a", "Hello?", "--timeout", "20s"]);
            let requests = lab.double.requests();
            let asked = requests.iter().rev().filter_map(|request| request.question.as_ref());
            let tools =
                asked.clone().find(|q| !q.side).map(|q| q.tools.clone()).unwrap_or_default();
            // Codex lists a tool that searches for them.
            let has = tools.iter().any(|tool| tool.contains("dogwatch") || tool == "tool_search");
            has.then_some(())
        },
    );
    lab.orchestrate();
    let calls = lab.calls();
    let count =
        |tool: &str| calls.iter().filter(|call| **call == format!("{tool} by agent a: ok")).count();
    assert_eq!((count("spawn"), count("job_submit"), count("answer")), (3, 3, 1), "{calls:#?}");
    assert_eq!(calls.len(), 7, "nothing was polled, nothing done twice: {calls:#?}");
}

fn by_skill(agent: Agent) {
    let Some(lab) = lab(agent, BY_SKILL) else { return };
    let _written = lab.dogwatch(&["install-skill", agent.name()]).success();
    lab.spawn(&["--unattended"]);
    lab.orchestrate();
}

/// The official client checks every result against the schema of its tool.
#[test]
fn the_inspector_accepts_every_result() {
    let Some(inspector) = inspector() else { return };
    let env = TestEnv::new();
    env.add_profile("robot", "[input]\n", "echo ready; exec sleep 600");
    let call = |tool: &str, arguments: &[&str]| {
        let mut command = env.foreign(&inspector);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["--cli", dogwatch(), "mcp", "--method", "tools/call", "--tool-name", tool]);
        for argument in arguments {
            command.args(["--tool-arg", argument]);
        }
        let said = env.run(&mut command).success().json();
        assert_eq!(said["isError"], false, "{tool}: {said:#}");
        said["structuredContent"].clone()
    };
    let spawned = call("spawn", &["agent=robot", "name=w"]);
    assert_eq!(spawned["name"], "w");
    let cursor = format!("cursor={}", spawned["cursor"]);
    assert_eq!(call("sessions", &[])["sessions"][0]["name"], "w");
    assert_eq!(call("why", &["session=w"])["name"], "w");
    assert_eq!(call("capture", &["session=w", "lines=5"])["name"], "w");
    assert!(call("since", &[&cursor])["cursor"].is_number());
    let asked = call("ask_person", &["question=Which one?", "key=q"]);
    assert_eq!(asked["state"], "open");
    assert!(call("send", &["session=w", "text=hello", "wait=0"])["outcome"].is_string());
    let job = call("job_submit", &["session=w", "prompt=work", "key=k"]);
    let id = format!("job={}", job["id"].as_str().unwrap());
    assert_eq!(call("job_result", &[&id])["id"], job["id"]);
    for method in ["tools/list", "resources/list", "resources/templates/list"] {
        let mut command = env.foreign(&inspector);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["--cli", dogwatch(), "mcp", "--method", method]);
        assert!(env.run(&mut command).success().json().is_object(), "{method}");
    }
}

/// The program that `lab/mcp/install` installs; a test without it is skipped.
fn inspector() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let folder = cache.or_else(home)?.join("dogwatch/lab-mcp");
    let installed = fs::read_dir(folder).into_iter().flatten().flatten();
    let program = |entry: fs::DirEntry| entry.path().join("node_modules/.bin/mcp-inspector");
    let found = installed.map(program).find(|program| program.exists());
    if found.is_none() {
        let why = "the MCP inspector is not installed; run lab/mcp/install";
        skip::skipped(skip::AGENTS, why);
    }
    found
}

#[test]
fn claude_supervises_three_workers_by_mcp() {
    by_mcp(Agent::Claude);
}

#[test]
fn codex_supervises_three_workers_by_mcp() {
    by_mcp(Agent::Codex);
}

#[test]
fn claude_supervises_three_workers_by_the_skill() {
    by_skill(Agent::Claude);
}
