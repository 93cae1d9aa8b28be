//! Which ended sessions were gone on with in another one, and need no row of their own.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::profile::COMMAND;

/// What is known of one session.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub agent: &'a str,
    pub conversation: Option<&'a str>,
    pub created: Timestamp,
    pub is_over: bool,
}

/// Ids of those that are over and were followed by a session in the same conversation, or of the same name and agent.
pub fn superseded<'a>(rows: &[Row<'a>]) -> HashSet<&'a str> {
    let follows = |old: &Row<'_>, new: &Row<'_>| {
        let goes_on = old.conversation.is_some() && old.conversation == new.conversation;
        let same_name = old.name == new.name && old.agent == new.agent && old.agent != COMMAND;
        (new.created, new.id) > (old.created, old.id) && (goes_on || same_name)
    };
    let is_it = |old: &&Row<'a>| old.is_over && rows.iter().any(|new| follows(old, new));
    rows.iter().filter(is_it).map(|row| row.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_conversation_or_a_name() {
        let row = |id, name, agent, conversation, second, is_over| Row {
            id,
            name,
            agent,
            conversation,
            created: Timestamp::from_second(second).unwrap(),
            is_over,
        };
        let rows = [
            row("1", "api", "claude", Some("c"), 1, true),
            row("2", "api-2", "claude", Some("c"), 2, true),
            row("3", "api-3", "claude", Some("c"), 3, false),
            row("4", "web", "codex", None, 1, true),
            row("5", "web", "codex", None, 2, true),
            row("6", "make", "command", None, 1, true),
            row("7", "make", "command", None, 2, true),
            row("8", "docs", "claude", Some("d"), 1, false),
            row("9", "docs", "claude", Some("d"), 2, false),
        ];
        let mut found: Vec<&str> = superseded(&rows).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, ["1", "2", "4"]);
    }
}
