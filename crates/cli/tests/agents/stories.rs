//! Whole stories by the real agents: claude creates and implements, codex reviews, the model double has them do it with their tools.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use dogwatch_testkit::{eventually_or, wait_within};
use model_double::Scenario;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

/// What an agent's shell does for each step.
const STEP: &str = r##"#!/bin/sh
set -eu
echo "$DOGWATCH_ITEM/$DOGWATCH_STEP#$DOGWATCH_ATTEMPT" >> $NOTES/log
prefix=$(echo $DOGWATCH_ITEM | tr . -)
art=_bmad-output/implementation-artifacts
set_status() { sed -i "s/^\(  $prefix-[a-z-]*\): .*/\1: $1/" $art/sprint-status.yaml; }
case $DOGWATCH_STEP in
  create)
    printf '# Story %s: A title\n\nStatus: ready-for-dev\n\n## Tasks\n- [ ] one\n' $DOGWATCH_ITEM > $art/$prefix-a-title.md
    set_status ready-for-dev;;
  dev)
    echo "code of $DOGWATCH_ITEM" > code-$prefix.txt
    sed -i 's/^Status: .*/Status: review/; s/\[ \]/[x]/' $art/$prefix-a-title.md
    set_status review;;
  review)
    sed -i 's/^Status: .*/Status: done/' $art/$prefix-a-title.md
    set_status done;;
  retro)
    echo "# Epic $DOGWATCH_ITEM" > $art/epic-$DOGWATCH_ITEM-retro.md
    sed -i "s/^\(  epic-$DOGWATCH_ITEM-retrospective\): .*/\1: done/" $art/sprint-status.yaml;;
esac
"##;

/// Every prompt of a step: run the script, then say that it is done.
const PLAY: &str = r#"
[[rule]]
match = 'create-story|dev-story|code-review|retrospective|qa-generate'
steps = [{ shell = { command = "sh $NOTES/step", why = "Do the step" } }, "All of it is there.\n\nRESULT: DONE"]
"#;

struct Shop {
    lab: Lab,
}

impl Shop {
    /// A BMAD project with so many stories in each of its epics.
    fn new(play: &str, epics: &[usize]) -> Option<Self> {
        let lab = Lab::for_a_team(Agent::Claude, Agent::Codex)?;
        let shop = Self { lab };
        let notes = shop.notes();
        fs::create_dir(&notes).unwrap();
        let with_notes = |text: &str| text.replace("$NOTES", &notes.display().to_string());
        fs::write(notes.join("step"), with_notes(STEP)).unwrap();
        shop.lab
            .double
            .replace_scenario(Scenario::parse("stories.toml", &with_notes(play)).unwrap());
        for skill in ["bmad-create-story", "bmad-dev-story"] {
            let skill = shop.lab.env.work().join(".claude/skills").join(skill);
            fs::create_dir_all(&skill).unwrap();
            fs::write(skill.join("SKILL.md"), "x").unwrap();
        }
        let art = shop.lab.env.work().join("_bmad-output/implementation-artifacts");
        fs::create_dir_all(&art).unwrap();
        let mut sprint = "development_status:\n".to_owned();
        let mut text = "# Shop\n".to_owned();
        for (at, stories) in epics.iter().enumerate() {
            let epic = at + 1;
            writeln!(sprint, "  epic-{epic}: in-progress").unwrap();
            writeln!(text, "## Epic {epic}: Part {epic}").unwrap();
            for story in 1..=*stories {
                writeln!(sprint, "  {epic}-{story}-a-title: backlog").unwrap();
                writeln!(text, "### Story {epic}.{story}: Thing {story}\nA thing.").unwrap();
            }
            writeln!(sprint, "  epic-{epic}-retrospective: optional").unwrap();
        }
        fs::write(art.join("sprint-status.yaml"), sprint).unwrap();
        fs::create_dir_all(shop.lab.env.work().join("docs/epics")).unwrap();
        fs::write(shop.lab.env.work().join("docs/epics/epics.md"), text).unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "T"],
            &["config", "user.email", "t@example.invalid"],
            &["add", "-A"],
            &["commit", "-q", "-m", "a project"],
        ] {
            shop.git(args);
        }
        Some(shop)
    }

    /// What the models do from now on.
    fn play(&self, play: &str) {
        let play = play.replace("$NOTES", &self.notes().display().to_string());
        self.lab.double.replace_scenario(Scenario::parse("stories.toml", &play).unwrap());
    }

    fn notes(&self) -> PathBuf {
        self.lab.env.root().join("notes")
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = self.lab.env.foreign("git");
        self.lab.env.run(command.args(args)).success().text().trim().to_owned()
    }

    fn begin(&self, more: &[&str]) -> Child {
        let mut args = vec![
            "story",
            "run",
            "--agent",
            "claude",
            "--agent-for",
            "review=codex",
            "--skip-automate",
        ];
        args.extend(more);
        let log = fs::File::create(self.notes().join("run.log")).unwrap();
        self.lab
            .command(&args)
            .stdout(log.try_clone().unwrap())
            .stderr(Stdio::from(log))
            .spawn()
            .unwrap()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.notes().join("run.log")).unwrap_or_default()
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.notes().join("log")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    fn report(&self) -> Value {
        self.lab.dogwatch(&["story", "report", "--json"]).success().json()
    }

    /// What each attempt at a step of the first story came to.
    fn results(&self, step: &str) -> Vec<String> {
        let report = self.report();
        let steps = report["items"][0]["steps"].as_array().unwrap();
        let one = steps.iter().find(|one| one["step"] == step).unwrap();
        let tries = one["attempts"].as_array().unwrap();
        tries.iter().map(|one| one["result"].as_str().unwrap().to_owned()).collect()
    }

    fn open(&self) -> Value {
        self.lab.dogwatch(&["escalations", "ls", "--json"]).success().json()["escalations"][0]
            .clone()
    }

    /// Waits until this is asked about this step. Real agents take their time.
    #[track_caller]
    fn question(&self, trigger: &str, step: &str) {
        let what = || format!("the question {trigger}:\n{}", self.said());
        let look = || Some(self.open()).filter(|open| !open.is_null());
        let open = wait_within(Duration::from_mins(3), what, look);
        let found = (&open["situation"]["trigger"], &open["situation"]["step"]);
        assert_eq!(found, (&trigger.into(), &step.into()), "{open:#}\n{}", self.said());
    }

    /// Answers what is asked, from another process.
    fn answer(&self, option: &str) {
        let number = self.open()["number"].to_string();
        let _ =
            self.lab.dogwatch(&["escalations", "answer", &number, "--option", option]).success();
    }

    fn commits(&self) -> Vec<String> {
        self.git(&["log", "--reverse", "--format=%s"]).lines().map(ToOwned::to_owned).collect()
    }
}

#[test]
fn five_stories_by_claude_and_codex() {
    let Some(shop) = Shop::new(PLAY, &[3, 2]) else { return };
    let mut run = shop.begin(&[]);
    assert!(run.wait().unwrap().success(), "{}", shop.said());
    assert_eq!(
        shop.commits(),
        [
            "a project",
            "feat(story-1.1): Thing 1",
            "feat(story-1.2): Thing 2",
            "feat(story-1.3): Thing 3",
            "docs(epic-1): retrospective",
            "feat(story-2.1): Thing 1",
            "feat(story-2.2): Thing 2",
            "docs(epic-2): retrospective",
        ]
    );
    assert_eq!(shop.git(&["status", "--porcelain"]), "");
    let log = shop.log();
    assert_eq!(log.len(), 5 * 3 + 2, "{log:?}");
    assert_eq!(log[..3], ["1.1/create#1", "1.1/dev#1", "1.1/review#1"]);
    let report = shop.report();
    assert_eq!(
        (&report["retries"], &report["questions"]),
        (&0.into(), &Value::Array(vec![])),
        "{report:#}"
    );
    for (step, agent) in [("create", "claude"), ("dev", "claude"), ("review", "codex")] {
        let steps = report["items"][0]["steps"].as_array().unwrap();
        let one = steps.iter().find(|one| one["step"] == step).unwrap();
        assert_eq!(one["attempts"][0]["agent"], agent);
        assert!(one["spent"]["output"].as_u64().unwrap() > 0, "tokens of {step}: {one:#}");
    }
    let left = shop.lab.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(left["sessions"], Value::Array(vec![]), "every session was ended");
}

/// Prompts of a step by words that stand late in them: what matches latest counts.
const CREATE: &str = "note it in the story";
const DEV: &str = "End with a line of its own";
const REVIEW: &str = "auto-fix all issues";

/// The usual play, but for one step this.
fn but(step: &str, steps: &str) -> String {
    format!("{PLAY}\n[[rule]]\nmatch = '{step}'\nsteps = {steps}\n")
}

#[test]
fn every_failure_ends_in_a_question_that_somebody_else_answers() {
    let says_nothing = but(CREATE, r#"["I have thought about it."]"#);
    let Some(shop) = Shop::new(&says_nothing, &[1]) else { return };
    let hook = shop.lab.env.work().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = shop.begin(&["--budget-tokens", "40000"]);

    // Ended well, and the file is not there, twice.
    shop.question("session_incomplete", "create");
    shop.play(&but(DEV, r#"["I think that is it."]"#));
    shop.answer("other_agent");
    // It says neither that it is done nor that it failed, twice.
    shop.question("output_unclear", "dev");
    shop.play(&but(DEV, r#"["The tests do not pass.\n\nRESULT: FAILED two tests are red"]"#));
    shop.answer("retry");
    shop.question("dev_failed", "dev");
    shop.play(&but(REVIEW, r#"[{ shell = { command = "sed -i 's/: review/: in-progress/' _bmad-output/implementation-artifacts/sprint-status.yaml", why = "It is not clean" } }, "Two critical findings are left."]"#));
    shop.answer("retry");
    // Five reviews with findings.
    shop.question("review_loop", "review");
    shop.play(PLAY);
    shop.answer("retry");
    shop.question("commit_failed", "commit");
    fs::remove_file(&hook).unwrap();
    shop.answer("retry");
    assert!(run.wait().unwrap().success(), "{}", shop.said());
    assert_eq!(shop.results("create"), ["unverified", "unverified", "verified"]);
    assert_eq!(shop.results("dev"), ["unclear", "unclear", "failed", "failed", "verified"]);
    assert_eq!(
        shop.results("review"),
        ["unverified", "unverified", "unverified", "unverified", "unverified", "verified"]
    );
    assert_eq!(shop.commits().len(), 3);
}

#[test]
fn a_budget_is_counted_from_transcripts() {
    let Some(shop) = Shop::new(PLAY, &[1]) else { return };
    let mut run = shop.begin(&["--budget-tokens", "3000"]);
    shop.question("budget", "review");
    shop.answer("raise_budget");
    assert!(run.wait().unwrap().success(), "{}", shop.said());
    assert!(shop.report()["items"][0]["spent"]["input"].as_u64().unwrap() > 3000);
}

#[test]
fn real_agents_side_by_side_in_worktrees() {
    let both = but(
        DEV,
        r#"[{ shell = { command = "sh $NOTES/step; pwd > shared.txt", why = "Do the step" } }, "RESULT: DONE"]"#,
    );
    let Some(shop) = Shop::new(&both, &[2]) else { return };
    let mut run = shop.begin(&["--max-parallel", "2"]);
    shop.question("dependency_conflict", "merge");
    shop.answer("one_by_one");
    assert!(run.wait().unwrap().success(), "{}", shop.said());
    let commits = shop.commits();
    assert!(commits.contains(&"Merge story 1.2: Thing 2".to_owned()), "{commits:?}");
    assert_eq!(shop.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_real_agent_is_killed_and_a_limit_is_waited_out() {
    let play = format!(
        "{PLAY}\n[[rule]]\nmatch = 'auto-fix all issues'\nsteps = [{{ error = {{ kind = \"usage_limit\", resets_in_s = 20 }} }}]\n\
         [[rule]]\nmatch = 'note it in the story'\nsteps = [[{{ gate = \"gate\" }}, \
         {{ shell = {{ command = \"sh $NOTES/step\", why = \"Do the step\" }} }}], \"Done.\"]\n"
    );
    let Some(shop) = Shop::new(&play, &[1]) else { return };
    let mut run = shop.begin(&[]);
    // The first one dies in the middle of its turn.
    let mut name = None;
    eventually_or("claude works", || {
        let all = shop.lab.dogwatch(&["status", "--json"]).success().json();
        let sessions = all["sessions"].as_array().unwrap();
        let one = sessions.iter().find(|s| s["state"] == "working");
        name = one.and_then(|s| Some(s["name"].as_str()?.to_owned()));
        if name.is_some() { Ok(()) } else { Err(format!("{all:#} {}", shop.said())) }
    });
    let pid = shop.lab.session(&name.unwrap()).pid;
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    shop.lab.double.release("gate");
    eventually_or("the limit is met", || {
        let said = shop.said();
        if said.contains("not done: limit") { Ok(()) } else { Err(said) }
    });
    shop.play(PLAY);
    assert!(run.wait().unwrap().success(), "{}", shop.said());
    let report = shop.report();
    assert_eq!(shop.results("create"), ["crash", "verified"], "{report:#}");
    assert_eq!(shop.results("review"), ["limit", "verified"], "{report:#}");
    assert_eq!(shop.commits().len(), 3, "{}", shop.said());
}
