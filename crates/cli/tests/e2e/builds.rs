//! Stories that BMAD builds by itself, with a script that plays `bmad-build-auto` to its ends.

use std::fs;
use std::path::Path;
use std::process::Command;

use dogwatch_testkit::Project;
use serde_json::Value;

/// Does what the skill does, as its mood says: `done` commits, `blocked` writes why, `half` stops in between.
const AGENT: &str = r#"
set -eu
notes=$NOTES
printf '%s\n' "$*" >> $notes/prompts
echo "$DOGWATCH_ITEM/$DOGWATCH_STEP#$DOGWATCH_ATTEMPT" >> $notes/log
mood=$(head -n 1 $notes/mood 2>/dev/null || echo done)
[ -e $notes/mood ] && sed -i 1d $notes/mood
if [ $DOGWATCH_STEP != build ]; then exit 0; fi
if [ -e _bmad-output/specs ]; then
  spec=_bmad-output/specs/spec-shop/stories/$DOGWATCH_ITEM-a-thing.md
else
  spec=_bmad-output/implementation-artifacts/spec-$(echo $DOGWATCH_ITEM | tr . -)-a-thing.md
fi
case $mood in
  early)
    printf -- '---\nstatus: blocked\n---\n\n# BMad Build Auto Result\n\nStatus: blocked\nBlocking condition: unclear intent\n' > _bmad-output/implementation-artifacts/bmad-build-auto-result-x.md
    exit 0;;
esac
# As the skill routes: a blocked one halts at once.
if [ -e $spec ] && grep -q '^status: blocked' $spec; then exit 0; fi
mkdir -p $(dirname $spec)
case $mood in
  blocked) printf -- '---\nstatus: blocked\n---\n# A thing\n\n## Auto Run Result\n\nStatus: blocked\nBlocking condition: intent gap\n' > $spec;;
  half) printf -- '---\nstatus: in-progress\n---\n# A thing\n' > $spec;;
  done)
    echo code > code-$DOGWATCH_ITEM.txt
    printf -- "---\nstatus: 'done' # draft | done\n---\n# A thing\n" > $spec
    git add -A && git commit -q -m "build: $DOGWATCH_ITEM";;
esac
"#;

struct Build {
    project: Project,
}

fn install(root: &Path, skill: &str) {
    let folder = root.join(".claude/skills").join(skill);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), "x").unwrap();
}

impl Build {
    fn new(skills: &[&str]) -> Self {
        let project = Project::new("name = \"unused\"\n");
        let script = AGENT.replace("$NOTES", &project.notes().display().to_string());
        project.env.add_profile("fake", "[launch]\nprompt = ['@prompt@']", &script);
        project.env.write_program("uv", "exit 0");
        let work = project.env.work();
        for skill in skills {
            install(work, skill);
        }
        fs::create_dir_all(work.join("_bmad/scripts")).unwrap();
        fs::write(work.join("_bmad/scripts/render_skill.py"), "").unwrap();
        fs::create_dir_all(work.join("_bmad-output/implementation-artifacts")).unwrap();
        fs::write(work.join("_bmad-output/implementation-artifacts/.keep"), "").unwrap();
        Self { project }
    }

    /// A spec folder with these stories.
    fn with_folder(self, stories: &str) -> Self {
        let folder = self.project.env.work().join("_bmad-output/specs/spec-shop");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stories.yaml"), stories).unwrap();
        fs::write(folder.join("SPEC.md"), "# Shop\n").unwrap();
        self.committed()
    }

    fn with_sprint(self) -> Self {
        let file = "_bmad-output/implementation-artifacts/sprint-status.yaml";
        let text = "development_status:\n  epic-1: in-progress\n  1-1-a-thing: backlog\n  1-2-a-thing: backlog # last\n";
        fs::write(self.project.env.work().join(file), text).unwrap();
        self.committed()
    }

    fn committed(self) -> Self {
        self.project.git(&["rm", "-q", "--cached", "flow.toml"]);
        fs::remove_file(self.project.env.work().join("flow.toml")).unwrap();
        self.project.git(&["add", "-A"]);
        self.project.git(&["commit", "-q", "-m", "a project"]);
        self
    }

    fn mood(&self, moods: &[&str]) {
        fs::write(self.project.notes().join("mood"), moods.join("\n") + "\n").unwrap();
    }

    /// With `uv` on the path.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.project.env.command(args);
        let bin = self.project.env.root().join("bin").display().to_string();
        command.env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap_or_default()));
        command
    }

    fn run(&self, more: &[&str]) -> dogwatch_testkit::CommandOutput {
        let args = [&["story", "run", "--agent", "fake"], more].concat();
        self.project.env.run(&mut self.command(&args))
    }
}

const TWO: &str = "- id: \"1\"\n  title: Rate limiting\n  description: x\n  invoke_dev_with: Use the Redis client.\n- id: \"2\"\n  title: Metrics\n  description: y\n";

#[test]
fn stories_of_a_spec_folder_to_their_ends() {
    let build = Build::new(&["bmad-build-auto"]).with_folder(TWO);
    let plan = ["story", "plan", "--agent", "fake"];
    let said = build.project.env.run(&mut build.command(&plan)).success();
    assert!(said.stderr.contains("workflow bmad-build: bmad-build-auto is installed"), "{said}");
    build.mood(&["half", "done", "blocked", "done"]);
    let mut run = build.command(&["story", "run", "--agent", "fake"]).spawn().unwrap();
    // Blocked is asked about at once: halting there again would help no one.
    let asked = build.project.answer("retry");
    assert_eq!(asked["situation"]["trigger"], "dev_failed", "{asked:#}");
    let problem = asked["situation"]["problem"].as_str().unwrap();
    assert!(
        problem.contains("blocked: intent gap") && problem.contains("2-a-thing.md"),
        "{problem}"
    );
    assert!(run.wait().unwrap().success());
    let log = build.project.noted("log");
    assert_eq!(log, ["1/build#1", "1/build#2", "2/build#1", "2/build#2"]);
    assert_eq!(
        build.project.commits(),
        ["first", "a project", "build: 1", "build: 2"],
        "it commits itself, and nobody does it twice"
    );
    assert_eq!(build.project.git(&["status", "--porcelain"]), "");
    let prompts = fs::read_to_string(build.project.notes().join("prompts")).unwrap();
    for part in [
        ".claude/skills/bmad-build-auto/SKILL.md",
        "Spec folder: _bmad-output/specs/spec-shop\nStory id: 1",
        "Use the Redis client.",
    ] {
        assert!(prompts.contains(part), "{part}: {prompts}");
    }
    let nothing = build.run(&[]).code(2);
    assert!(nothing.stderr.contains("all of these stories are done"), "{nothing}");
}

#[test]
fn stories_of_sprint_status_are_built_too() {
    let build = Build::new(&["bmad-build-auto"]).with_sprint();
    build.mood(&["early", "done", "blocked"]);
    let mut run =
        build.command(&["story", "run", "--agent", "fake", "--skip", "retro"]).spawn().unwrap();
    let asked = build.project.answer("retry");
    let problem = asked["situation"]["problem"].as_str().unwrap();
    assert!(problem.contains("blocked: unclear intent"), "{problem}");
    let asked = build.project.answer("skip_story");
    assert_eq!(asked["situation"]["story"], "1.2", "{asked:#}");
    assert!(run.wait().unwrap().success());
    let commits = build.project.commits();
    assert_eq!(
        commits,
        ["first", "a project", "build: 1.1", "chore(story-1.1): A thing is done"],
        "the row of sprint status is ours"
    );
    let sprint = build.project.env.work().join("_bmad-output/implementation-artifacts");
    let sprint = fs::read_to_string(sprint.join("sprint-status.yaml")).unwrap();
    assert!(sprint.contains("1-1-a-thing: done\n  1-2-a-thing: backlog # last"), "{sprint}");
    // What the blocked one left is on its branch.
    assert_eq!(build.project.git(&["status", "--porcelain"]), "");
    let branch =
        build.project.git(&["branch", "--list", "--format=%(refname:short)", "dogwatch/*"]);
    assert!(branch.ends_with("/1.2"), "{branch}");
}

#[test]
fn neither_generation_is_refused_before_anything_begins() {
    let build = Build::new(&["bmad-create-story"]).with_sprint();
    for command in
        [&["story", "run", "--agent", "fake", "--json"][..], &["story", "plan", "--json"]]
    {
        let said = build.project.env.run(&mut build.command(command)).code(2);
        let error = &said.json()["error"];
        assert_eq!(error["code"], "no_bmad", "{said}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("--shims") && hint.contains("--modules bmm"), "{hint}");
    }
    let said = build.project.env.dogwatch(&["story", "validate", "--json"]).code(1).json();
    assert!(said["issues"].to_string().contains("bmad-build-auto"), "{said}");
    assert_eq!(build.project.noted("log"), Vec::<String>::new());
}

fn workflow(build: &Build, more: &[&str]) -> Value {
    let args = [&["story", "plan", "--agent", "fake", "--json"], more].concat();
    build.project.env.run(&mut build.command(&args)).success().json()["workflow"].clone()
}

#[test]
fn with_both_what_was_begun_decides() {
    let both = ["bmad-build-auto", "bmad-create-story", "bmad-dev-story"];
    let build = Build::new(&both).with_sprint();
    assert_eq!(workflow(&build, &[]), "bmad-build");
    assert_eq!(workflow(&build, &["--workflow", "bmad"]), "bmad");
    let story =
        build.project.env.work().join("_bmad-output/implementation-artifacts/1-1-a-thing.md");
    fs::write(story, "# Story 1.1\n\nStatus: ready-for-dev\n").unwrap();
    assert_eq!(workflow(&build, &[]), "bmad");
    assert_eq!(workflow(&build, &["--workflow", "bmad-build"]), "bmad-build");
    // Of the user's own skills.
    let old = Build::new(&[]).with_sprint();
    let home = old.project.env.home().join(".claude/skills");
    for skill in ["bmad-create-story", "bmad-dev-story"] {
        fs::create_dir_all(home.join(skill)).unwrap();
        fs::write(home.join(skill).join("SKILL.md"), "x").unwrap();
    }
    assert_eq!(workflow(&old, &[]), "bmad");
}

#[test]
fn checkpoints_of_a_person_are_kept_and_needs_are_checked() {
    let stops = "- id: \"1\"\n  title: One\n  description: x\n  done_checkpoint: true\n- id: \"2\"\n  title: Two\n  description: y\n  spec_checkpoint: true\n";
    let build = Build::new(&["bmad-build-auto"]).with_folder(stops);
    let said = build.run(&[]).success();
    assert!(said.stderr.contains("stops after story 1"), "{said}");
    assert_eq!(build.project.noted("log"), ["1/build#1"]);
    let refused = build.run(&[]).code(2);
    assert!(refused.stderr.contains("stops before story 2"), "{refused}");
    let other = Build::new(&["bmad-build-auto"]).with_folder(TWO);
    other.project.env.write("draft", "mine");
    let refused = other.run(&["--allow-dirty"]).code(2);
    assert!(refused.stderr.contains("stops on uncommitted changes"), "{refused}");
    let refused = other.run(&["--max-parallel", "2"]);
    assert!(
        refused.stderr.contains("uncommitted") || refused.stderr.contains("order"),
        "{refused}"
    );
    fs::remove_file(other.project.env.work().join("_bmad/scripts/render_skill.py")).unwrap();
    let all = ["story", "validate", "--agent", "fake", "--json"];
    let said = other.project.env.run(&mut other.command(&all)).code(1).json();
    let issues = said["issues"].as_array().unwrap();
    assert!(issues.len() >= 2, "{said}");
}
