use dogwatch_core::screen::{self, Reading, State};
use dogwatch_core::status::evidence::{Screen, Shows};
use dogwatch_tmux::PaneFace;

/// Makes ready to read an agent's screens.
pub fn prepare(agent: &str) {
    screen::markers(agent);
}

/// What the screen reader makes of a pane; `None` if it has no markers for the agent.
pub fn read(agent: &str, pane: &PaneFace, text: &[u8]) -> Option<Screen> {
    screen::markers(agent)?;
    let reading = screen::read(
        agent,
        &screen::Screen {
            bytes: text,
            width: pane.row.width,
            height: pane.row.height,
            title: Some(&pane.title),
            cursor: None,
            alternate: Some(pane.row.alternate_on),
        },
    );
    Some(testimony(reading))
}

/// The reading as evidence for the judge.
fn testimony(reading: Reading) -> Screen {
    let details = reading.details;
    // A dialog is told by its question; the line that gave it away may be any of its options.
    let line = || reading.reasons.first().map_or_else(String::new, |reason| reason.text.clone());
    let because = details.question.clone().unwrap_or_else(line);
    let shows = match reading.state {
        State::Starting => Shows::Starting,
        State::Working => Shows::Working(details.label),
        State::Waiting { need } => Shows::Dialog(need, details.question),
        State::Limited { until } => Shows::Limit(because.clone(), until),
        State::Idle { done } => Shows::Prompt { after_turn: done },
        State::Error { kind, text } => Shows::Failure(kind, text),
        State::Exited | State::Crashed => Shows::Shell,
        State::Unknown => Shows::Unreadable,
    };
    Screen {
        shows,
        because,
        draft: details.draft,
        background: details.background.unwrap_or(0),
        options: details.options,
        todos: details.todos,
        hands: details.hands,
    }
}
