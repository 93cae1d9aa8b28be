//! Reads the state document of a run: its status, its progress, and whether it is valid.

use jiff::civil::DateTime;

use super::fields::Fields;
use super::front_matter::{split, tree};

/// The possible statuses of a run.
pub const STATUSES: [&str; 7] =
    ["INITIALIZING", "READY", "IN_PROGRESS", "PAUSED", "EXECUTION_COMPLETE", "COMPLETE", "ABORTED"];

/// The problems of a document, in words. Its policy is checked elsewhere.
pub fn issues(text: &str) -> Vec<String> {
    let fields = Fields::read(text);
    let mut issues: Vec<String> = Vec::new();
    for key in ["epic", "epicName", "storyRange", "status", "lastUpdated"] {
        if fields.is_empty(key) {
            issues.push(format!("Missing or empty {key}"));
            continue;
        }
        let value = fields.text(key);
        if key == "status" && !STATUSES.contains(&value) {
            issues.push("Invalid status".to_owned());
        }
        if key == "lastUpdated" && !is_time(value) {
            issues.push("Invalid lastUpdated".to_owned());
        }
    }
    if fields.is_empty("aiCommand") && !names_agents(text) {
        issues.push("Missing or empty aiCommand".to_owned());
    }
    issues
}

/// Whether there is a non-empty block of agents.
fn names_agents(text: &str) -> bool {
    let block = tree(split(text).0.unwrap_or_default(), "agentConfig");
    block.is_some_and(|block| {
        block.map_or(true, |agents| agents.as_object().is_none_or(|agents| !agents.is_empty()))
    })
}

/// A timestamp with a zone, as agents and people write it.
fn is_time(text: &str) -> bool {
    let is_moment = text.parse::<jiff::Timestamp>().is_ok() || text.parse::<DateTime>().is_ok();
    is_moment && text.get(10..11) == Some("T")
}

/// The numbers of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metrics {
    pub completed: usize,
    pub total: usize,
    pub review_cycles: usize,
    pub escalations: usize,
}

pub fn metrics(text: &str) -> Metrics {
    let text = without_comments(text);
    let mut metrics = Metrics::default();
    for status in progress(&text) {
        metrics.total += 1;
        let status = status.to_lowercase();
        if status.contains("done") || status.contains("complete") && !status.contains("incomplete")
        {
            metrics.completed += 1;
        }
    }
    let words = text.to_lowercase();
    metrics.review_cycles = words.matches("review cycle").count();
    metrics.escalations = words.matches("escalation").count() + words.matches("escalated").count();
    metrics
}

/// The last cell of each story's row in the table whose header goes from `Story` to `Status`.
fn progress(text: &str) -> Vec<&str> {
    let mut statuses = Vec::new();
    // The number of columns of the current table.
    let mut columns = 0;
    for line in split(text).1.lines() {
        let Some(cells) = cells(line) else {
            columns = 0;
            continue;
        };
        let (first, last) = (cells[0], cells[cells.len() - 1]);
        if first.eq_ignore_ascii_case("story") && last.eq_ignore_ascii_case("status") {
            columns = if cells.len() > 2 { cells.len() } else { 0 };
        } else if columns > 0
            // An incomplete row has no status.
            && cells.len() + 1 >= columns
            && !first.is_empty()
            && !first.chars().all(|c| "-: ".contains(c))
        {
            statuses.push(last);
        }
    }
    statuses
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?;
    Some(row.strip_suffix('|').unwrap_or(row).split('|').map(str::trim).collect())
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        kept.push_str(&rest[..start]);
        let Some(end) = rest[start..].find("-->") else { return kept };
        rest = &rest[start + end + 3..];
    }
    kept + rest
}

/// The last action: the last line of the action log, or a later dated one elsewhere. Agents append to the end of
/// the file, which may be below another heading.
pub fn last_action(text: &str) -> String {
    let text = without_comments(text);
    let mut in_log = false;
    let mut last = None;
    for line in split(&text).1.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            in_log = heading.trim().eq_ignore_ascii_case("action log");
            continue;
        }
        let is_entry = in_log && !line.trim().is_empty() && line.trim() != "---";
        if is_entry || last.is_some() && is_dated(line) {
            last = Some(line);
        } else if is_dated(line) {
            last.get_or_insert(line);
        }
    }
    let entry = last.unwrap_or_default().trim();
    let entry = entry.strip_prefix("- ").or_else(|| entry.strip_prefix("* ")).unwrap_or(entry);
    entry.trim().to_owned()
}

/// `- **[2026-01-02T01:00:00Z]** …`
fn is_dated(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['-', '*', ' ']);
    line.strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .is_some_and(|(date, _)| is_time(date))
}

/// Stories of the range before the current one; all of them if there is no current one.
pub fn stories_behind(fields: &Fields) -> Vec<String> {
    let range = fields.list("storyRange");
    let current = fields.text_or_nothing("currentStory");
    let behind = range.iter().take_while(|story| current.is_empty() || *story != current);
    behind.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "---\nepic: 1\nepicName: A\nstoryRange: [\"1.1\", \"1.2\", \"1.3\"]\nstatus: READY\ncurrentStory: 1.2\nlastUpdated: 2026-01-02T03:04:05Z\naiCommand: c\n---\n";

    #[test]
    fn problems_of_a_document_are_found() {
        assert_eq!(issues(HEAD), Vec::<String>::new());
        assert_eq!(issues("---\n---\n").len(), 6);
        let bad = HEAD.replace("READY", "zap").replace("2026-01-02T03:04:05Z", "2026-01-02");
        assert_eq!(issues(&bad), ["Invalid status", "Invalid lastUpdated"]);
        assert!(
            issues(&HEAD.replace("aiCommand: c", "agentConfig:\n  defaultPrimary: x")).is_empty()
        );
        assert!(issues(&HEAD.replace("05Z", "05+00:00")).is_empty());
    }

    #[test]
    fn numbers_of_a_run_are_read() {
        let table = "| Story | create-story | dev-story | automate | code-review | git-commit | Status |\n|---|---|---|---|---|---|---|\n| 1.1 | x | x | x | x | x | done |\n| 1.2 | - | - | - | - | - | in-progress |\n| 1.3 | - | - | - | - | - | incomplete |\n\n| Session ID | Story | Status |\n|---|---|---|\n| sa-x-1 | 1.1 | done |\n";
        let text = format!(
            "{HEAD}{table}- Code review cycle 2\n* Escalated to user\n<!-- escalation -->\n"
        );
        let seen = Metrics { completed: 1, total: 3, review_cycles: 1, escalations: 1 };
        assert_eq!(metrics(&text), seen);
    }

    #[test]
    fn the_last_action_is_found() {
        let log = "## Action Log\n\n- **[2026-01-02T01:00:00Z]** one\n* two\n\n---\n\n## Learnings\n\n- free\n";
        assert_eq!(last_action(log), "two");
        let later = format!("{log}- **[2026-01-03T01:00:00Z]** three\n");
        assert_eq!(last_action(&later), "**[2026-01-03T01:00:00Z]** three");
        assert_eq!(last_action("## Action Log\n\n<!-- entries -->\n"), "");
        assert_eq!(last_action("no log\n"), "");
    }

    #[test]
    fn stories_before_the_current_one() {
        assert_eq!(stories_behind(&Fields::read(HEAD)), ["1.1"]);
        let none = HEAD.replace("currentStory: 1.2", "currentStory: null");
        assert_eq!(stories_behind(&Fields::read(&none)).len(), 3);
    }
}
