//! BMAD stories from end to end, with a script that plays the agents: what a real one does with its tools, it does with sed.

use std::fs;
use std::process::Child;

use dogwatch_testkit::{Project, eventually};
use serde_json::Value;

/// Does what each step of BMAD's does. What it is in the mood for is in a file: `broken` once for each line that is left.
const AGENT: &str = r##"
set -eu
notes=$NOTES
echo "$DOGWATCH_ITEM/$DOGWATCH_STEP#$DOGWATCH_ATTEMPT" >> $notes/log
prefix=$(echo $DOGWATCH_ITEM | tr . -)
art=_bmad-output/implementation-artifacts
set_status() { sed -i "s/^\(  $prefix-[a-z-]*\): .*/\1: $1/" $art/sprint-status.yaml; }
mood=$(head -n 1 $notes/mood-$DOGWATCH_STEP 2>/dev/null || echo fine)
[ -e $notes/mood-$DOGWATCH_STEP ] && sed -i 1d $notes/mood-$DOGWATCH_STEP
case $mood in
  crash) exit 7;;
  idle) exit 0;;
  failed) echo 'RESULT: FAILED the tests do not pass'; exit 0;;
  mumbles) echo 'I think that is it.'; exit 0;;
esac
case $DOGWATCH_STEP in
  create)
    printf '# Story %s: A title\n\nStatus: ready-for-dev\n\n## Tasks\n- [ ] one\n' $DOGWATCH_ITEM > $art/$prefix-a-title.md
    set_status ready-for-dev;;
  dev)
    echo "code of $DOGWATCH_ITEM" > code-$prefix.txt
    sed -i 's/^Status: .*/Status: review/; s/\[ \]/[x]/' $art/$prefix-a-title.md
    set_status review
    echo 'RESULT: DONE';;
  auto) echo "test of $DOGWATCH_ITEM" > test-$prefix.txt;;
  review)
    if [ $mood = findings ]; then set_status in-progress; exit 0; fi
    sed -i 's/^Status: .*/Status: done/' $art/$prefix-a-title.md
    set_status done;;
  retro)
    echo "# Epic $DOGWATCH_ITEM" > $art/epic-$DOGWATCH_ITEM-retro.md
    sed -i "s/^\(  epic-$DOGWATCH_ITEM-retrospective\): .*/\1: done/" $art/sprint-status.yaml;;
esac
"##;

const SPRINT: &str = "\
development_status:
  epic-1: in-progress
  1-1-a-title: backlog
  1-2-a-title: backlog
  1-3-a-title: backlog
  epic-1-retrospective: optional

  epic-2: backlog
  2-1-a-title: backlog
  2-2-a-title: backlog
  epic-2-retrospective: optional
";

const EPICS: &str = "\
# Shop
## Epic 1: Accounts
### Story 1.1: User login
As a user I want to log in.
### Story 1.2: Password reset
As a user I want a mail.
Dependencies: 1.1
### Story 1.3: Profile page
A page.
## Epic 2: Orders
### Story 2.1: Cart
A cart.
### Story 2.2: Checkout
A checkout.
";

struct Bmad {
    project: Project,
}

impl Bmad {
    fn new() -> Self {
        let project = Project::new("name = \"unused\"\n");
        let script = AGENT.replace("$NOTES", &project.notes().display().to_string());
        project.env.add_profile("fake", "", &script);
        for skill in ["bmad-create-story", "bmad-dev-story"] {
            let skill = project.env.work().join(".claude/skills").join(skill);
            fs::create_dir_all(&skill).unwrap();
            fs::write(skill.join("SKILL.md"), "x").unwrap();
        }
        let art = project.env.work().join("_bmad-output/implementation-artifacts");
        fs::create_dir_all(&art).unwrap();
        fs::write(art.join("sprint-status.yaml"), SPRINT).unwrap();
        fs::create_dir_all(project.env.work().join("docs/epics")).unwrap();
        fs::write(project.env.work().join("docs/epics/epics.md"), EPICS).unwrap();
        project.git(&["rm", "-q", "flow.toml"]);
        project.git(&["add", "-A"]);
        project.git(&["commit", "-q", "-m", "a project"]);
        Self { project }
    }

    /// What the script is in the mood for at a step, one line for each time.
    fn mood(&self, step: &str, moods: &[&str]) {
        fs::write(self.project.notes().join(format!("mood-{step}")), moods.join("\n") + "\n")
            .unwrap();
    }

    fn begin(&self, more: &[&str]) -> Child {
        let mut args = vec!["story", "run", "--agent", "fake"];
        args.extend(more);
        self.project.start(&args)
    }

    fn log(&self) -> Vec<String> {
        self.project.noted("log")
    }

    fn marker(&self) -> bool {
        self.project.env.work().join(".claude/.story-automator-active").exists()
    }

    fn state(&self) -> Value {
        let work = self.project.env.work().join("_bmad-output/story-automator");
        let mut files: Vec<_> = fs::read_dir(work)
            .unwrap()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.is_file())
            .collect();
        files.sort();
        let file = files.pop().unwrap();
        let mut command =
            self.project.env.command(&["story-automator", "orchestrator-helper", "state-summary"]);
        command.arg(file);
        self.project.env.run(&mut command).success().json()
    }
}

#[test]
fn two_epics_and_five_stories() {
    let bmad = Bmad::new();
    let plan =
        bmad.project.env.dogwatch(&["story", "plan", "--agent", "fake", "--json"]).success().json();
    let items = plan["items"].as_array().unwrap();
    assert_eq!(items.len(), 5);
    assert_eq!(
        (&items[0]["title"], &items[0]["blocking"], &items[1]["after"][0]),
        (&"User login".into(), &true.into(), &"1.1".into())
    );
    let dry =
        bmad.project.env.dogwatch(&["story", "run", "--agent", "fake", "--dry-run"]).success();
    assert!(dry.text().contains("Password reset"), "{dry}");
    let _ = bmad
        .project
        .env
        .dogwatch(&["story", "run", "--agent", "fake", "--agent-for", "nope=x"])
        .code(2);
    let said = bmad.project.env.dogwatch(&["story", "run", "--agent", "fake"]).success();
    let mut wanted = vec!["first".to_owned(), "a project".to_owned()];
    for (story, title) in [
        ("1.1", "User login"),
        ("1.2", "Password reset"),
        ("1.3", "Profile page"),
        ("", ""),
        ("2.1", "Cart"),
        ("2.2", "Checkout"),
    ] {
        wanted.push(if story.is_empty() {
            "docs(epic-1): retrospective".into()
        } else {
            format!("feat(story-{story}): {title}")
        });
    }
    wanted.push("docs(epic-2): retrospective".into());
    assert_eq!(bmad.project.commits(), wanted, "{said}");
    assert_eq!(bmad.project.git(&["status", "--porcelain"]), "");
    assert_eq!(bmad.log().len(), 5 * 4 + 2, "{:?}", bmad.log());
    assert_eq!(bmad.state()["status"], "COMPLETE");
    assert!(!bmad.marker());
    let _ = bmad.project.env.dogwatch(&["story", "validate"]).success();
    let nothing = bmad.project.env.dogwatch(&["story", "run", "--agent", "fake"]).code(2);
    assert!(nothing.stderr.contains("all of these stories are done"), "{nothing}");
}

#[test]
fn some_stories_and_what_is_left_out() {
    let bmad = Bmad::new();
    let args = [
        "story",
        "run",
        "--agent",
        "fake",
        "--stories",
        "1.2-1.3",
        "--skip-automate",
        "--epic",
        "1",
    ];
    let _ = bmad.project.env.dogwatch(&args).success();
    let log = bmad.log();
    assert_eq!(
        log,
        ["1.2/create#1", "1.2/dev#1", "1.2/review#1", "1.3/create#1", "1.3/dev#1", "1.3/review#1"],
        "epic 1 is not complete"
    );
}

#[test]
fn a_review_that_never_gets_clean() {
    let bmad = Bmad::new();
    bmad.mood("review", &["findings"; 5]);
    let mut run = bmad.begin(&["--stories", "1.1"]);
    eventually("a question", || {
        !bmad.project.env.dogwatch(&["escalations", "ls", "--json"]).json()["escalations"]
            .as_array()
            .unwrap()
            .is_empty()
    });
    eventually("it is paused", || bmad.state()["status"] == "PAUSED" && !bmad.marker());
    let asked = bmad.project.answer("retry");
    assert_eq!(
        (&asked["situation"]["trigger"], &asked["kind"]),
        (&"review_loop".into(), &"critical".into()),
        "{asked}"
    );
    assert!(run.wait().unwrap().success());
    let reviews = bmad.log().into_iter().filter(|line| line.contains("review")).count();
    assert_eq!(reviews, 6);
    assert_eq!(bmad.state()["status"], "COMPLETE");
}

#[test]
fn ends_that_are_not_verified() {
    let bmad = Bmad::new();
    bmad.mood("review", &["idle"; 5]);
    bmad.mood("create", &["idle"; 2]);
    let mut run = bmad.begin(&["--stories", "1.1"]);
    // claude and codex are not installed here: no other agent is offered.
    let asked = bmad.project.answer("retry");
    assert_eq!(
        (&asked["situation"]["trigger"], &asked["situation"]["step"]),
        (&"session_incomplete".into(), &"create".into()),
        "{asked}"
    );
    let actions: Vec<&str> = asked["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["fix_by_hand", "retry", "skip_story", "pause"], "{asked}");
    let asked = bmad.project.answer("skip_story");
    assert_eq!(
        (&asked["situation"]["trigger"], &asked["situation"]["step"]),
        (&"session_incomplete".into(), &"review".into()),
        "{asked}"
    );
    assert!(run.wait().unwrap().success());
    let report = bmad.project.report();
    assert_eq!(report["items"][0]["state"], "dropped");
    assert_eq!(bmad.project.commits().len(), 2);
    // What it had done is on a branch, and the tree is as it was.
    assert_eq!(bmad.project.git(&["status", "--porcelain"]), "");
    let branch = bmad.project.git(&["branch", "--list", "--format=%(refname:short)", "dogwatch/*"]);
    assert!(branch.ends_with("/1.1") && !branch.contains('\n'), "{branch}");
    let kept = bmad.project.git(&["show", "--name-only", "--format=", &branch]);
    assert!(kept.contains("code-1-1.txt") && kept.contains("sprint-status.yaml"), "{kept}");
    let why = report["items"][0]["why"].as_str().unwrap();
    assert!(why.contains(&branch), "{why}");
}

#[test]
fn a_dev_step_that_fails_crashes_and_mumbles() {
    let bmad = Bmad::new();
    bmad.mood("dev", &["crash", "mumbles", "mumbles", "failed", "failed", "fine"]);
    let mut run = bmad.begin(&["--stories", "1.3"]);
    let asked = bmad.project.answer("retry");
    assert_eq!(
        (&asked["situation"]["trigger"], &asked["kind"]),
        (&"output_unclear".into(), &"preference".into()),
        "{asked}"
    );
    let asked = bmad.project.answer("retry");
    assert_eq!(
        (&asked["situation"]["trigger"], &asked["kind"]),
        (&"dev_failed".into(), &"preference".into()),
        "{asked}"
    );
    assert!(run.wait().unwrap().success());
    let tries: Vec<Value> = bmad.project.report()["items"][0]["steps"][1]["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["result"].clone())
        .collect();
    assert_eq!(tries, ["crash", "unclear", "unclear", "failed", "failed", "verified"]);
}

#[test]
fn side_by_side_with_one_sprint_file() {
    let bmad = Bmad::new();
    let said = bmad
        .project
        .env
        .dogwatch(&["story", "run", "--agent", "fake", "--max-parallel", "3"])
        .success();
    let text = fs::read_to_string(
        bmad.project.env.work().join("_bmad-output/implementation-artifacts/sprint-status.yaml"),
    )
    .unwrap();
    assert_eq!(text.matches("a-title: done").count(), 5, "{said}\n{text}");
    assert_eq!(text.matches("retrospective: done").count(), 2, "{text}");
    assert_eq!(bmad.project.git(&["status", "--porcelain"]), "");
    let merges =
        bmad.project.commits().into_iter().filter(|s| s.starts_with("Merge story")).count();
    assert_eq!(merges, 5);
}

#[test]
fn a_run_of_the_original_is_gone_on_with() {
    let bmad = Bmad::new();
    let work = bmad.project.env.work().to_owned();
    // It has created and implemented 1.1, and was left in its review.
    fs::write(
        work.join("_bmad-output/implementation-artifacts/1-1-a-title.md"),
        "# Story 1.1: A title\n\nStatus: review\n",
    )
    .unwrap();
    let sprint = SPRINT.replace("1-1-a-title: backlog", "1-1-a-title: review");
    fs::write(work.join("_bmad-output/implementation-artifacts/sprint-status.yaml"), sprint)
        .unwrap();
    let folder = work.join("_bmad-output/story-automator");
    fs::create_dir_all(&folder).unwrap();
    let document = "---\nepic: \"1\"\nepicName: \"Accounts\"\nstoryRange: [\"1.1\", \"1.2\"]\nstatus: IN_PROGRESS\ncurrentStory: 1.1\ncurrentStep: review\nlastUpdated: \"2026-01-02T03:04:05Z\"\naiCommand: \"claude\"\noverrides:\n  skipAutomate: true\n  maxParallel: 1\nagentConfig:\n  defaultPrimary: \"fake\"\n  defaultFallback: false\nactiveSessions: []\n---\n\n# Log\n\n## Story Progress\n\n## Learnings & Recommendations\n\nMine.\n";
    let file = folder.join("orchestration-1-20260102-030405.md");
    fs::write(&file, document).unwrap();
    let said = bmad.project.env.dogwatch(&["story", "resume"]).success();
    assert_eq!(bmad.log(), ["1.1/review#1", "1.2/create#1", "1.2/dev#1", "1.2/review#1"], "{said}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("status: \"COMPLETE\"") && text.contains("Mine."), "{text}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "it is the same document");
}
