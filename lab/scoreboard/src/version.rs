//! Reads the notes beside screens of other versions.

use crate::corpus::Facts;

/// Agents whose screens have rules.
const AGENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// What a note says of its screen; `None` if it is about something else (a delivery, a job), or if the screen is of
/// another moment than the true state.
pub(crate) fn facts(name: &str, note: &str) -> Option<Facts> {
    let of_another_moment = ["resumed", "_exit", "0.40.1--fresh", "1.2.27--fresh"];
    if of_another_moment.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let after = |key: &str| note.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let truth = after("true state: ")?;
    let state = truth.split('+').next().unwrap_or(truth);
    let place = note.lines().find(|line| line.starts_with("title=") && line.contains(" size="))?;
    let (title, rest) = place.strip_prefix("title=")?.rsplit_once(" size=")?;
    let field = |key: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(key));
    let (width, height) = rest.split_whitespace().next()?.split_once('x')?;
    let (column, row) = field("cursor=")?.split_once(',')?;
    Some(Facts {
        file: format!("{name}.txt"),
        agent: AGENTS.into_iter().find(|agent| name.contains(agent))?.to_owned(),
        truth: match state.strip_prefix("waiting:") {
            Some(need) => format!("waiting_input({need})"),
            None => state.to_owned(),
        },
        description: after("situation: ").unwrap_or_default().to_owned(),
        width: width.parse().ok()?,
        height: height.parse().ok()?,
        pane_title: title.to_owned(),
        alternate_screen: field("alt=") == Some("1"),
        pane_dead: false,
        pane_dead_signal: None,
        cursor: (column.parse().ok()?, row.parse().ok()?),
    })
}
