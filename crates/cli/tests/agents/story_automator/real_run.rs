//! A real run: the published package, installed by its own installer, with dogwatch in the place of its helper, and real
//! agents as its children. The orchestrator's part is played by the documented cycle: spawn, monitor, parse, act, kill.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use dogwatch_testkit::{dogwatch, skip};
use model_double::homes::Agent;
use model_double::{Scenario, agents};
use serde_json::Value;

use crate::lab::Lab;

const SKILLS: [&str; 4] =
    ["bmad-create-story", "bmad-dev-story", "bmad-retrospective", "bmad-qa-generate-e2e-tests"];
const ARTIFACTS: &str = "_bmad-output/implementation-artifacts";
const STEPS: [&str; 4] = ["create", "dev", "auto", "review"];

#[test]
fn a_story_by_claude_from_its_creation_to_its_review() {
    run("1.1", Agent::Claude);
}

#[test]
fn a_story_by_codex_from_its_creation_to_its_review() {
    run("1.2", Agent::Codex);
}

fn run(story: &str, agent: Agent) {
    let Some(run) = Run::new() else { return };
    let key = format!("{}-thing", story.replace('.', "-"));
    for step in STEPS {
        run.step(step, story, agent.name());
    }
    let read = |file: String| fs::read_to_string(run.project.join(file)).unwrap();
    assert!(read(format!("{ARTIFACTS}/{key}.md")).contains("- [x] do it"));
    assert_eq!(read(format!("{key}.code")), "code\n");
    assert_eq!(read(format!("{key}.test")), "test\n");
    let got = run.helper(&["orchestrator-helper", "sprint-status", "get", story]);
    let status: Value = serde_json::from_str(&got).unwrap();
    assert_eq!(status["done"], true, "{got}");
    assert_eq!(run.helper(&["tmux-wrapper", "list", "--project-only"]), "\n", "all are ended");
}

/// A project with the package, and agents who know what to do.
struct Run {
    lab: Lab,
    project: PathBuf,
    scripts: PathBuf,
}

impl Run {
    fn new() -> Option<Self> {
        let installer = agents::pinned("story-automator").and_then(|pinned| pinned.installed());
        let Some(installer) = installer else {
            let why = "story-automator is not installed; run lab/agents/install story-automator";
            skip::skipped(skip::AGENTS, why);
            return None;
        };
        let lab = Lab::for_a_team(Agent::Claude, Agent::Codex)?;
        let scenario = scenario();
        lab.double.replace_scenario(Scenario::parse("real run", &scenario).unwrap());
        let project = lab.env.work().to_owned();
        make_project(&project);
        // codex works in nothing else.
        let made = lab.env.foreign("git").args(["init", "--quiet"]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let installed = lab.env.foreign(installer).arg(&project).output().unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let scripts = project.join(".claude/skills/bmad-story-automator/scripts/story-automator");
        fs::remove_file(&scripts).unwrap();
        symlink(dogwatch(), &scripts).unwrap();
        let run = Self { lab, project, scripts };
        run.point_codex_to_the_double();
        Some(run)
    }

    /// The command that the package builds gives codex an empty home of its own, without the double's address.
    fn point_codex_to_the_double(&self) {
        let codex = agents::pinned("codex").and_then(|pinned| pinned.installed()).unwrap();
        let url = self.lab.double.url();
        let provider = format!(
            r#"model_providers.double={{name="double",base_url="{url}/v1",wire_api="responses",env_key="MODEL_DOUBLE_KEY"}}"#
        );
        let script = format!(
            "#!/bin/sh\nexec '{}' -c 'model=\"gpt-5.5\"' -c 'model_provider=\"double\"' -c '{provider}' \"$@\"\n",
            codex.display()
        );
        let program = self.bin().join("codex");
        fs::create_dir_all(self.bin()).unwrap();
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn bin(&self) -> PathBuf {
        self.lab.env.root().join("bin")
    }

    /// A call of the helper, as the package's workflows make it.
    #[track_caller]
    fn helper(&self, words: &[&str]) -> String {
        let mut command: Command = self.lab.env.foreign(&self.scripts);
        command.envs(self.lab.environment()).args(words);
        let path = format!("{}:{}", self.bin().display(), self.lab.environment()["PATH"]);
        let output = command.env("PATH", path).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}{error}");
        said
    }

    fn json(&self, words: &[&str]) -> Value {
        let said = self.helper(words);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{words:?}: {error}: {said}"))
    }

    /// One step, by the documented cycle.
    fn step(&self, step: &str, story: &str, agent: &str) {
        let build = ["tmux-wrapper", "build-cmd", step, story, "--agent", agent];
        let command = self.helper(&build);
        let spawn =
            ["tmux-wrapper", "spawn", step, "1", story, "--agent", agent, "--command", &command];
        let session = self.helper(&spawn).trim().to_owned();
        let result = self.json(&[
            "monitor-session",
            &session,
            "--verbose",
            "--json",
            "--timeout",
            "2",
            "--agent",
            agent,
            "--workflow",
            step,
            "--story-key",
            story,
        ]);
        let output = result["output_file"].as_str().unwrap_or_default();
        let shown = fs::read_to_string(output).unwrap_or_default();
        assert_eq!(result["final_state"], "completed", "{step} by {agent}: {result}\n{shown}");
        assert_eq!(result["output_verified"], true, "{result}");
        let parsed = self.json(&["orchestrator-helper", "parse-output", output, step]);
        assert_eq!(parsed["next_action"], "proceed", "{parsed}");
        let verified = self.json(&["orchestrator-helper", "verify-step", step, story]);
        assert_eq!(verified["verified"], true, "{verified}");
        self.helper(&["tmux-wrapper", "kill", &session]);
    }
}

fn make_project(project: &Path) {
    for folder in ["_bmad/bmm", ARTIFACTS] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    for skills in [".claude/skills", ".agents/skills"] {
        for skill in SKILLS {
            let folder = project.join(skills).join(skill);
            fs::create_dir_all(&folder).unwrap();
            let text = format!("---\nname: {skill}\ndescription: A step.\n---\n\nDo it.\n");
            fs::write(folder.join("SKILL.md"), text).unwrap();
            fs::write(folder.join("workflow.md"), "# What to do\n").unwrap();
        }
    }
    let sprint =
        "development_status:\n  epic-1: in-progress\n  1-1-thing: backlog\n  1-2-thing: backlog\n";
    fs::write(project.join(ARTIFACTS).join("sprint-status.yaml"), sprint).unwrap();
}

/// What the agents do when they get the prompts of the package, and what is said when their output is parsed.
fn scenario() -> String {
    let mut text = String::new();
    for story in ["1.1", "1.2"] {
        let key = format!("{}-thing", story.replace('.', "-"));
        let file = format!("{ARTIFACTS}/{key}.md");
        let steps = [
            (
                "create-story",
                format!(
                    "printf '# Story {story}: Thing\\n\\nStatus: ready-for-dev\\n\\n- [ ] do it\\n' > {file}"
                ),
            ),
            (
                "dev-story",
                format!(
                    "echo code > {key}.code && sed -i 's/- \\[ \\]/- [x]/; s/ready-for-dev/review/' {file}"
                ),
            ),
            ("qa-generate-e2e-tests", format!("echo test > {key}.test")),
            (
                "story-automator review",
                format!(
                    "sed -i 's/Status: .*/Status: done/' {file} && sed -i 's/{key}: .*/{key}: done/' {ARTIFACTS}/sprint-status.yaml"
                ),
            ),
        ];
        for (workflow, command) in steps {
            let pattern = format!("^Execute the [^.]*{workflow} workflow for story {story}");
            text.push_str(&rule(
                &pattern,
                &[
                    format!(
                        "[\"I will do it.\", {{ shell = {{ command = {} }} }}]",
                        quoted(&command)
                    ),
                    quoted("The step is done."),
                ],
            ));
        }
    }
    let common = r#""status":"SUCCESS","summary":"done","next_action":"proceed""#;
    for (key, more) in [
        ("story_created", r#""story_created":true,"story_file":null"#),
        ("tests_passed", r#""tests_passed":true,"build_passed":true"#),
        ("tests_added", r#""tests_added":1,"coverage_improved":true"#),
        (
            "issues_found",
            r#""issues_found":{"critical":0,"high":0,"medium":0,"low":0},"all_fixed":true"#,
        ),
    ] {
        let said = format!("{{{common},{more}}}");
        text.push_str(&rule(key, &[quoted(&said)]));
    }
    text
}

fn rule(pattern: &str, steps: &[String]) -> String {
    format!("[[rule]]\nmatch = {}\nsteps = [{}]\n\n", quoted(pattern), steps.join(", "))
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
