//! Real agents that supervise real agents: by MCP, and by commands as the skill says. The double plays what their models decide.

use std::fs;
use std::path::Path;

use dogwatch_testkit::{dogwatch, wait_within};
use model_double::homes::Agent;
use model_double::{Options, Request, agents};
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
    { tool = { name = "dogwatch/spawn", args = { agent = "codex", name = "w3", unattended = true } } },
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

/// What claude's model has to do first, unless all tools are listed at once.
const SEARCH: &str = r#"
  { tool = { name = "ToolSearch", args = { query = "select:mcp__dogwatch__spawn,mcp__dogwatch__job_submit,mcp__dogwatch__answer", max_results = 5 } } },
"#;

/// The same with the commands of the skill.
const BY_SKILL: &str = r#"
[[rule]]
match = '\[orchestrate\]'
steps = [
  @READ@,
  { shell = { command = "for w in w1 w2 w3; do PATH=@PATH@ $DOGWATCH_BIN spawn claude --name $w --unattended; done", timeout_ms = 100000 } },
  { shell = { command = "$DOGWATCH_BIN job submit w1 '[ask] please' --notify-me; $DOGWATCH_BIN job submit w2 '[die] please' --notify-me; $DOGWATCH_BIN job submit w3 '[usage-limit] please' --notify-me", timeout_ms = 100000 } },
  "They work.",
]

[[rule]]
match = '\[dogwatch\](?:.|\n)*--dialog'
steps = [{ shell = "$DOGWATCH_BIN answer w1 1" }, "Answered."]
"#;

fn lab(agent: Agent, rules: &str) -> Option<Lab> {
    // Rules of the lead come first: of those that match at the same place the first one counts.
    let (head, tail) = WORKERS.split_once("\n\n").unwrap();
    // Claude has a tool that reads skills; codex reads the file.
    let read = match agent {
        Agent::Claude => r#"{ tool = { name = "Skill", args = { skill = "dogwatch" } } }"#,
        _ => r#"{ shell = "cat ~/.codex/skills/dogwatch/SKILL.md" }"#,
    };
    // A login shell, which codex runs commands in, has a search path of its own.
    let claude = agents::pinned("claude").and_then(|pinned| pinned.installed());
    let folder = claude.as_deref().and_then(Path::parent).unwrap_or(Path::new("/")).display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let scenario = format!("{head}\n{rules}\n{tail}").replace("@PATH@", &path);
    let scenario = scenario.replace("@READ@", read);
    let options = Options { log_bodies: true, ..Options::default() };
    let lab = Lab::with_scenario(agent, &options, &scenario)?;
    let lab = lab.joined_by(if agent == Agent::Claude { Agent::Codex } else { Agent::Claude })?;
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
        let events = events.filter(|event| event["data"]["outcome"] != "started");
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
        while begun.elapsed().as_secs() < 240 {
            found = self.sent_to_lead();
            if wanted.iter().all(|text| found.iter().any(|one| one.contains(text))) {
                break;
            }
            // sleep: until the next look; these messages cause no event to wait for.
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

fn by_mcp(agent: Agent, is_searched: bool) {
    let (before, after) = BY_MCP.split_once("steps = [\n").unwrap();
    let rules = format!("{before}steps = [\n{}{after}", if is_searched { SEARCH } else { "" });
    let Some(lab) = lab(agent, &rules) else { return };
    let program = dogwatch();
    if agent == Agent::Claude {
        let config =
            format!(r#"{{"mcpServers":{{"dogwatch":{{"command":"{program}","args":["mcp"]}}}}}}"#);
        let file = lab.env.write("mcp.json", config).display().to_string();
        // The home of the laboratory turns it off.
        let search = format!("ENABLE_TOOL_SEARCH={is_searched}");
        lab.spawn(&["--unattended", "--env", &search, "--", "--mcp-config", &file]);
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
            let is_asked = |request: &&Request| request.question.as_ref().is_some_and(|q| !q.side);
            let last = requests.iter().rev().find(is_asked)?;
            let tools = &last.question.as_ref()?.tools;
            // Codex lists a tool that searches for them; claude names what can be searched for.
            let is_listed =
                tools.iter().any(|tool| tool.contains("dogwatch") || tool == "tool_search");
            let is_named = last.body.as_ref()?.to_string().contains("mcp__dogwatch__spawn");
            (is_listed || is_named).then_some(())
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
    let requests = lab.double.requests();
    let bodies = requests.iter().filter_map(|request| request.body.as_ref());
    let has_read = |body: &Value| body.to_string().contains("# Supervising agents with dogwatch");
    assert!(bodies.into_iter().any(has_read), "the lead has read the skill");
}

#[test]
fn claude_supervises_three_workers_by_mcp() {
    by_mcp(Agent::Claude, false);
}

#[test]
fn claude_supervises_three_workers_by_mcp_with_tool_search() {
    by_mcp(Agent::Claude, true);
}

#[test]
fn codex_supervises_three_workers_by_mcp() {
    by_mcp(Agent::Codex, false);
}

#[test]
fn claude_supervises_three_workers_by_the_skill() {
    by_skill(Agent::Claude);
}

#[test]
fn codex_supervises_three_workers_by_the_skill() {
    by_skill(Agent::Codex);
}
