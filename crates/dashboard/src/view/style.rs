//! Colours of the terminal's own sixteen, beside signs: never colour alone.

use dogwatch_core::attention::Place;
use ratatui::style::{Color, Modifier, Style};

pub(super) fn of(place: Place) -> Style {
    match place {
        Place::Answer => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
        Place::Trouble => Style::new().fg(Color::Red),
        Place::Limit => Style::new().fg(Color::Magenta),
        Place::Unseen => bold(),
        Place::Working => Style::new().fg(Color::Green),
        Place::Idle | Place::Rest => dim(),
    }
}

pub(super) fn plain() -> Style {
    Style::new()
}

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(super) fn error() -> Style {
    Style::new().fg(Color::Red)
}
