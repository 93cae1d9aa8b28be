//! One window: its size and the positions of its panes. All values except the last are numbers.

use std::str::FromStr;

use crate::{BadRow, Command, PaneId, Reply, Server, WindowId};

/// A window and its panes, in the order in which tmux keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowView {
    pub id: WindowId,
    pub width: u32,
    pub height: u32,
    /// Ids are only unique together with the server's pid and start time.
    pub server_pid: u32,
    pub server_start: u64,
    pub panes: Vec<PaneBox>,
    /// The configured sizes of a main pane: cells, or a share such as `50%`.
    pub main_width: String,
    pub main_height: String,
}

/// The position of a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneBox {
    pub id: PaneId,
    pub left: u32,
    pub top: u32,
    pub width: u32,
    pub height: u32,
    pub dead: bool,
}

const FORMAT: &str = "#{pane_id} #{pane_left} #{pane_top} #{pane_width} #{pane_height} #{pane_dead} \
     #{window_id} #{window_width} #{window_height} #{pid} #{start_time} #{main-pane-width} #{main-pane-height}";

impl WindowView {
    /// Queries the window that contains a pane; fails if the pane is gone.
    pub fn command(pane: PaneId) -> Command {
        Command::new("list-panes").target(pane).option('F', FORMAT)
    }

    /// Parses the reply to [`WindowView::command`].
    pub fn parse(reply: &Reply) -> Result<Self, BadRow> {
        let mut view = None;
        let mut panes = Vec::new();
        for line in reply.lines() {
            let line = String::from_utf8_lossy(line);
            let mut words = line.split(' ');
            panes.push(PaneBox {
                id: number("pane_id", words.next())?,
                left: number("pane_left", words.next())?,
                top: number("pane_top", words.next())?,
                width: number("pane_width", words.next())?,
                height: number("pane_height", words.next())?,
                dead: words.next() == Some("1"),
            });
            view = Some(Self {
                id: number("window_id", words.next())?,
                width: number("window_width", words.next())?,
                height: number("window_height", words.next())?,
                server_pid: number("pid", words.next())?,
                server_start: number("start_time", words.next())?,
                panes: Vec::new(),
                main_width: words.next().unwrap_or_default().to_owned(),
                main_height: words.next().unwrap_or_default().to_owned(),
            });
        }
        let view = view.ok_or(BadRow { field: "pane_id", text: String::new() })?;
        Ok(Self { panes, ..view })
    }

    pub fn pane(&self, id: PaneId) -> Option<&PaneBox> {
        self.panes.iter().find(|pane| pane.id == id)
    }
}

impl Server {
    /// The window that contains a pane.
    pub fn window_of(&self, pane: PaneId) -> Result<WindowView, crate::Error> {
        Ok(WindowView::parse(&self.run_one(WindowView::command(pane))?)?)
    }
}

fn number<T: FromStr>(field: &'static str, word: Option<&str>) -> Result<T, BadRow> {
    let text = word.unwrap_or_default();
    text.parse().map_err(|_| BadRow { field, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_and_its_panes() {
        let text = "%0 0 0 80 50 0 @2 200 50 99 1794741000 80 24\n%3 81 0 119 50 1 @2 200 50 99 1794741000 80 24\n";
        let view = WindowView::parse(&Reply(text.into())).unwrap();
        assert_eq!((view.id, view.width, view.height), (WindowId(2), 200, 50));
        assert_eq!((view.server_pid, view.server_start), (99, 1_794_741_000));
        assert_eq!((view.main_width.as_str(), view.main_height.as_str()), ("80", "24"));
        let dead: Vec<bool> = view.panes.iter().map(|pane| pane.dead).collect();
        assert_eq!(dead, [false, true]);
        assert_eq!(view.pane(PaneId(3)).unwrap().left, 81);
        assert_eq!(WindowView::parse(&Reply(Vec::new())).unwrap_err().field, "pane_id");
        assert_eq!(WindowView::parse(&Reply("%0 x\n".into())).unwrap_err().field, "pane_left");
    }
}
