use dogwatch_core::profile;
use dogwatch_core::screen;
use dogwatch_core::status::evidence::{Screen, Shows};
use dogwatch_core::status::testimony;
use dogwatch_tmux::PaneFace;

/// Makes ready to read an agent's screens.
pub fn prepare(agent: &str) {
    screen::markers(agent);
}

/// What the screen reader makes of a pane; `None` for a plain command that asks nothing.
pub fn read(agent: &str, pane: &PaneFace, text: &[u8]) -> Option<Screen> {
    let look = screen::Screen {
        bytes: text,
        width: pane.row.width,
        height: pane.row.height,
        title: Some(&pane.title),
        cursor: None,
        alternate: Some(pane.row.alternate_on),
    };
    let seen = testimony::of(&look, |look| screen::read(agent, look));
    let is_told = agent != profile::COMMAND || seen.shows != Shows::Unreadable;
    is_told.then_some(seen)
}
