//! The cheapest listing of all panes: which exist, and which are dead.
//!
//! Each further field costs tmux about 2 µs a pane, so what is the same for all of them is requested once, and
//! nothing is requested that a plain list does not need. All values are numbers, separated by blanks.

use std::str::FromStr;

use crate::{BadRow, Command, PaneId, PaneRow, Reply, SessionNo, Version};

/// A server and its panes, including those of dogwatch's own anchors: they are looked up by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneList {
    /// Ids are only unique together with the server's pid and start time.
    pub server_pid: u32,
    pub server_start: u64,
    pub version: Option<Version>,
    pub panes: Vec<ListedPane>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedPane {
    pub pane_id: PaneId,
    pub session_no: SessionNo,
    /// The process that tmux started in it, also after its end.
    pub pid: i32,
    pub dead: bool,
    /// Number of clients attached to its session.
    pub attached: u32,
}

impl PaneList {
    /// The commands, for one chain.
    pub fn commands() -> [Command; 2] {
        [
            Self::server_command(),
            Command::new("list-panes").flag('a').option(
                'F',
                "#{pane_id} #{session_id} #{pane_pid} #{pane_dead} #{session_attached}",
            ),
        ]
    }

    /// Queries the server only, if the panes are queried otherwise.
    pub fn server_command() -> Command {
        Command::new("display-message").flag('p').arg("#{pid} #{start_time} #{version}")
    }

    /// Parses the replies to [`PaneList::commands`].
    pub fn parse(replies: &[Reply]) -> Result<Self, BadRow> {
        let lines = replies.get(1).into_iter().flat_map(Reply::lines);
        let panes =
            lines.map(|line| pane(&String::from_utf8_lossy(line))).collect::<Result<_, _>>();
        Self::of_server(replies.first(), panes?)
    }

    /// Parses the reply to [`PaneList::server_command`] and adds the panes.
    pub fn of_server(reply: Option<&Reply>, panes: Vec<ListedPane>) -> Result<Self, BadRow> {
        let server = reply.map(|reply| reply.first_line().into_owned()).unwrap_or_default();
        let mut words = server.split(' ');
        Ok(Self {
            server_pid: number("pid", words.next())?,
            server_start: number("start_time", words.next())?,
            version: words.next().and_then(Version::parse),
            panes,
        })
    }
}

impl From<&PaneRow> for ListedPane {
    fn from(row: &PaneRow) -> Self {
        Self {
            pane_id: row.pane_id,
            session_no: row.session_no,
            pid: i32::try_from(row.pane_pid).unwrap_or(0),
            dead: row.dead,
            attached: row.session_attached,
        }
    }
}

fn pane(line: &str) -> Result<ListedPane, BadRow> {
    let mut words = line.split(' ');
    Ok(ListedPane {
        pane_id: number("pane_id", words.next())?,
        session_no: number("session_id", words.next())?,
        pid: number("pane_pid", words.next())?,
        dead: words.next().is_some_and(|word| word == "1"),
        attached: number("session_attached", words.next())?,
    })
}

fn number<T: FromStr>(field: &'static str, word: Option<&str>) -> Result<T, BadRow> {
    let text = word.unwrap_or_default();
    text.parse().map_err(|_| BadRow { field, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(server: &str, panes: &str) -> Result<PaneList, BadRow> {
        PaneList::parse(&[Reply(server.into()), Reply(panes.into())])
    }

    #[test]
    fn a_server_and_its_panes() {
        let seen = list("99 1794741000 3.3a\n", "%3 $1 40 0 2\n%4 $2 41 1 0\n").unwrap();
        assert_eq!((seen.server_pid, seen.server_start), (99, 1_794_741_000));
        assert_eq!(seen.version, Version::parse("3.3a"));
        let dead: Vec<bool> = seen.panes.iter().map(|pane| pane.dead).collect();
        assert_eq!(dead, [false, true]);
        assert_eq!(seen.panes[0].attached, 2);
    }

    #[test]
    fn a_missing_value_is_named() {
        assert_eq!(list("\n", "").unwrap_err().field, "pid");
        assert_eq!(list("1 2 3.3a\n", "%3 x 4 0 0\n").unwrap_err().field, "session_id");
        assert_eq!(list("1 2 3.3a\n", "%3 $1 4 0\n").unwrap_err().field, "session_attached");
        assert!(list("1 2 \n", "").unwrap().panes.is_empty());
    }
}
