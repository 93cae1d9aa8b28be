//! What the command line of Hermes Kanban says, read by its words: it ends with code 0 also where it fails.
//!
//! Seen with hermes-agent 0.19.0: what succeeded is told in a line of its own, what failed in another, on whichever stream.

use jiff::Timestamp;
use serde::Deserialize;

/// What is done to a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Claim,
    Comment,
    Heartbeat,
    Block,
}

impl Verb {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Comment => "comment",
            Self::Heartbeat => "heartbeat",
            Self::Block => "block",
        }
    }

    /// How the line begins that says it was done.
    fn success(self, task: &str) -> String {
        match self {
            Self::Claim => format!("Claimed {task}"),
            Self::Comment => format!("Comment added to {task}"),
            Self::Heartbeat => format!("Heartbeat recorded for {task}"),
            Self::Block => format!("Blocked {task}"),
        }
    }
}

/// Whether it was done; else what was said instead.
pub fn done(verb: Verb, task: &str, said: &str) -> Result<(), String> {
    let success = verb.success(task);
    let is_it = |line: &str| match line.trim_end().strip_prefix(&success) {
        Some(rest) => rest.is_empty() || rest.starts_with(':'),
        None => false,
    };
    if said.lines().any(is_it) { Ok(()) } else { Err(complaint(said)) }
}

/// The last line that says anything.
pub fn complaint(said: &str) -> String {
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.unwrap_or("no output").to_owned()
}

/// A card as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// `ready`, `running`, `blocked`, `done` …
    pub status: String,
    /// Oldest first.
    pub comments: Vec<Comment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub author: String,
    pub body: String,
    pub at: Timestamp,
}

#[derive(Deserialize)]
struct Shown {
    task: Task,
    #[serde(default)]
    comments: Vec<Said>,
}

#[derive(Deserialize)]
struct Task {
    status: String,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    author: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    created_at: i64,
}

/// Reads what `show --json` printed; `None` if there is no such card.
pub fn card(said: &str) -> Result<Option<Card>, String> {
    let start = said.find('{').filter(|start| said[..*start].trim().is_empty());
    let Some(start) = start else {
        let complaint = complaint(said);
        let is_unknown = complaint.contains("no such task") || complaint.contains("unknown task");
        return if is_unknown { Ok(None) } else { Err(complaint) };
    };
    let mut objects = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Shown>();
    let shown = match objects.next() {
        Some(Ok(shown)) => shown,
        Some(Err(error)) => return Err(format!("cannot read the card: {error}")),
        None => return Err(complaint(said)),
    };
    let comment = |said: Said| Comment {
        author: said.author.unwrap_or_default(),
        body: said.body.unwrap_or_default(),
        at: Timestamp::from_second(said.created_at).unwrap_or_default(),
    };
    let comments = shown.comments.into_iter().map(comment).collect();
    Ok(Some(Card { status: shown.task.status, comments }))
}

/// Who wants us to stop, if anybody: the first of these comments that says so and is not by ourselves.
pub fn stop_by<'c>(comments: &'c [Comment], us: &str) -> Option<&'c Comment> {
    comments.iter().find(|comment| comment.author != us && is_stop(&comment.body))
}

fn is_stop(body: &str) -> bool {
    let words: Vec<String> = body
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    matches!(
        words.iter().map(String::as_str).collect::<Vec<_>>()[..],
        ["stop"] | ["stop", "monitoring"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_said() {
        let ok = |verb, said: &str| done(verb, "t_1", said);
        assert_eq!(ok(Verb::Claim, "Claimed t_1\nWorkspace: /w\n"), Ok(()));
        assert_eq!(ok(Verb::Comment, "warning: x\nComment added to t_1\n"), Ok(()));
        assert_eq!(ok(Verb::Heartbeat, "Heartbeat recorded for t_1"), Ok(()));
        assert_eq!(ok(Verb::Block, "Blocked t_1: stop-requested by ann"), Ok(()));
        let failures = [
            (Verb::Claim, "cannot claim t_1: status=running lock=vm:229"),
            (Verb::Claim, "Claimed t_12"),
            (Verb::Comment, "kanban: unknown task t_1"),
            (Verb::Heartbeat, "cannot heartbeat t_1 (not running?)"),
            (Verb::Block, "cannot block t_1"),
        ];
        for (verb, said) in failures {
            assert_eq!(ok(verb, said), Err(said.to_owned()));
        }
        assert_eq!(ok(Verb::Claim, " \n"), Err("no output".to_owned()));
    }

    #[test]
    fn cards() {
        let said = r#"{"task":{"id":"t_1","status":"running","new":1},"comments":[{"author":"ann","body":"hi","created_at":7},{"author":null}],"events":[]}
trailing"#;
        let card = card(said).unwrap().unwrap();
        assert_eq!((card.status.as_str(), card.comments.len()), ("running", 2));
        assert_eq!(card.comments[0].at.as_second(), 7);
        assert_eq!(super::card("no such task: t_1\n"), Ok(None));
        let gone = "kanban: board 'x' does not exist.";
        assert_eq!(super::card(gone), Err(gone.to_owned()));
        assert!(super::card("{\"task\":7}").is_err());
        assert!(super::card("").is_err());
    }

    #[test]
    fn who_says_stop() {
        let says = |author: &str, body: &str| Comment {
            author: author.into(),
            body: body.into(),
            at: Timestamp::UNIX_EPOCH,
        };
        let stops = |body| stop_by(&[says("ann", body)], "dogwatch").is_some();
        for body in ["stop", " Stop. ", "STOP MONITORING!", "stop\nmonitoring", "`stop`"] {
            assert!(stops(body), "{body:?}");
        }
        for body in ["", "don't stop", "stop it at 5", "stopped", "please stop monitoring s1"] {
            assert!(!stops(body), "{body:?}");
        }
        assert_eq!(stop_by(&[says("dogwatch", "stop")], "dogwatch"), None);
    }
}
