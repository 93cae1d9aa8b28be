use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, dogwatch};
use serde_json::{Value, json};

use crate::story_automator::Helper as _;

const TEMPLATE: &str = "---\nepic: \"\"\nstatus: \"\"\nstoryRange: []\npolicyVersion: 0\npolicySnapshotFile: \"\"\npolicySnapshotHash: \"\"\nlegacyPolicy: false\n---\nstatus: body\n";

/// Runs of the drop-in.
trait Runs {
    /// The skills that a run needs, as any text will do for them.
    fn install_skills(&self);
    fn put(&self, name: &str, content: &str) -> PathBuf;
    fn build_state(&self) -> PathBuf;
    /// Makes the marker of a run one that was last heard of years ago.
    fn age_marker(&self);
    fn stop_hook(&self) -> String;
}

impl Runs for TestEnv {
    fn install_skills(&self) {
        for skill in ["bmad-create-story", "bmad-dev-story", "bmad-retrospective"] {
            self.put(&format!(".claude/skills/{skill}/SKILL.md"), "x");
        }
    }

    fn put(&self, name: &str, content: &str) -> PathBuf {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn build_state(&self) -> PathBuf {
        let build = [
            "build-state-doc",
            "--template",
            "t.md",
            "--output-folder",
            "out",
            "--config-json",
            r#"{"epic": "1"}"#,
        ];
        self.work().join(self.helper(&build).success().json()["path"].as_str().unwrap())
    }

    fn age_marker(&self) {
        let file = self.work().join(".claude/.story-automator-active");
        let mut marker: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        for time in ["createdAt", "heartbeat"] {
            marker[time] = "2020-01-01T00:00:00Z".into();
        }
        fs::write(file, marker.to_string()).unwrap();
    }

    fn stop_hook(&self) -> String {
        let mut hook = self.helper_command(&["stop-hook"]);
        self.run_with_input(&mut hook, b"{}").success().text()
    }
}

#[test]
fn state_documents_of_one_second_are_two() {
    let env = TestEnv::new();
    env.install_skills();
    env.put("t.md", TEMPLATE);
    let paths: Vec<PathBuf> = std::thread::scope(|scope| {
        let building: Vec<_> = (0..4).map(|_| scope.spawn(|| env.build_state())).collect();
        building.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let found = fs::read_dir(env.work().join("out")).unwrap().count();
    assert_eq!(found, 4, "{paths:?}");
    for path in paths {
        assert!(fs::read_to_string(path).unwrap().ends_with("---\nstatus: body\n"));
    }
}

#[test]
fn an_update_cannot_add_a_field() {
    let env = TestEnv::new();
    let file = env.put("s.md", "---\nstatus: READY\nnote: a\n---\nstatus: body\n");
    let update =
        |value: &str| env.helper(&["orchestrator-helper", "state-update", "s.md", "--set", value]);
    let refused = update("note=x\nstatus: ABORTED").code(1).json();
    assert_eq!(refused["error"], "invalid_set_operand");
    let _ = update("note=a # b").success();
    let _ = update("status=PAUSED").success();
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text, "---\nstatus: PAUSED\nnote: \"a # b\"\n---\nstatus: body\n");
}

#[test]
fn updates_at_once_are_all_kept() {
    let env = TestEnv::new();
    let keys = ["a", "b", "c", "d", "e", "f"];
    let lines = keys.map(|key| format!("{key}: 0\n")).concat();
    let file = env.put("s.md", &format!("---\n{lines}---\n"));
    std::thread::scope(|scope| {
        for key in keys {
            let env = &env;
            scope.spawn(move || {
                let set = format!("{key}=1");
                let _ = env
                    .helper(&["orchestrator-helper", "state-update", "s.md", "--set", &set])
                    .success();
            });
        }
    });
    let after = fs::read_to_string(file).unwrap();
    assert_eq!(after, format!("---\n{}---\n", lines.replace('0', "1")));
}

#[test]
fn a_pinned_run_outlives_a_change_of_policy_but_not_of_its_own_template() {
    let env = TestEnv::new();
    env.install_skills();
    env.put("t.md", TEMPLATE);
    env.put("mine.md", "Mine {{story_id}}");
    let over = r#"{"steps": {"dev": {"prompt": {"templateFile": "mine.md"}}}, "workflow": {"repeat": {"review": {"maxCycles": 3}}}}"#;
    let over = env.put("_bmad/bmm/story-automator.policy.json", over);
    let state = env.build_state().display().to_string();
    fs::remove_file(over).unwrap();
    let build = |step: &str| {
        env.helper(&["tmux-wrapper", "build-cmd", step, "1.2", "--state-file", &state])
    };
    assert!(build("dev").success().text().ends_with(" 'Mine 1.2'\n"));
    let escalate =
        ["orchestrator-helper", "escalate", "review-loop", "cycles=3", "--state-file", &state];
    assert_eq!(env.helper(&escalate).json()["reason"], "Review loop exceeded max cycles (3/3)");
    // What we bring ourselves is in the snapshot, as it was.
    assert!(build("review").success().text().contains("CRITICAL"));
    let snapshots = env.work().join("_bmad-output/story-automator/policy-snapshots");
    let snapshot = fs::read_dir(snapshots).unwrap().next().unwrap().unwrap().path();
    let kept: Value = serde_json::from_str(&fs::read_to_string(&snapshot).unwrap()).unwrap();
    assert_eq!(kept["steps"]["review"]["prompt"]["templatePath"], "builtin:data/prompts/review.md");
    env.put("mine.md", "Another");
    assert!(build("dev").code(1).stderr.starts_with("policy template hash mismatch: "));
    fs::write(&snapshot, "{}").unwrap();
    assert!(build("review").code(1).stderr.starts_with("policy snapshot hash mismatch: "));
}

#[test]
fn in_the_place_of_an_installed_helper_its_own_files_count() {
    let env = TestEnv::new();
    env.install_skills();
    let skill = env.work().join(".claude/skills/bmad-story-automator");
    env.put(".claude/skills/bmad-story-automator/data/prompts/dev.md", "Installed {{story_id}}");
    env.put(".claude/skills/bmad-story-automator/data/stop-hook-recovery.md", "x");
    fs::create_dir(skill.join("scripts")).unwrap();
    let link = skill.join("scripts/story-automator");
    symlink(dogwatch(), &link).unwrap();
    let call = |args: &[&str]| env.run(env.foreign(&link).args(args)).success();
    let built = call(&["tmux-wrapper", "build-cmd", "dev", "1.2"]).text();
    assert!(built.ends_with(" 'Installed 1.2'\n"), "{built}");

    let ensured =
        ["ensure-stop-hook", "--settings", "s.json", "--command", "story-automator stop-hook"];
    assert_eq!(call(&ensured).json()["reason"], "created");
    assert_eq!(call(&ensured).json()["reason"], "already_configured");
    let settings = fs::read_to_string(env.work().join("s.json")).unwrap();
    assert!(settings.contains(&format!("{} stop-hook", link.display())), "{settings}");

    let marker =
        ["orchestrator-helper", "marker", "create", "--remaining", "2", "--state-file", "s.md"];
    let _ = call(&marker);
    assert!(env.stop_hook().contains("(2 stories remaining). Read "));
}

/// The smoke test of the package asserts as much, in each of the folders for skills.
#[test]
fn a_folder_without_skill_md_is_no_skill() {
    let env = TestEnv::new();
    let build = || env.helper(&["tmux-wrapper", "build-cmd", "auto", "5.3"]).success().text();
    for root in [".agents/skills", ".claude/skills", ".codex/skills"] {
        for skill in ["bmad-create-story", "bmad-dev-story", "bmad-retrospective"] {
            env.put(&format!("{root}/{skill}/SKILL.md"), "x");
        }
        let qa = format!("{root}/bmad-qa-generate-e2e-tests");
        for file in ["workflow.md", "instructions.md", "checklist.md"] {
            env.put(&format!("{qa}/{file}"), "x");
        }
        let built = build();
        assert!(!built.contains(&qa) && built.contains("story 5.3"), "{built}");
        env.put(&format!("{qa}/SKILL.md"), "x");
        let built = build();
        assert!(built.contains(&format!("{qa}/SKILL.md")), "{built}");
        assert!(built.contains(&format!("{qa}/workflow.md")), "{built}");
        fs::remove_dir_all(env.work().join(root)).unwrap();
    }
}

#[test]
fn a_stopping_agent_is_held_up_only_by_a_run_that_lives() {
    let env = TestEnv::new();
    assert_eq!(env.stop_hook(), "");
    let create = ["orchestrator-helper", "marker", "create", "--remaining", "2"];
    let _ = env.helper(&create).success();
    let blocked: Value = serde_json::from_str(&env.stop_hook()).unwrap();
    assert_eq!(blocked["decision"], "block");
    let mut child = env.helper_command(&["stop-hook"]);
    child.env("STORY_AUTOMATOR_CHILD", "true");
    assert_eq!(env.run_with_input(&mut child, b"{}").success().text(), "");
    // A run that has just begun is not over, whatever heartbeat it was given.
    let old = ["--heartbeat", "2020-01-01T00:00:00Z"];
    let _ = env.helper(&[&create[..], &old[..]].concat()).success();
    assert!(env.stop_hook().contains("block"));
    env.age_marker();
    assert_eq!(env.stop_hook(), "");
    let _ = env.helper(&["orchestrator-helper", "marker", "remove"]).success();
    let _ = env.helper(&["orchestrator-helper", "marker", "heartbeat"]).code(1);
    assert!(!env.work().join(".claude/.story-automator-active").exists());
}

#[test]
fn what_a_run_left_behind_stands_in_nobodys_way() {
    let env = TestEnv::new();
    let verify = || env.helper(&["orchestrator-helper", "verify-step", "dev", "1.2"]);
    let create = ["orchestrator-helper", "marker", "create", "--state-file", "gone.md"];
    let _ = env.helper(&create).success();
    assert!(
        verify().code(1).json()["error"].as_str().unwrap().starts_with("marker state file missing")
    );
    env.age_marker();
    assert_eq!(verify().success().json()["verified"], true);
}

#[test]
fn a_transcript_is_read_by_its_last_word_or_by_a_model_that_is_not_waited_for_for_ever() {
    let env = TestEnv::new();
    let reading = json!({"status": "SUCCESS", "summary": "s", "next_action": "proceed"});
    env.put("said.txt", &format!("work\n{reading}\n"));
    env.put("silent.txt", "work\nmore work\n");
    let bin = env.work().join("bin");
    fs::create_dir(&bin).unwrap();
    let parse = |file: &str| {
        let mut call = env.helper_command(&["orchestrator-helper", "parse-output", file, "retro"]);
        let path = std::env::var("PATH").unwrap_or_default();
        env.run(call.env("PATH", format!("{}:{path}", bin.display())))
    };
    let stub = |script: &str| {
        let program = env.write_program("claude-stub", script);
        fs::rename(program, bin.join("claude")).unwrap();
    };
    stub("#!/bin/sh\nexit 7\n");
    assert_eq!(parse("said.txt").success().json(), reading);
    assert_eq!(parse("silent.txt").code(1).json()["reason"], "sub-agent call failed");

    stub(&format!("#!/bin/sh\nprintf '%s ' \"$@\" > args\ncat > heard\necho '{reading}'\n"));
    assert_eq!(parse("silent.txt").success().json(), reading);
    let read = |name: &str| fs::read_to_string(env.work().join(name)).unwrap();
    assert_eq!(read("heard"), "work\nmore work");
    assert!(read("args").starts_with("-p --model haiku ") && !read("args").contains("more work"));

    let limit = r#"{"runtime": {"parser": {"timeoutSeconds": 1}}}"#;
    env.put("_bmad/bmm/story-automator.policy.json", limit);
    stub("#!/bin/sh\nsleep 300 &\nwait\n");
    assert_eq!(parse("silent.txt").code(1).json()["reason"], "sub-agent call timed out");
}
