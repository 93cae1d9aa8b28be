use dogwatch_core::screen;
use dogwatch_core::status::evidence::Screen;
use dogwatch_core::status::testimony;
use dogwatch_tmux::PaneFace;

/// Makes ready to read an agent's screens.
pub fn prepare(agent: &str) {
    screen::markers(agent);
}

/// What the screen reader makes of a pane; `None` if it has no markers for the agent.
pub fn read(agent: &str, pane: &PaneFace, text: &[u8]) -> Option<Screen> {
    screen::markers(agent)?;
    let look = screen::Screen {
        bytes: text,
        width: pane.row.width,
        height: pane.row.height,
        title: Some(&pane.title),
        cursor: None,
        alternate: Some(pane.row.alternate_on),
    };
    Some(testimony::of(&look, |look| screen::read(agent, look)))
}
