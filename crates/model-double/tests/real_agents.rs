//! Real agents against the double: `claude -p` and `codex exec`.
//!
//! `lab/agents/install` installs them. Without them these tests are skipped, unless
//! `DOGWATCH_REQUIRE_AGENTS` is set.

#![expect(clippy::expect_used, reason = "helpers of tests may fail as tests do")]

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dogwatch_testkit::{eventually, skip};
use model_double::homes::{Agent, Place};
use model_double::{ModelDouble, Outcome, Question, Request, Scenario, agents};
use rustix::process::{Pid, Signal, kill_process_group};

const AGENTS: [Agent; 2] = [Agent::Claude, Agent::Codex];
const LIMIT: Duration = Duration::from_mins(1);

/// An agent, its double, and the folders of one test.
struct Lab {
    agent: Agent,
    program: PathBuf,
    double: ModelDouble,
    dir: tempfile::TempDir,
}

struct Ended {
    success: bool,
    stdout: String,
    stderr: String,
}

impl Lab {
    /// Nothing when the agent is not there and need not be.
    fn new(agent: Agent) -> Option<Self> {
        let Some(program) = agents::pinned(agent.name()).and_then(|agent| agent.installed()) else {
            let why = format!("{0} is not installed; run lab/agents/install {0}", agent.name());
            skip::skipped(skip::AGENTS, &why);
            return None;
        };
        let basic = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/scenarios/basic.toml");
        let scenario = Scenario::load(&basic).expect("basic.toml");
        let dir = tempfile::tempdir().expect("temp dir");
        fs::create_dir(dir.path().join("project")).expect("project");
        Some(Self { agent, program, double: ModelDouble::start(scenario).expect("double"), dir })
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn start(&self, prompt: &str) -> Running {
        let place = Place {
            home: &self.dir.path().join("home"),
            project: &self.project(),
            url: &self.double.url(),
        };
        let environment = self.agent.write_home(place).expect("home");
        let arguments: &[&str] = match self.agent {
            Agent::Claude => &["-p", "--dangerously-skip-permissions"],
            _ => &[
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                // As below.
                "--config=model_providers.double.stream_max_retries=1",
                "--config=model_providers.double.request_max_retries=1",
            ],
        };
        let output = |name| File::create(self.dir.path().join(name)).expect("output file");
        let child = Command::new(&self.program)
            .args(arguments)
            .arg(prompt)
            .current_dir(self.project())
            .env_clear()
            .envs(environment)
            // The usual ten retries with growing pauses would take minutes.
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .stdin(Stdio::null())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            // Launchers have children of their own, which must end with them.
            .process_group(0)
            .spawn()
            .expect("agent starts");
        Running { child }
    }

    fn end(&self, mut running: Running) -> Ended {
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = running.child.try_wait().expect("status") {
                break Some(status);
            }
            if Instant::now() > deadline {
                break None;
            }
            // sleep: the interval of a poll.
            std::thread::sleep(Duration::from_millis(20));
        };
        let read = |name| fs::read_to_string(self.dir.path().join(name)).expect("output");
        let ended = Ended {
            success: status.is_some_and(|status| status.success()),
            stdout: read("stdout"),
            stderr: read("stderr"),
        };
        assert!(status.is_some(), "{} did not end: {}", self.agent.name(), ended.report());
        ended
    }

    fn run(&self, prompt: &str) -> Ended {
        self.end(self.start(prompt))
    }

    /// The requests that were part of the conversation.
    fn questions(&self) -> Vec<(u16, Question)> {
        let requests = self.double.requests().into_iter();
        requests
            .filter_map(|request| Some((request.status, request.question?)))
            .filter(|(_, question)| !question.side)
            .collect()
    }

    fn statuses(&self) -> Vec<u16> {
        self.questions().into_iter().map(|(status, _)| status).collect()
    }
}

impl Ended {
    fn report(&self) -> String {
        format!("stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr)
    }
}

/// An agent that is killed with all its children when the test gives up.
struct Running {
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
            if let Some(group) = group {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.wait();
        }
    }
}

fn with_each_agent(test: impl Fn(&Lab)) {
    for lab in AGENTS.into_iter().filter_map(Lab::new) {
        test(&lab);
    }
}

#[test]
fn an_answer_arrives() {
    with_each_agent(|lab| {
        let ended = lab.run("please [hello]");
        assert!(ended.success, "{}", ended.report());
        assert_eq!(ended.stdout.trim(), "Hello from the double.");
        let questions = lab.questions();
        assert_eq!(questions.len(), 1, "{questions:?}");
        assert_eq!(questions[0].1.human, "please [hello]");
    });
}

#[test]
fn tools_are_called_and_the_turn_goes_on() {
    for (tag, file, content, last) in [
        ("[tool]", "tool-ran.txt", "dogwatch-tool-ran\n", "Tool done."),
        ("[write]", "written.txt", "dogwatch-file-written\n", "Write done."),
        ("[edit]", "edited.txt", "one\nzwei\nthree\n", "Edit done."),
        ("[todos]", "", "", "Plan noted."),
    ] {
        with_each_agent(|lab| {
            let ended = lab.run(tag);
            assert!(ended.success, "{tag}: {}", ended.report());
            assert!(ended.stdout.contains(last), "{tag}: {}", ended.report());
            if !file.is_empty() {
                let written = fs::read_to_string(lab.project().join(file));
                assert_eq!(written.expect(file), content, "{tag}: {}", ended.report());
            }
            let steps: Vec<usize> = lab.questions().iter().map(|(_, q)| q.step).collect();
            assert_eq!(steps, (0..steps.len()).collect::<Vec<_>>(), "{tag}");
        });
    }
}

#[test]
fn passing_errors_are_retried() {
    for (tag, last) in [
        ("[429-once]", "Recovered from the rate limit."),
        ("[529-once]", "Recovered from the overload."),
        ("[cut-once]", "Recovered from the cut."),
    ] {
        with_each_agent(|lab| {
            let ended = lab.run(tag);
            assert!(ended.success, "{tag}: {}", ended.report());
            assert!(ended.stdout.contains(last), "{tag}: {}", ended.report());
            assert_eq!(lab.questions().len(), 2, "{tag}");
        });
    }
}

#[test]
fn lasting_errors_end_the_run() {
    for (tag, status, claude, codex) in [
        ("[401]", 401, "Invalid API key", "401 Unauthorized"),
        ("[429]", 429, "429", "429 Too Many Requests"),
        ("[too-long]", 400, "Prompt is too long", "context_length_exceeded"),
        ("[usage-limit]", 429, "usage limit", "usage limit"),
    ] {
        with_each_agent(|lab| {
            let ended = lab.run(tag);
            assert!(!ended.success, "{tag}: {}", ended.report());
            let (output, words) = match lab.agent {
                Agent::Claude => (&ended.stdout, claude),
                _ => (&ended.stderr, codex),
            };
            assert!(output.contains(words), "{tag}: {}", ended.report());
            let statuses = lab.statuses();
            assert!(statuses.iter().all(|seen| *seen == status), "{tag}: {statuses:?}");
        });
    }
}

#[test]
fn a_gate_holds_the_agent_until_it_is_released() {
    with_each_agent(|lab| {
        let mut running = lab.start("[gate]");
        let asked = |requests: &[Request]| {
            let question = |request: &Request| request.question.as_ref().is_some_and(|q| !q.side);
            requests.iter().any(|request| question(request) && request.outcome == Outcome::Open)
        };
        assert!(lab.double.wait_until(LIMIT, asked).is_some(), "no request came");
        eventually("the reply reaches the gate", || !lab.double.gates().waiting.is_empty());
        assert!(running.child.try_wait().expect("status").is_none());

        lab.double.release("gate");
        let ended = lab.end(running);
        assert!(ended.success, "{}", ended.report());
        assert!(ended.stdout.contains("Gate passed."), "{}", ended.report());
    });
}

#[test]
fn a_silent_stream_is_waited_for() {
    with_each_agent(|lab| {
        let script = "default = [['I begin', { stall_s = 2 }, ' and end.']]";
        lab.double.replace_scenario(Scenario::parse("test", script).expect("valid"));
        let begin = Instant::now();
        let ended = lab.run("anything");
        assert!(ended.success, "{}", ended.report());
        assert!(ended.stdout.contains("and end."), "{}", ended.report());
        assert!(begin.elapsed() > Duration::from_secs(2));
    });
}

#[test]
fn killing_the_agent_is_noted() {
    with_each_agent(|lab| {
        let running = lab.start("[gate]");
        let waits = |requests: &[Request]| requests.iter().any(|r| r.question.is_some());
        assert!(lab.double.wait_until(LIMIT, waits).is_some(), "no request came");
        drop(running);
        let gone = |requests: &[Request]| {
            requests.iter().any(|request| request.outcome == Outcome::ClientGone)
        };
        assert!(lab.double.wait_until(LIMIT, gone).is_some(), "{:?}", lab.double.requests());
    });
}
