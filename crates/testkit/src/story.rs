//! A workflow that can be killed at any moment and resumed, and the invariants of a finished run.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Two items, a review that must be repeated, commits, and a last step for the group. Retries practically never run out.
const FLOW: &str = r#"
name = "hard"
items = ["a", "b"]
[[step]]
id = "write"
attempts = 1000
run = ["sh", "-c", "echo {item}/write >> $NOTES/log; sleep $PAUSE; echo text of {item} > {item}.new; mv {item}.new {item}.txt"]
verify = [{ kind = "command", run = "grep -q text {item}.txt" }]
retry = { crash = { times = 1000 }, lost = { times = 1000 }, unverified = { times = 1000 } }
[[step]]
id = "review"
cycles = 1000
run = ["sh", "-c", "echo {item}/review >> $NOTES/log; sleep $PAUSE; if [ -e $NOTES/seen-{item} ]; then echo ok > {item}.new; mv {item}.new {item}.ok; else touch $NOTES/seen-{item}; fi"]
verify = [{ kind = "files", glob = "{item}.ok" }]
retry = { crash = { times = 1000 }, lost = { times = 1000 } }
[[step]]
id = "commit"
commit = "work: {item}"
[[step]]
id = "wrap"
per = "group"
attempts = 1000
run = ["sh", "-c", "echo wrap >> $NOTES/log; cat a.txt b.txt > all.new; mv all.new all.md"]
verify = [{ kind = "files", glob = "all.md" }]
retry = { crash = { times = 1000 }, lost = { times = 1000 }, unverified = { times = 1000 } }
[[step]]
id = "wrap-commit"
per = "group"
commit = "docs: all"
"#;

/// The commits of a finished run, oldest first; the first one is the project itself.
pub const COMMITS: [&str; 4] = ["first", "work: a", "work: b", "docs: all"];
/// What the scripts write to the file `log` if nothing but dogwatch was killed.
pub const LOG: [&str; 7] =
    ["a/write", "a/review", "a/review", "b/write", "b/review", "b/review", "wrap"];

/// The workflow. Each script takes `pause` seconds, which leaves time to kill it.
pub fn flow(pause: &str) -> String {
    FLOW.replace("$PAUSE", pause)
}

/// Fills in the directory for the scripts' notes, outside the repository.
pub fn with_notes(flow: &str, notes: &Path) -> String {
    flow.replace("$NOTES", &notes.display().to_string())
}

/// Arguments for git that turn a directory into a repository with one commit.
pub const FIRST_COMMIT: [&[&str]; 5] = [
    &["init", "-q", "-b", "main"],
    &["config", "user.name", "T"],
    &["config", "user.email", "t@example.invalid"],
    &["add", "-A"],
    &["commit", "-q", "-m", "first"],
];

/// Facts of a run's journal that repeat a step which was already verified. There must be none.
pub fn done_twice(facts: impl IntoIterator<Item = Value>) -> Vec<String> {
    let mut verified = BTreeSet::new();
    let mut twice = Vec::new();
    for fact in facts {
        let job = fact["job"].as_str().unwrap_or_default().to_owned();
        let again = match fact["fact"].as_str().unwrap_or_default() {
            "verified" => !verified.insert(job),
            "attempted" | "spawned" => verified.contains(&job),
            _ => false,
        };
        if again {
            twice.push(format!("twice: {fact}"));
        }
    }
    twice
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_that_is_done_twice_is_found() {
        let fact = |fact: &str, job: &str| json!({ "fact": fact, "job": job });
        let once = [fact("attempted", "a"), fact("attempted", "a"), fact("verified", "a")];
        assert!(done_twice(once.iter().cloned()).is_empty());
        let twice = once.into_iter().chain([fact("attempted", "a"), fact("verified", "a")]);
        assert_eq!(done_twice(twice).len(), 2);
    }
}
