//! Stories that BMAD builds with one skill (`bmad-build-auto`, seen in BMAD 6.12.0): the list, and the result of each.

use serde_json::Value;

use crate::format::{front_matter, yaml_to_json};

/// An entry of `stories.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub title: String,
    /// A person wants to approve the plan before it is implemented.
    pub spec_checkpoint: bool,
    /// A person wants to check before anything further runs.
    pub done_checkpoint: bool,
    /// Text to append to the prompt.
    pub invoke_dev_with: String,
}

/// Reads `stories.yaml` by the rules of BMAD's schema.
pub fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let Value::Array(list) = yaml_to_json(text)? else {
        return Err("not a list of stories".into());
    };
    let mut found: Vec<Entry> = Vec::new();
    for (at, one) in (1..).zip(&list) {
        let text = |key: &str| one.get(key).and_then(Value::as_str).map(str::trim);
        let fine = |id: &&str| {
            !id.is_empty()
                && id.len() <= 60
                && !id.starts_with('-')
                && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        let id = text("id").filter(fine).ok_or_else(|| {
            format!("entry {at}: the id must be a quoted string of letters, digits and dashes")
        })?;
        let title = text("title").filter(|title| !title.is_empty());
        let title = title.ok_or_else(|| format!("story {id} has no title"))?;
        let is_prefix = |a: &str, b: &str| b == a || b.starts_with(&format!("{a}-"));
        if let Some(other) =
            found.iter().find(|other| is_prefix(&other.id, id) || is_prefix(id, &other.id))
        {
            return Err(format!("the ids {} and {id} are ambiguous", other.id));
        }
        let flag = |key: &str| one.get(key).and_then(Value::as_bool).unwrap_or(false);
        found.push(Entry {
            id: id.to_owned(),
            title: title.lines().next().unwrap_or_default().to_owned(),
            spec_checkpoint: flag("spec_checkpoint"),
            done_checkpoint: flag("done_checkpoint"),
            invoke_dev_with: text("invoke_dev_with").unwrap_or_default().to_owned(),
        });
    }
    if found.is_empty() { Err("no stories".into()) } else { Ok(found) }
}

/// The spec of a story.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spec {
    /// `draft`, `ready-for-dev`, `in-progress`, `in-review`, `done` or `blocked`.
    pub status: String,
    /// Why it was blocked.
    pub blocking: Option<String>,
    /// It is done, and recommends another review itself.
    pub wants_review: bool,
}

pub fn spec(text: &str) -> Spec {
    let (front, body) = front_matter::split(text);
    let of = |key: &str| front.and_then(|front| front_matter::text(front, key)).unwrap_or_default();
    let after = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', ' ']);
        let rest = line.strip_prefix("Blocking condition")?.trim_start_matches(['*', ':', ' ']);
        Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty())
    };
    Spec {
        status: of("status").trim().to_ascii_lowercase(),
        // The last one: each run adds its own.
        blocking: body.lines().filter_map(after).next_back(),
        wants_review: of("followup_review_recommended").trim() == "true",
    }
}

/// The same spec, ready for another try after a person has resolved the block. `None` if it is not blocked.
pub fn unblocked(text: &str) -> Option<String> {
    (spec(text).status == "blocked").then(|| crate::format::fields::set(text, "status", "draft"))?
}

/// The sprint status with another status in one row; `None` if there is no such row, or nothing changes.
pub fn with_row(text: &str, key: &str, status: &str) -> Option<String> {
    let mut changed = false;
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let value = line.trim_start().strip_prefix(key).and_then(|rest| rest.strip_prefix(':'));
        let Some(value) = value.filter(|_| indent > 0) else { return line.to_owned() };
        let (value, end) = match value.strip_suffix('\n') {
            Some(value) => (value, "\n"),
            None => (value, ""),
        };
        let comment = value.find(" #").map_or("", |at| value[at..].trim_end());
        let written =
            value[..value.len() - value.find(" #").map_or(0, |at| value.len() - at)].trim();
        if written.trim_matches(['"', '\'']) == status {
            return line.to_owned();
        }
        changed = true;
        format!("{}{key}: {status}{comment}{end}", &line[..indent])
    };
    let text: String = text.split_inclusive('\n').map(line).collect();
    changed.then_some(text)
}

/// BMAD's two ways of doing stories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// `bmad-create-story`, `bmad-dev-story`, `bmad-code-review`: a session each.
    Stories,
    /// `bmad-build-auto`: one session for all of it.
    Build,
}

/// The installed skills, and the existing work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Installed {
    pub stories: bool,
    pub build: bool,
    pub has_sprint_status: bool,
    /// Stories of the sprint status for which `bmad-create-story` has written a file.
    pub has_story_files: bool,
    /// Specs that a build has written.
    pub has_specs: bool,
    /// A spec folder with `stories.yaml`.
    pub has_stories_yaml: bool,
}

/// Which of the two a run uses, and why. `None` if neither is installed.
pub fn choose(there: Installed) -> Option<(Generation, &'static str)> {
    use Generation::{Build, Stories};
    match there {
        Installed { stories: false, build: false, .. } => None,
        Installed { stories: false, .. } => Some((Build, "bmad-build-auto is installed")),
        Installed { build: false, .. } => {
            Some((Stories, "bmad-create-story and bmad-dev-story are installed"))
        }
        // Both are installed: continue in the way that was begun.
        Installed { has_story_files: true, .. } => Some((
            Stories,
            "both generations are installed and bmad-create-story has already created stories",
        )),
        Installed { has_specs: true, .. } => Some((
            Build,
            "both generations are installed and bmad-build-auto has already created specs",
        )),
        Installed { has_sprint_status: false, has_stories_yaml: true, .. } => Some((
            Build,
            "both generations are installed and there is a stories.yaml but no sprint status",
        )),
        _ => Some((Build, "both generations are installed and BMAD has deprecated the older one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_by_the_rules_of_the_schema() {
        let text = "- id: \"1\"\n  title: Add rate limiting\n  description: >-\n    Introduce a limiter.\n  spec_checkpoint: true\n  invoke_dev_with: >-\n    Use the\n    Redis client.\n- id: \"2\"\n  title: Metrics\n  description: x\n";
        let read = entries(text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].id.as_str(), read[0].spec_checkpoint), ("1", true));
        assert_eq!(read[0].invoke_dev_with, "Use the Redis client.");
        assert!(!read[1].spec_checkpoint && !read[1].done_checkpoint);
        for (bad, why) in [
            ("- id: 1\n  title: x\n", "quoted"),
            ("- id: \"a/b\"\n  title: x\n", "quoted"),
            ("- id: \"../x\"\n  title: x\n", "quoted"),
            ("- id: \"1\"\n", "no title"),
            ("- id: \"3\"\n  title: one\n- id: \"3-2\"\n  title: two\n", "ambiguous"),
            ("- id: \"3\"\n  title: one\n- id: \"3\"\n  title: two\n", "ambiguous"),
            ("[]\n", "no stories"),
            ("a: b\n", "not a list"),
        ] {
            let said = entries(bad).unwrap_err();
            assert!(said.contains(why), "{bad}: {said}");
        }
        let apart = "- id: \"1\"\n  title: one\n- id: \"10\"\n  title: two\n- id: \"2-1\"\n  title: three\n";
        assert_eq!(entries(apart).unwrap().len(), 3);
    }

    #[test]
    fn specs_are_read() {
        let done = "---\ntitle: 'x'\nstatus: 'done' # draft | done\nfollowup_review_recommended: true\n---\n# X\n";
        let read = spec(done);
        assert_eq!((read.status.as_str(), read.wants_review), ("done", true));
        let blocked = "---\nstatus: blocked\n---\n\n# Story 1\n\n## Auto Run Result\n\nStatus: blocked\nBlocking condition: intent gap\n\n- **Blocking condition:** no subagents\n";
        let read = spec(blocked);
        assert_eq!(
            (read.status.as_str(), read.blocking.as_deref()),
            ("blocked", Some("no subagents"))
        );
        let again = unblocked(blocked).unwrap();
        assert_eq!(spec(&again).status, "draft");
        assert!(again.contains("# Story 1"));
        assert_eq!(unblocked(done), None);
        for nothing in ["", "# no front matter\n", "---\nno end"] {
            assert_eq!(spec(nothing).status, "");
        }
    }

    #[test]
    fn a_row_of_the_sprint_status_is_changed() {
        let text = "development_status:\n  epic-1: backlog\n  1-1-a: backlog # first\n  1-10-b: \"done\"\n";
        let done = with_row(text, "1-1-a", "done").unwrap();
        assert_eq!(
            done,
            "development_status:\n  epic-1: backlog\n  1-1-a: done # first\n  1-10-b: \"done\"\n"
        );
        assert_eq!(with_row(text, "1-10-b", "done"), None);
        assert_eq!(with_row(text, "1-1", "done"), None);
        assert_eq!(with_row("  a: x", "a", "y").unwrap(), "  a: y");
    }

    #[test]
    fn the_generation_follows_from_what_is_installed() {
        use Generation::{Build, Stories};
        let both = Installed { stories: true, build: true, ..Installed::default() };
        for (there, want) in [
            (Installed::default(), None),
            (Installed { stories: true, ..Installed::default() }, Some(Stories)),
            (Installed { build: true, ..Installed::default() }, Some(Build)),
            (Installed { has_sprint_status: true, ..both }, Some(Build)),
            (Installed { has_sprint_status: true, has_story_files: true, ..both }, Some(Stories)),
            (Installed { has_sprint_status: true, has_specs: true, ..both }, Some(Build)),
            (Installed { has_stories_yaml: true, ..both }, Some(Build)),
        ] {
            assert_eq!(choose(there).map(|(generation, _)| generation), want, "{there:?}");
        }
    }

    #[test]
    fn the_built_in_workflow_can_be_read() {
        let workflow =
            dogwatch_core::workflow::read("bmad-build.toml", dogwatch_core::workflow::BMAD_BUILD)
                .unwrap();
        assert_eq!(workflow.name, "bmad-build");
    }
}
