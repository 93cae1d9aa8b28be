//! Into which turn an agent took a message.

use jiff::Timestamp;

use crate::job::{TurnEnd, turn_of};
use crate::status::evidence::EdgeKind;
use crate::status::rollout;
use crate::transcript::Dialect;

/// codex asks its queue for the last time some milliseconds before a turn ends. What comes before that is answered in the running
/// turn. For what comes after it codex calls the hook of a prompt, writes the text down, and asks no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Taken {
    /// It has a turn of its own, as far as can be known.
    #[default]
    Alone,
    /// Into a turn that had begun before, and the agent has gone on with it.
    Shared,
    /// Into such a turn; nothing has happened in it since.
    Open,
    /// That turn has ended then, and the agent has done nothing since.
    Unheard(Timestamp),
}

/// By the end of a transcript; `since` is when the message was put into the input box.
pub fn taken(
    dialect: Dialect,
    text: &str,
    since: Timestamp,
    is_ours: impl Fn(&str) -> bool,
) -> Taken {
    let told = rollout::fold(dialect, text);
    if !told.tells_ends {
        return Taken::Alone;
    }
    let Some(turn) = turn_of(dialect, text, since, is_ours) else {
        // Its hook comes before its line: inside a turn that began before it was sent?
        let is_old = told.began.is_some_and(|began| began < since);
        let is_open =
            told.edge.is_some_and(|edge| edge.what == EdgeKind::Began || edge.at >= since);
        return if is_old && is_open { Taken::Open } else { Taken::Alone };
    };
    match turn.end {
        _ if !turn.is_shared => Taken::Alone,
        Some((at, TurnEnd::Silent)) => Taken::Unheard(at),
        None if !turn.has_acted => Taken::Open,
        _ => Taken::Shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_turn_that_its_line_is_in() {
        let event = |kind: &str| format!(r#""type":"event_msg","payload":{{"type":"{kind}"}}"#);
        let message = |role: &str, text: &str| {
            format!(
                r#""type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#
            )
        };
        let (began, done) = (event("task_started"), event("task_complete"));
        let (ours, said) = (message("user", "ours"), message("assistant", "One."));
        let start: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        // It was sent two seconds after the first line.
        let since = start + jiff::SignedDuration::from_secs(2);
        let of = |lines: &[&String]| {
            let text: Vec<String> = (0..)
                .zip(lines)
                .map(|(n, line)| format!(r#"{{"timestamp":"2026-11-15T08:00:{n:02}Z",{line}}}"#))
                .collect();
            taken(Dialect::Codex, &text.join("\n"), since, |text| text == "ours")
        };
        let unheard = Taken::Unheard(start + jiff::SignedDuration::from_secs(4));
        let table = [
            (vec![&began, &done, &began, &ours], Taken::Alone),
            (vec![&began, &done, &began], Taken::Alone),
            (vec![&began, &done], Taken::Alone),
            (vec![&began, &said], Taken::Open),
            (vec![&began, &said, &said, &done], Taken::Open),
            (vec![&began, &said, &said, &ours], Taken::Open),
            (vec![&began, &said, &said, &ours, &said], Taken::Shared),
            (vec![&began, &said, &said, &ours, &said, &done], Taken::Shared),
            (vec![&began, &said, &said, &ours, &done], unheard),
            (vec![&began, &said, &said, &ours, &done, &began, &said, &done], Taken::Shared),
            (vec![&said, &said, &said, &ours], Taken::Alone),
        ];
        for (lines, expected) in table {
            assert_eq!(of(&lines), expected, "{lines:#?}");
        }
    }
}
