//! A hostile repository: links in every place that is written or read, pipes, devices and endless files in the place of texts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use dogwatch_testkit::{CommandOutput, TestEnv};

const SECRET: &str =
    "TOP SECRET\n### Story 1.1: TOP SECRET\ndevelopment_status:\n  1-1-a: TOP-SECRET\n";
const TEMPLATE: &str = "---\nepic: \"\"\nstatus: \"\"\nstoryRange: []\npolicyVersion: 0\npolicySnapshotFile: \"\"\npolicySnapshotHash: \"\"\nlegacyPolicy: false\n---\nbody\n";
const ARTIFACTS: &str = "_bmad-output/implementation-artifacts";
const SPRINT: &str = "development_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-2-b: review\n";
const EPICS: &str =
    "# All\n\n## Epic 1: One\n\n### Story 1.1: A\n\ntext\n\n### Story 1.2: B\nDependencies: 1.1\n";

/// A repository with all that commands read and write, and a folder outside that nothing may touch.
struct Stage {
    env: TestEnv,
    outside: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let env = TestEnv::new();
        let outside = env.home().join("outside");
        let stage = Self { env, outside };
        fs::create_dir_all(stage.outside.join("deep")).unwrap();
        for name in [
            "file",
            "deep/file",
            "state.md",
            "agents.md",
            "agents.yaml",
            "settings.json",
            "session-1.md",
            "1-1-a.md",
            "sprint-status.yaml",
            ".story-automator-active",
        ] {
            fs::write(stage.outside.join(name), SECRET).unwrap();
        }
        for skill in ["bmad-create-story", "bmad-dev-story", "bmad-retrospective"] {
            stage.put(&format!(".claude/skills/{skill}/SKILL.md"), "x");
        }
        stage.put("t.md", TEMPLATE);
        stage.put("rules.json", "{}");
        stage.put("complexity.json", r#"{"stories": []}"#);
        stage.put("presets.json", r#"{"version": "1.0.0", "presets": []}"#);
        stage.put(
            "out/state.md",
            "---\nepic: \"1\"\nstatus: \"READY\"\nstoryRange: [\"1.1\"]\n---\n",
        );
        stage.put(&format!("{ARTIFACTS}/sprint-status.yaml"), SPRINT);
        stage.put(&format!("{ARTIFACTS}/1-1-a.md"), "# Story 1.1: A\n\nStatus: done\n");
        stage.put("docs/epics/epic-1.md", EPICS);
        stage.put("said.txt", "RESULT: DONE\n");
        stage.put(".agents/orchestration/session-1.md", "# Team\n");
        stage.put("reg/agents.yaml", "sessions: {}\n");
        let mut git = stage.env.foreign("git");
        let _ = stage.env.run(git.args(["init", "-q", "."])).success();
        stage
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.env.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// All that is outside, with what it says.
    fn left(&self) -> Vec<(PathBuf, String)> {
        fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, found);
                }
                let text = fs::read_to_string(&path).unwrap_or_default();
                found.push((path, text));
            }
        }
        let mut found = Vec::new();
        walk(&self.outside, &mut found);
        found.sort();
        found
    }

    /// Puts a link in the place of a file of the project, or of a folder: those have a slash behind them.
    fn link(&self, at: &str) -> PathBuf {
        let path = self.env.work().join(at.trim_end_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        let is_folder = at.ends_with('/');
        let target = if is_folder { self.outside.clone() } else { self.outside.join("file") };
        symlink(target, &path).unwrap();
        path
    }

    fn run(&self, words: &[&str]) -> CommandOutput {
        let (front, rest) = words.split_first().unwrap();
        let mut command = self.env.command(&[*front]);
        // An endless read would be the end of the machine, not of the test.
        command.args(rest);
        let shell = "ulimit -v 4000000; exec timeout 30 \"$0\" \"$@\"";
        let mut limited = self.env.foreign("sh");
        limited.args(["-c", shell]).arg(command.get_program()).args(command.get_args());
        self.env.run(&mut limited)
    }
}

/// What is written, with a way to each of it: the command, and what stands between the project's root and the file.
const WRITTEN: [(&[&str], &[&str]); 12] = [
    // What a run would write is looked for before it begins.
    (&["story", "plan"], &["_bmad-output/story-automator/", "_bmad-output/"]),
    (
        &["task", "add", "--role", "dev", "Do it."],
        &[
            ".agents/",
            ".agents/orchestration/",
            ".agents/orchestration/session-1.md",
            ".agents/orchestration/session-1.md.lock",
        ],
    ),
    (
        &[
            "story-automator",
            "orchestrator-helper",
            "marker",
            "create",
            "--epic",
            "1",
            "--story",
            "1.1",
            "--remaining",
            "1",
            "--state-file",
            "out/state.md",
        ],
        &[".claude/", ".claude/.story-automator-active"],
    ),
    (
        &[
            "story-automator",
            "ensure-marker-gitignore",
            "--gitignore",
            ".gitignore",
            "--entry",
            "x",
        ],
        &[".gitignore"],
    ),
    (
        &[
            "story-automator",
            "build-state-doc",
            "--template",
            "t.md",
            "--output-folder",
            "out/",
            "--config-json",
            r#"{"epic": "1"}"#,
        ],
        &[
            "out/",
            "_bmad-output/story-automator/policy-snapshots/",
            "_bmad-output/story-automator/",
        ],
    ),
    (
        &[
            "story-automator",
            "orchestrator-helper",
            "state-update",
            "out/state.md",
            "--set",
            "status=X",
        ],
        &["out/", "out/state.md"],
    ),
    (
        &[
            "story-automator",
            "orchestrator-helper",
            "agents-build",
            "--state-file",
            "out/state.md",
            "--complexity-file",
            "complexity.json",
            "--output",
            "plans/agents.md",
            "--config-json",
            "{}",
        ],
        &["plans/", "plans/agents.md"],
    ),
    (
        &[
            "story-automator",
            "agent-config",
            "save",
            "--file",
            "presets.json",
            "--name",
            "n",
            "--config-json",
            "{}",
        ],
        &["presets.json"],
    ),
    (
        &[
            "story-automator",
            "ensure-stop-hook",
            "--settings",
            ".claude/settings.json",
            "--command",
            "sa stop-hook",
        ],
        &[".claude/", ".claude/settings.json"],
    ),
    (
        &["story-automator", "reconcile-story", "--repo", ".", "--story", "1.1", "--write"],
        &[
            "_bmad-output/",
            "_bmad-output/implementation-artifacts/",
            "_bmad-output/implementation-artifacts/1-1-a.md",
        ],
    ),
    (
        &["create", "--registry", "reg/agents.yaml", "claude"],
        &["reg/", "reg/agents.yaml", "reg/agents.yaml.lock"],
    ),
    (
        &["story-automator", "orchestrator-helper", "marker", "heartbeat"],
        &[".claude/.story-automator-active"],
    ),
];

#[test]
fn nothing_is_written_through_a_link_in_the_repository() {
    let mut faults = Vec::new();
    for (words, places) in WRITTEN {
        for place in places {
            let stage = Stage::new();
            let link = stage.link(place);
            let before = stage.left();
            let output = stage.run(words);
            let said = format!("{}{}", output.text(), output.stderr);
            let mut fault = |what: &str| {
                faults.push(format!("{what}: {words:?} with a link at {place}: {output}"));
            };
            if stage.left() != before {
                fault("it wrote outside");
            }
            if !link.is_symlink() {
                fault("the link is gone");
            }
            if said.contains("TOP") {
                fault("what is outside is told");
            }
            let clear = ["is a symbolic link", "escapes allowed root", "not found"];
            let is_said = clear.iter().any(|words| said.contains(words));
            if output.code == Some(0) || !is_said {
                fault("it does not say so");
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Commands that read a file, and the file.
const READ: [(&[&str], &str); 13] = [
    (&["story", "plan"], "_bmad-output/implementation-artifacts/sprint-status.yaml"),
    (&["story", "plan"], "_bmad/bmm/config.yaml"),
    (&["story", "plan"], "_bmad/bmm/story-automator.policy.json"),
    (&["story", "plan", "--workflow", "flow.toml"], "flow.toml"),
    (
        &["story-automator", "orchestrator-helper", "sprint-status", "get", "1.1"],
        "_bmad-output/implementation-artifacts/sprint-status.yaml",
    ),
    (
        &["story-automator", "orchestrator-helper", "story-file-status", "1.1"],
        "_bmad-output/implementation-artifacts/1-1-a.md",
    ),
    (&["story-automator", "orchestrator-helper", "check-blocking", "1.1"], "docs/epics/epic-1.md"),
    (&["story-automator", "parse-epic", "--file", "docs/epics/epic-1.md"], "docs/epics/epic-1.md"),
    (&["story-automator", "validate-state", "--state", "out/state.md"], "out/state.md"),
    (&["story-automator", "orchestrator-helper", "state-summary", "out/state.md"], "out/state.md"),
    (&["story-automator", "orchestrator-helper", "parse-output", "said.txt", "dev"], "said.txt"),
    (&["spawn", "--name", "x", "--prompt-file", "prompt.md", "--", "sh"], "prompt.md"),
    (&["task", "list"], ".agents/orchestration/session-1.md"),
];

#[test]
fn only_regular_files_of_the_repository_are_read_and_none_without_a_limit() {
    let mut faults = Vec::new();
    for (words, file) in READ {
        for kind in ["a link outside", "a link to /dev/zero", "a pipe", "a folder", "a huge file"] {
            let stage = Stage::new();
            let path = stage.env.work().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            match kind {
                "a link outside" => symlink(stage.outside.join("file"), &path).unwrap(),
                "a link to /dev/zero" => symlink("/dev/zero", &path).unwrap(),
                "a pipe" => {
                    let mut mkfifo = stage.env.foreign("mkfifo");
                    let _ = stage.env.run(mkfifo.arg(&path)).success();
                }
                "a folder" => fs::create_dir(&path).unwrap(),
                _ => fs::File::create(&path).unwrap().set_len(1 << 40).unwrap(),
            }
            let output = stage.run(words);
            let said = format!("{}{}", output.text(), output.stderr);
            let mut fault = |what: &str| {
                faults.push(format!("{what}: {words:?} with {kind} at {file}: {output}"));
            };
            if said.contains("TOP") {
                fault("what is outside is told");
            }
            // 124 is a read that did not end; a signal, one that took all memory.
            if matches!(output.code, None | Some(124 | 134 | 137)) {
                fault("it was read without a limit");
            }
            // What is no regular file is none to the commands that look for one by its name.
            let none = ["not found", "not_found", "no session file"];
            let clear =
                ["is a symbolic link", "regular file", "larger than the limit", "longer than"];
            let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
            let is_said = says(&clear) || (kind != "a link outside" && says(&none));
            if !is_said && kind != "a folder" {
                fault("it does not say so");
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
