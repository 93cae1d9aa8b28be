//! The text of panes, one or many in one call.

use crate::oneshot::Broken;
use crate::{
    Command, Error, PaneDetail, PaneId, PaneRow, Reply, RowQuery, Running, Server, Target, fitting,
};

/// What to capture of a pane. The default is the visible screen as plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CaptureOptions {
    /// Lines of history above the screen.
    pub lines: Option<u32>,
    /// Keep colours and attributes as escape sequences.
    pub ansi: bool,
    /// Join wrapped lines and keep trailing blanks.
    pub joined: bool,
}

impl CaptureOptions {
    /// The command for one pane, for a chain or control mode. For a session it captures the active pane.
    ///
    /// All options are in one word: tmux 3.7 accepts 1,000 words from a process, and captures make up most of a long chain.
    pub fn command(self, pane: impl Into<Target>) -> Command {
        let command = Command::new("capture-pane");
        let command = match self.lines {
            Some(lines) => command.option('S', format!("-{lines}")),
            None => command,
        };
        let ansi = if self.ansi { "e" } else { "" };
        let joined = if self.joined { "J" } else { "" };
        command.packed(format!("-p{ansi}{joined}t{}", pane.into()))
    }
}

impl Server {
    /// All panes except those of dogwatch's own sessions.
    pub fn panes(&self) -> Result<Vec<PaneRow>, Error> {
        let query = RowQuery::new();
        Ok(query.parse(&self.run_one(query.command())?)?)
    }

    /// All panes with titles, commands and paths; more expensive than [`Server::panes`].
    pub fn panes_detailed(&self) -> Result<Vec<PaneDetail>, Error> {
        let query = RowQuery::new();
        Ok(query.parse_detailed(&self.run_one(query.detailed_command())?)?)
    }

    /// The text of one pane.
    pub fn capture(&self, pane: PaneId, options: CaptureOptions) -> Result<Reply, Error> {
        self.run_one(options.command(pane))
    }

    /// The texts of many panes in the given order. A pane that is gone gets its own error; an
    /// error that concerns all of them fails the call.
    pub fn capture_many(
        &self,
        panes: &[PaneId],
        options: CaptureOptions,
    ) -> Result<Vec<Result<Reply, Error>>, Error> {
        let mut captured = Vec::with_capacity(panes.len());
        while captured.len() < panes.len() {
            let left = &panes[captured.len()..];
            let commands: Vec<_> = left.iter().map(|&pane| options.command(pane)).collect();
            match Running::start(self, &commands[..fitting(&commands)])?.settle() {
                Ok(replies) => captured.extend(replies.into_iter().map(Ok)),
                // The chain ended at the missing pane: the next one starts after it.
                Err(Broken { done, at: Some(_), error: error @ Error::NotFound { .. } }) => {
                    captured.extend(done.into_iter().map(Ok));
                    captured.push(Err(error));
                }
                Err(broken) => return Err(broken.error),
            }
        }
        Ok(captured)
    }
}
