//! The state document of a run of BMAD stories: the journal in the format that story-automator's tools read.

use std::fmt::Write;

use jiff::Timestamp;

use crate::format::fields;
use dogwatch_core::workflow::fact::{Dated, Fact, Subject};
use dogwatch_core::workflow::state::{Outcome, Phase, Run, Standing};

pub const TEMPLATE: &str = include_str!("../data/state.md");

/// The steps of the progress table, as in story-automator.
const COLUMNS: [&str; 5] = ["create", "dev", "auto", "review", "commit"];

/// The run's status in story-automator's terms.
pub fn status(run: &Run) -> &'static str {
    match &run.standing {
        Standing::Complete => "COMPLETE",
        Standing::Aborted { .. } => "ABORTED",
        Standing::Paused { .. } => "PAUSED",
        Standing::Going if run.is_held_up() => "PAUSED",
        Standing::Going => "IN_PROGRESS",
    }
}

/// The current story and step.
pub fn place(run: &Run) -> Option<(String, String)> {
    let mut items = run.plan.items.iter();
    let item = items.find(|item| {
        let state = run.items.get(&item.id);
        state.is_some_and(|s| s.begun.is_some() && s.finished.is_none())
    });
    if let Some(item) = item {
        let jobs = run.jobs_of(&Subject::Item(item.id.clone()));
        let open = jobs.into_iter().find(|job| run.job(job).outcome().is_none())?;
        return Some((item.id.clone(), open.step));
    }
    let retro = run.jobs.iter().find(|(job, s)| job.item().is_none() && s.outcome().is_none());
    retro.map(|(job, _)| (job.subject.name().to_owned(), job.step.clone()))
}

pub fn stories_left(run: &Run) -> usize {
    run.items.values().filter(|item| item.finished.is_none()).count()
}

/// The current document. What people wrote below "Learnings" is kept.
pub fn document(before: &str, run: &Run, facts: &[Dated]) -> String {
    let mut text = before.to_owned();
    let mut set = |key: &str, value: String| {
        if let Some(changed) = fields::set(&text, key, &value) {
            text = changed;
        }
    };
    let quoted = |word: &str| format!("\"{word}\"");
    set("status", quoted(status(run)));
    let place = place(run);
    let or_null = |word: Option<&String>| word.map_or("null".to_owned(), |word| quoted(word));
    set("currentStory", or_null(place.as_ref().map(|(story, _)| story)));
    set("currentStep", or_null(place.as_ref().map(|(_, step)| step)));
    let (active, completed) = sessions(run, facts);
    set("activeSessions", list(&active));
    set("completedSessions", list(&completed));
    let text = with_section(&text, "## Story Progress", &progress(run));
    let text = with_section(&text, "## Action Log", &log(facts));
    let mut lines = String::new();
    for session in &active {
        let _ = writeln!(lines, "- active: {session}");
    }
    for session in &completed {
        let _ = writeln!(lines, "- completed: {session}");
    }
    let text = with_section(&text, "## Session References", &lines);
    let mut open = String::new();
    for (id, question) in &run.questions {
        let why = one_line(&question.why);
        let _ = writeln!(open, "- {id}: {}: {why}", question.trigger.title());
    }
    with_section(&text, "## Pending Decisions", &open)
}

fn list(words: &[String]) -> String {
    serde_json::to_string(words).unwrap_or_else(|_| "[]".into())
}

/// Names of the running sessions, and of the ended ones.
fn sessions(run: &Run, facts: &[Dated]) -> (Vec<String>, Vec<String>) {
    let (mut active, mut completed) = (vec![], vec![]);
    for dated in facts {
        let Fact::Attempted { job, n, name: Some(name), .. } = &dated.fact else { continue };
        let is_at_work = matches!(&run.job(job).phase, Phase::Trying(attempt) if attempt.n == *n && attempt.ended.is_none());
        if is_at_work { &mut active } else { &mut completed }.push(name.clone());
    }
    (active, completed)
}

fn progress(run: &Run) -> String {
    let mut out =
        "| Story | create-story | dev-story | automate | code-review | git-commit | Status |\n\
                   | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for item in &run.plan.items {
        let state = run.items.get(&item.id).cloned().unwrap_or_default();
        let jobs = run.jobs_of(&Subject::Item(item.id.clone()));
        let _ = write!(out, "| {} |", item.id);
        for column in COLUMNS {
            let phase = jobs.iter().find(|job| job.step == column).map(|job| run.job(job).phase);
            let cell = match phase {
                Some(Phase::Over(Outcome::Verified { .. } | Outcome::Accepted)) => "done",
                Some(Phase::Over(Outcome::Skipped { .. })) => "skip",
                Some(Phase::Over(Outcome::Dropped { .. })) | None => "-",
                Some(Phase::Todo) => "⏳",
                Some(_) => "in-progress",
            };
            let _ = write!(out, " {cell} |");
        }
        let word = match (&state.dropped, state.deferred, state.finished, state.begun) {
            (_, true, ..) => "deferred",
            (Some(_), ..) => "skipped",
            (None, false, Some(_), _) => "done",
            (None, false, None, Some(_)) => "in-progress",
            (None, false, None, None) => "pending",
        };
        let _ = writeln!(out, " {word} |");
    }
    out
}

fn log(facts: &[Dated]) -> String {
    let mut out = String::new();
    let mut line = |at: Timestamp, words: String| {
        let at = at.strftime("%Y-%m-%dT%H:%M:%SZ");
        let _ = writeln!(out, "- **[{at}]** {}", one_line(&words));
    };
    for Dated { at, fact } in facts {
        let words = match fact {
            Fact::Begun { item, .. } => format!("Story {item} begun"),
            Fact::Skipped { job, why } => format!("{job} skipped: {why}"),
            Fact::Attempted { job, n, agent, .. } if job.step == "review" => {
                format!("{job}: review cycle {n} with {agent}")
            }
            Fact::Attempted { job, n, agent, .. } => format!("{job}: attempt {n} {agent}"),
            Fact::Verified { job, evidence, .. } => format!("{job} verified: {evidence}"),
            Fact::Failed { job, failure, why, .. } => format!("{job}: {}: {why}", failure.as_str()),
            Fact::Escalated { job, trigger, .. } => {
                format!("{job}: escalation {}: {}", trigger.number(), trigger.title())
            }
            Fact::Answered { id, action, by, .. } => {
                format!("{id}: {by} chose {}", action.as_str())
            }
            Fact::Deferred { job, why } => format!("{job} deferred: {why}"),
            Fact::SetAside { item, branch, files, left } => {
                match dogwatch_core::workflow::aside_words(branch.as_deref(), *files, left) {
                    Some(words) => format!("Story {item}: {words}"),
                    None => continue,
                }
            }
            Fact::GroupChecked { group, complete, .. } => {
                format!("Epic {group} is {}", if *complete { "complete" } else { "not complete" })
            }
            Fact::Paused { by, .. } => format!("Paused by {by}"),
            Fact::Resumed { by } => format!("Resumed by {by}"),
            Fact::Aborted { by, .. } => format!("Aborted by {by}"),
            Fact::Completed => "All is done".to_owned(),
            Fact::Spawned { .. } | Fact::Ended { .. } | Fact::Closed { .. } => continue,
        };
        line(*at, words);
    }
    out
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces the lines below a heading, up to the next one of its level. A missing heading is added at the end.
fn with_section(text: &str, heading: &str, body: &str) -> String {
    let mut out = String::with_capacity(text.len() + body.len());
    let mut inside = false;
    let mut found = false;
    for line in text.split_inclusive('\n') {
        if line.starts_with("## ") {
            inside = line.trim_end() == heading;
            if inside {
                found = true;
                let _ = write!(out, "{heading}\n\n{body}");
                if !body.is_empty() {
                    out.push('\n');
                }
                continue;
            }
        }
        if !inside {
            out.push_str(line);
        }
    }
    if !found {
        let _ = write!(out, "\n{heading}\n\n{body}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::fields::Fields;
    use crate::format::state_document::{issues, metrics};
    use crate::format::state_template::{self, Begun};
    use dogwatch_core::workflow::{Item, Job, Plan, bmad};
    use serde_json::json;

    #[test]
    fn the_tools_of_story_automator_can_read_it() {
        let config = json!({"epic": "1", "epicName": "Accounts", "storyRange": ["1.1", "1.2"],
            "agentConfig": {"defaultPrimary": "claude"}});
        let begun = Begun {
            now: "2026-01-02T03:04:05Z",
            policy_version: 1,
            snapshot_file: "p.json",
            snapshot_hash: "abcd",
        };
        let fresh = state_template::fill(TEMPLATE, config.as_object().unwrap(), &begun).unwrap();
        let item = |id: &str| Item { id: id.into(), ..Item::default() };
        let plan = Plan { items: vec![item("1.1"), item("1.2")], ..Plan::default() };
        let at = |second: i64| Timestamp::from_second(1_794_700_000 + second).unwrap();
        let job = Job::of_item("1.1", "create");
        let facts = [
            Dated {
                at: at(0),
                fact: Fact::Begun {
                    item: "1.1".into(),
                    base: None,
                    worktree: None,
                    before: std::collections::BTreeMap::new(),
                },
            },
            Dated { at: at(1), fact: Fact::Skipped { job, why: "it is\nthere".into() } },
            Dated {
                at: at(2),
                fact: Fact::Attempted {
                    job: Job::of_item("1.1", "dev"),
                    n: 1,
                    agent: "claude".into(),
                    model: None,
                    name: Some("sa-x".into()),
                    held: false,
                },
            },
        ];
        let run = Run::replay(bmad().unwrap(), plan, &facts);
        let mine = format!("{fresh}\nA note of mine.\n");
        let text = document(&mine, &run, &facts);
        assert_eq!(issues(&text), Vec::<String>::new(), "{text}");
        let read = Fields::read(&text);
        assert_eq!(
            (read.text("status"), read.text("currentStory"), read.text("currentStep")),
            ("IN_PROGRESS", "1.1", "dev")
        );
        assert_eq!(read.list("activeSessions"), ["sa-x"]);
        assert!(
            text.contains("| 1.1 | skip | in-progress | ⏳ | ⏳ | ⏳ | in-progress |"),
            "{text}"
        );
        assert!(
            text.contains("1.1/create skipped: it is there\n")
                && text.ends_with("A note of mine.\n")
        );
        assert_eq!(metrics(&text).total, 2);
        assert_eq!(document(&text, &run, &facts), text, "the same journal, the same document");
        assert_eq!(stories_left(&run), 2);
    }
}
