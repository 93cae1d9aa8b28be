use dogwatch_core::status::evidence::Screen;
use dogwatch_tmux::PaneDetail;

/// What the screen reader makes of a pane; `None` if it does not know the agent.
pub fn read(_agent: &str, _pane: &PaneDetail, _text: &[u8]) -> Option<Screen> {
    None
}
