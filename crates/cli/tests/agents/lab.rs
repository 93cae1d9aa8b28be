use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use dogwatch_store::{StateDir, Store};
use dogwatch_testkit::{CommandOutput, Spawned, TestEnv, eventually, skip};
use model_double::homes::{Agent, Place};
use model_double::{ModelDouble, Options, Scenario, agents};
use serde_json::Value;

const SCENARIO: &str = include_str!("../../../../lab/scenarios/basic.toml");

/// Whether a real agent is there; a test without it is skipped. `./test` installs claude and codex.
pub(crate) fn is_installed(agent: Agent) -> bool {
    let is_here = agents::pinned(agent.name()).and_then(|pinned| pinned.installed()).is_some();
    if !is_here {
        let required = matches!(agent, Agent::Claude | Agent::Codex);
        let why = format!("{0} is not installed; run lab/agents/install {0}", agent.name());
        skip::skipped(skip::AGENTS.filter(|_| required), &why);
    }
    is_here
}

/// One real agent in a world of its own.
pub(crate) struct Lab {
    pub(crate) env: TestEnv,
    pub(crate) double: ModelDouble,
    pub(crate) agent: Agent,
    environment: BTreeMap<String, String>,
}

impl Lab {
    /// `None` if the agent is not installed and need not be.
    pub(crate) fn new(agent: Agent) -> Option<Self> {
        Self::with(agent, &Options::default())
    }

    /// With a double of one's own choice.
    pub(crate) fn with(agent: Agent, options: &Options) -> Option<Self> {
        Self::with_scenario(agent, options, SCENARIO)
    }

    /// With a scenario of one's own.
    pub(crate) fn with_scenario(agent: Agent, options: &Options, scenario: &str) -> Option<Self> {
        if !is_installed(agent) {
            return None;
        }
        let env = TestEnv::new();
        let scenario = Scenario::parse("scenario.toml", scenario).unwrap();
        let double = ModelDouble::start_with(scenario, options).unwrap();
        let place = Place { home: env.home(), project: env.work(), url: &double.url() };
        let environment = agent.write_home(place).unwrap();
        Some(Self { env, double, agent, environment })
    }

    /// The same with a second agent.
    pub(crate) fn for_a_team(agent: Agent, other: Agent) -> Option<Self> {
        if !is_installed(other) {
            return None;
        }
        Self::new(agent)?.joined_by(other)
    }

    /// With the home of a second agent beside the first.
    pub(crate) fn joined_by(self, other: Agent) -> Option<Self> {
        if !is_installed(other) {
            return None;
        }
        let mut lab = self;
        let place = Place { home: lab.env.home(), project: lab.env.work(), url: &lab.double.url() };
        let others = other.write_home(place).unwrap();
        let path = format!("{}:{}", lab.environment["PATH"], others["PATH"]);
        for (key, value) in others {
            lab.environment.entry(key).or_insert(value);
        }
        lab.environment.insert("PATH".to_owned(), path);
        Some(lab)
    }

    /// The same with a Claude Code of before 2.1.139. `None` if it is not installed and need not be.
    pub(crate) fn with_old_claude() -> Option<Self> {
        let mut lab = Self::new(Agent::Claude)?;
        let old = agents::pinned("claude-old").and_then(|pinned| pinned.installed());
        let Some(old) = old else {
            let why = "claude-old is not installed; run lab/agents/install claude-old";
            skip::skipped(skip::AGENTS, why);
            return None;
        };
        let folder = old.parent().unwrap().display();
        let path = format!("{folder}:{}", lab.environment["PATH"]);
        lab.environment.insert("PATH".to_owned(), path);
        let found = lab.dogwatch(&["agents", "--json"]).success().json()["agents"].clone();
        let claude = found.as_array().unwrap().iter().find(|agent| agent["name"] == "claude");
        let version = agents::pinned("claude-old").unwrap().version;
        assert_eq!(claude.unwrap()["version"], version, "{found:#}");
        Some(lab)
    }

    /// The same with another version of the agent, which `lab/matrix` installs; `None` if it is not there.
    pub(crate) fn with_version(agent: Agent, version: &str) -> Option<Self> {
        let pinned = agents::pinned(agent.name())?.installed();
        let folder = format!("{}-{version}", agent.name());
        let other = pinned.as_ref().and_then(|program| program.ancestors().nth(4));
        let other = other.map(|cache| cache.join(folder).join("node_modules/.bin"));
        let Some(folder) = other.filter(|folder| folder.join(agent.name()).exists()) else {
            skip::skipped(None, &format!("{} {version} is not installed", agent.name()));
            return None;
        };
        let mut lab = Self::new(agent)?;
        let path = format!("{}:{}", folder.display(), lab.environment["PATH"]);
        lab.environment.insert("PATH".to_owned(), path);
        Some(lab)
    }

    /// The environment of a user who has these agents and the double's key.
    pub(crate) fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// A dogwatch command in the environment of a user who has this agent and the double's key.
    pub(crate) fn dogwatch(&self, args: &[&str]) -> CommandOutput {
        self.env.run(&mut self.command(args))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.command(args);
        command.envs(&self.environment);
        command
    }

    /// Starts the agent as session `a`, with further arguments.
    pub(crate) fn spawn(&self, args: &[&str]) -> Spawned {
        let mut command = self.command(&["spawn", self.agent.name(), "--json", "--name", "a"]);
        let said = self.env.run(command.args(args)).success().json();
        Spawned {
            id: said["id"].as_str().unwrap().to_owned(),
            name: "a".to_owned(),
            pane: said["pane"].as_str().unwrap().to_owned(),
            pid: i32::try_from(said["pid"].as_i64().unwrap()).unwrap(),
        }
    }

    /// Starts the agent without dogwatch, in a shell in a session `mine`; returns its pane.
    pub(crate) fn start_by_hand(&self) -> String {
        let program = agents::pinned(self.agent.name()).and_then(|pinned| pinned.installed());
        let shell = ["-P", "-F", "#{pane_id}", "-x", "120", "-y", "40", "/bin/sh"];
        let mut start = vec!["new-session", "-d", "-s", "mine"];
        start.extend(shell);
        let mut command = self.env.tmux_command(&self.env.socket(), &start);
        let output = command.envs(&self.environment).output().unwrap();
        let pane = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let line = program.unwrap().display().to_string();
        self.env.tmux(&["send-keys", "-t", &pane, "-l", &line]);
        self.env.tmux(&["send-keys", "-t", &pane, "Enter"]);
        pane
    }

    /// A session that was spawned before.
    pub(crate) fn session(&self, name: &str) -> Spawned {
        let seen = self.env.seen(name);
        let text = |key: &str| seen[key].as_str().unwrap().to_owned();
        let pid = i32::try_from(seen["pid"].as_i64().unwrap()).unwrap();
        Spawned { id: text("id"), name: name.to_owned(), pane: text("pane"), pid }
    }

    /// Ends the session; it must succeed.
    pub(crate) fn end(&self, args: &[&str]) {
        let mut command = self.command(&["kill", "a"]);
        let _ended = self.env.run(command.args(args)).success();
    }

    /// The hook events of a session so far.
    pub(crate) fn events(&self, session: &Spawned) -> Vec<String> {
        self.signals(session).into_iter().map(|(event, _)| event).collect()
    }

    pub(crate) fn signals(&self, session: &Spawned) -> Vec<(String, Value)> {
        let dir = StateDir::open(self.env.state_dir()).unwrap();
        let signals = Store::open(&dir).unwrap().signals(&session.id).unwrap();
        let payload = |text: &str| serde_json::from_str(text).unwrap();
        signals.into_iter().map(|s| (s.event, payload(&s.payload))).collect()
    }

    /// Waits for a hook event.
    pub(crate) fn wait_event(&self, session: &Spawned, event: &str) {
        let what = format!("{event}, from {}", self.agent.name());
        eventually(&what, || self.events(session).iter().any(|e| e == event));
    }

    /// What people said to the model, apart from the agent's own side requests.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.double.requests();
        let questions = requests.into_iter().filter_map(|request| request.question);
        questions.filter(|question| !question.side).map(|question| question.human).collect()
    }

    /// A file of the work folder, once it is there.
    pub(crate) fn wait_file(&self, name: &str) -> String {
        let path = self.env.work().join(name);
        eventually(name, || fs::read(&path).is_ok_and(|bytes| !bytes.is_empty()));
        fs::read_to_string(path).unwrap()
    }
}
