//! The real BMAD of npm, installed in a project, and a real claude that the model double has do what `bmad-build-auto` asks.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dogwatch_testkit::{skip, wait_within};
use model_double::homes::Agent;
use model_double::{Scenario, agents};
use serde_json::Value;

use crate::lab::Lab;

/// The skill's first command, then what its steps leave in the end. `$1` is how it ends.
const BUILD: &str = r#"#!/bin/sh
set -eu
echo "$DOGWATCH_ITEM#$DOGWATCH_ATTEMPT $1" >> $NOTES/log
uv run --no-cache "$PWD/_bmad/scripts/render_skill.py" --project-root "$PWD" --skill "$PWD/.claude/skills/bmad-build-auto" > $NOTES/rendered
folder=_bmad-output/specs/spec-shop/stories
mkdir -p $folder
spec=$folder/$DOGWATCH_ITEM-a-thing.md
case $1 in
  blocked) printf -- '---\nstatus: blocked\n---\n\n# A thing\n\n## Auto Run Result\n\nStatus: blocked\nBlocking condition: intent gap\n' > $spec;;
  done)
    echo code > code-$DOGWATCH_ITEM.txt
    sed "s/^status: .*/status: 'done'/; s/{title}/A thing/" .claude/skills/bmad-build-auto/spec-template.md > $spec
    git add -A
    git commit -q -m "build: $DOGWATCH_ITEM";;
esac
"#;

fn play(end: &str) -> String {
    format!(
        "[[rule]]\nmatch = 'bmad-build-auto'\nsteps = [{{ shell = {{ command = \"sh $NOTES/build {end}\", why = \"Build it\" }} }}, \"HALT: {end}\"]\n"
    )
}

struct Bmad {
    lab: Lab,
}

impl Bmad {
    /// `None` if claude, the package or python is missing and need not be there.
    fn install(more: &[&str]) -> Option<Self> {
        let lab = Lab::new(Agent::Claude)?;
        let Some(program) = agents::pinned("bmad").and_then(|bmad| bmad.installed()) else {
            skip::skipped(skip::AGENTS, "bmad is not installed; run lab/agents/install bmad");
            return None;
        };
        let bmad = Self { lab };
        fs::create_dir_all(bmad.notes()).unwrap();
        // Its scripts need nothing but Python; what uv would fetch is not there.
        bmad.lab.env.write_program("uv", "shift 2\nexec python3 \"$@\"");
        let script = BUILD.replace("$NOTES", &bmad.notes().display().to_string());
        fs::write(bmad.notes().join("build"), script).unwrap();
        let mut install = bmad.lab.env.foreign(program);
        install.args(["install", "--directory", ".", "--modules", "bmm", "--tools", "claude-code"]);
        let _ = bmad.lab.env.run(install.args(["--yes"]).args(more)).success();
        let spec = bmad.lab.env.work().join("_bmad-output/specs/spec-shop");
        fs::create_dir_all(&spec).unwrap();
        fs::write(spec.join("SPEC.md"), "# Shop\n").unwrap();
        let stories = "- id: \"1\"\n  title: A thing\n  description: x\n- id: \"2\"\n  title: Another\n  description: y\n";
        fs::write(spec.join("stories.yaml"), stories).unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "T"],
            &["config", "user.email", "t@example.invalid"],
            &["add", "-A"],
            &["commit", "-q", "-m", "a project"],
        ] {
            bmad.git(args);
        }
        Some(bmad)
    }

    fn notes(&self) -> std::path::PathBuf {
        self.lab.env.root().join("notes")
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = self.lab.env.foreign("git");
        self.lab.env.run(command.args(args)).success().text().trim().to_owned()
    }

    fn play(&self, end: &str) {
        let text = play(end).replace("$NOTES", &self.notes().display().to_string());
        self.lab.double.replace_scenario(Scenario::parse("build.toml", &text).unwrap());
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.lab.command(args);
        let bin = self.lab.env.root().join("bin").display().to_string();
        command.env("PATH", format!("{bin}:{}", self.lab.environment()["PATH"]));
        command
    }

    fn begin(&self) -> Child {
        let log = fs::File::create(self.notes().join("run.log")).unwrap();
        let (out, err) = (log.try_clone().unwrap(), Stdio::from(log));
        self.command(&["story", "run", "--agent", "claude"])
            .stdout(out)
            .stderr(err)
            .spawn()
            .unwrap()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.notes().join("run.log")).unwrap_or_default()
    }

    #[track_caller]
    fn question(&self) -> Value {
        wait_within(
            Duration::from_mins(3),
            || format!("a question:\n{}", self.said()),
            || {
                let open = self.lab.dogwatch(&["escalations", "ls", "--json"]).success().json();
                Some(open["escalations"][0].clone()).filter(|open| !open.is_null())
            },
        )
    }
}

#[test]
fn the_package_of_npm_is_built_to_done_and_to_blocked() {
    let Some(bmad) = Bmad::install(&[]) else { return };
    let skills = bmad.lab.env.work().join(".claude/skills");
    assert!(skills.join("bmad-build-auto/SKILL.md").is_file());
    assert!(!skills.join("bmad-create-story").exists(), "no longer installed by default");
    bmad.play("blocked");
    let mut run = bmad.begin();
    let open = bmad.question();
    assert_eq!(open["situation"]["trigger"], "dev_failed", "{open:#}\n{}", bmad.said());
    let problem = open["situation"]["problem"].as_str().unwrap();
    assert!(problem.contains("blocked: intent gap"), "{problem}");
    bmad.play("done");
    let number = open["number"].to_string();
    let _ = bmad.lab.dogwatch(&["escalations", "answer", &number, "--option", "retry"]).success();
    assert!(run.wait().unwrap().success(), "{}", bmad.said());
    let log = fs::read_to_string(bmad.notes().join("log")).unwrap();
    assert_eq!(log, "1#1 blocked\n1#2 done\n2#1 done\n", "{}", bmad.said());
    let commits = bmad.git(&["log", "--reverse", "--format=%s"]);
    assert_eq!(commits, "a project\nbuild: 1\nbuild: 2");
    assert_eq!(bmad.git(&["status", "--porcelain"]), "");
    // The real renderer of the package was run by the agent, and names the workflow.
    let rendered = fs::read_to_string(bmad.notes().join("rendered")).unwrap();
    assert!(rendered.contains("workflow.md"), "{rendered}");
    assert!(bmad.said().contains("workflow bmad-build: bmad-build-auto is installed"));
}

#[test]
fn with_shims_both_generations_are_found() {
    let Some(bmad) = Bmad::install(&["--shims"]) else { return };
    let plan = |more: &[&str]| {
        let args = [&["story", "plan", "--json"], more].concat();
        bmad.lab.env.run(&mut bmad.command(&args))
    };
    let chosen = plan(&[]).success().json();
    assert_eq!(chosen["workflow"], "bmad-build", "{chosen:#}");
    assert!(chosen["notes"][0].as_str().unwrap().contains("both generations"), "{chosen:#}");
    let art = bmad.lab.env.work().join("_bmad-output/implementation-artifacts");
    fs::create_dir_all(&art).unwrap();
    fs::write(art.join("sprint-status.yaml"), "development_status:\n  1-1-a: ready-for-dev\n")
        .unwrap();
    fs::write(art.join("1-1-a.md"), "# Story 1.1\n\nStatus: ready-for-dev\n").unwrap();
    let chosen = plan(&[]).success().json();
    assert_eq!(chosen["workflow"], "bmad", "{chosen:#}");
}
