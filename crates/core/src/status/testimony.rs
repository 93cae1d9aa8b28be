//! A screen that was read, as evidence.

use super::evidence::{Screen, Shows};
use crate::screen::{self, Details, Reading, Region, State};

/// Reads a screen. Where its title decides, what it shows without it is read as well: the two are not worth the same.
pub fn of(look: &screen::Screen, read: impl Fn(&screen::Screen) -> Reading) -> Screen {
    let reading = read(look);
    if decided_in(&reading) != Some(Region::Title) {
        return screen(reading);
    }
    let title = Some(shows(&reading, &because(&reading)));
    Screen { title, ..screen(read(&screen::Screen { title: None, ..*look })) }
}

fn screen(reading: Reading) -> Screen {
    let because = because(&reading);
    let shows = shows(&reading, &because);
    let region = decided_in(&reading);
    // That a turn has no end yet is seen by what is missing below the last message.
    let is_inferred = matches!(region, Some(Region::Asked | Region::Turn | Region::Transcript));
    let Details { draft, background, options, todos, hands, .. } = reading.details;
    Screen {
        is_live: matches!(shows, Shows::Working(_)) && !is_inferred,
        shows,
        title: None,
        because,
        draft,
        background: background.unwrap_or(0),
        options,
        todos,
        hands,
    }
}

fn decided_in(reading: &Reading) -> Option<Region> {
    let first = reading.reasons.first().filter(|_| reading.state != State::Unknown)?;
    Some(first.region)
}

/// A dialog is identified by its question; the line that matched may be any of its options.
fn because(reading: &Reading) -> String {
    let line = || reading.reasons.first().map_or_else(String::new, |reason| reason.text.clone());
    reading.details.question.clone().unwrap_or_else(line)
}

fn shows(reading: &Reading, because: &str) -> Shows {
    match reading.state.clone() {
        State::Starting => Shows::Starting,
        State::Working => Shows::Working(reading.details.label.clone()),
        State::Waiting { need } => Shows::Dialog(need, reading.details.question.clone()),
        State::Limited { until } => Shows::Limit(because.to_owned(), until),
        State::Idle { done } => Shows::Prompt { after_turn: done },
        State::Error { kind, text } => Shows::Failure(kind, text),
        State::Exited | State::Crashed => Shows::Shell,
        State::Unknown => Shows::Unreadable,
    }
}
