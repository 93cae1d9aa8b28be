//! All panes of a server from one `list-panes -a`: the format and its parser.
//!
//! Numbers come first, separated by blanks. Free text (names, titles, paths) may
//! contain any symbol and even newlines, so it is delimited by a nonce; no symbol would be safe, and
//! control bytes do not reach a client that is not known to use UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::nonce::nonce;
use crate::signal::signal_number;
use crate::{ANCHOR_PREFIX, Command, PaneId, Reply, SessionNo, Version, WindowId};

/// The values that are cheap to query often: tmux knows all of them without reading /proc. A pane whose window is
/// linked to several sessions has a row in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneRow {
    pub session_no: SessionNo,
    pub session_name: String,
    pub window_id: WindowId,
    pub pane_id: PaneId,
    /// The process that tmux started in the pane, also after its end.
    pub pane_pid: u32,
    pub dead: bool,
    /// Absent in a live pane, after a signal, and while tmux has not yet reaped the process
    /// (see [`Version::may_lose_exit_status`]).
    pub dead_status: Option<i32>,
    /// Absent on tmux 3.2, which does not report it.
    pub dead_signal: Option<i32>,
    pub width: u16,
    pub height: u16,
    /// In copy mode or another mode that intercepts keys.
    pub in_mode: bool,
    /// The program uses the alternate screen.
    pub alternate_on: bool,
    /// Unix seconds of the last output; moves in detached sessions too.
    pub window_activity: u64,
    /// Number of attached clients.
    pub session_attached: u32,
    /// Ids are only unique together with the server's pid and start time.
    pub server_pid: u32,
    pub server_start: u64,
    pub version: Option<Version>,
}

/// A row with the expensive and the free-text values (tmux reads /proc for the last two).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneDetail {
    pub row: PaneRow,
    pub title: String,
    pub current_command: String,
    pub current_path: PathBuf,
}

/// A row with the title that the program in the pane has set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneFace {
    pub row: PaneRow,
    pub title: String,
}

/// Unexpected output of `list-panes`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tmux listed a pane without a usable {field}: {text:?}")]
pub struct BadRow {
    pub field: &'static str,
    pub text: String,
}

const NUMBERS: [&str; 16] = [
    "session_id",
    "window_id",
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "pane_width",
    "pane_height",
    "pane_in_mode",
    "alternate_on",
    "window_activity",
    "session_attached",
    "pid",
    "start_time",
    "version",
];
const NAME: [&str; 1] = ["session_name"];
const FACE: [&str; 2] = ["session_name", "pane_title"];
const DETAILS: [&str; 4] =
    ["session_name", "pane_title", "pane_current_command", "pane_current_path"];

/// A query for all panes. Because of its nonce, a reply can be parsed only with the query that requested it.
/// A query may be kept and sent again, but not rebuilt for parsing.
#[derive(Debug, Clone)]
pub struct RowQuery {
    mark: String,
}

impl RowQuery {
    #[expect(clippy::new_without_default, reason = "each one differs from every other")]
    pub fn new() -> Self {
        Self { mark: nonce() }
    }

    /// Asks for [`PaneRow`]s.
    pub fn command(&self) -> Command {
        self.list(&NAME)
    }

    /// Asks for [`PaneDetail`]s.
    pub fn detailed_command(&self) -> Command {
        self.list(&DETAILS)
    }

    /// Asks for the [`PaneFace`]s of all panes.
    pub fn faces_command(&self) -> Command {
        self.list(&FACE)
    }

    /// Asks for the [`PaneFace`] of one pane; fails if it is gone.
    pub fn face_command(&self, pane: PaneId) -> Command {
        Command::about_pane(pane, self.format(&FACE))
    }

    fn list(&self, texts: &[&str]) -> Command {
        Command::new("list-panes").flag('a').option('F', self.format(texts))
    }

    fn format(&self, texts: &[&str]) -> String {
        let numbers = NUMBERS.map(|field| format!("#{{{field}}}")).join(" ");
        let texts = texts.iter().map(|text| format!("#{{{text}}}"));
        let pieces: Vec<_> = [String::new(), numbers].into_iter().chain(texts).collect();
        pieces.join(&self.mark)
    }

    /// Parses the reply to [`RowQuery::command`]; leaves out dogwatch's own sessions.
    pub fn parse(&self, reply: &Reply) -> Result<Vec<PaneRow>, BadRow> {
        self.records(reply, NAME.len(), |row, _| row)
    }

    /// Parses the replies to [`RowQuery::faces_command`] and [`RowQuery::face_command`].
    pub fn parse_faces(&self, reply: &Reply) -> Result<Vec<PaneFace>, BadRow> {
        self.records(reply, FACE.len(), |row, texts| PaneFace { row, title: lossy(texts.first()) })
    }

    /// Parses the reply to [`RowQuery::detailed_command`].
    pub fn parse_detailed(&self, reply: &Reply) -> Result<Vec<PaneDetail>, BadRow> {
        self.records(reply, DETAILS.len(), |row, texts| PaneDetail {
            row,
            title: lossy(texts.first()),
            current_command: lossy(texts.get(1)),
            current_path: texts
                .get(2)
                .map_or_else(PathBuf::new, |path| OsString::from_vec(path.to_vec()).into()),
        })
    }

    fn records<T>(
        &self,
        reply: &Reply,
        texts: usize,
        finish: impl Fn(PaneRow, &[&[u8]]) -> T,
    ) -> Result<Vec<T>, BadRow> {
        let mut pieces = split(reply.bytes(), self.mark.as_bytes());
        let before = pieces.remove(0);
        if !before.is_empty() {
            return Err(BadRow { field: "begin", text: lossy(Some(&before)) });
        }
        let mut records = Vec::with_capacity(pieces.len() / (texts + 1));
        for record in pieces.chunks(texts + 1) {
            let last = record.get(texts).and_then(|text| text.strip_suffix(b"\n"));
            let Some(last) = last else {
                return Err(BadRow { field: "end", text: lossy(record.first()) });
            };
            let mut record = record.to_vec();
            record[texts] = last;
            let row = row(record[0], record[1])?;
            if !row.session_name.starts_with(ANCHOR_PREFIX) {
                records.push(finish(row, &record[2..]));
            }
        }
        Ok(records)
    }
}

fn row(numbers: &[u8], name: &[u8]) -> Result<PaneRow, BadRow> {
    let text = String::from_utf8_lossy(numbers);
    let mut fields = Fields { values: text.split(' '), names: NUMBERS.iter() };
    Ok(PaneRow {
        session_no: fields.need()?,
        window_id: fields.need()?,
        pane_id: fields.need()?,
        pane_pid: fields.need()?,
        dead: fields.flag(),
        dead_status: fields.may()?,
        dead_signal: fields.next().1.and_then(signal_number),
        width: fields.need()?,
        height: fields.need()?,
        in_mode: fields.flag(),
        alternate_on: fields.flag(),
        window_activity: fields.need()?,
        session_attached: fields.need()?,
        server_pid: fields.need()?,
        server_start: fields.need()?,
        version: fields.next().1.and_then(Version::parse),
        session_name: String::from_utf8_lossy(name).into_owned(),
    })
}

struct Fields<'a> {
    values: std::str::Split<'a, char>,
    names: std::slice::Iter<'static, &'static str>,
}

impl<'a> Fields<'a> {
    /// A field that this tmux does not know expands to nothing.
    fn next(&mut self) -> (&'static str, Option<&'a str>) {
        let name = self.names.next().copied().unwrap_or_default();
        (name, self.values.next().filter(|value| !value.is_empty()))
    }

    fn may<T: FromStr>(&mut self) -> Result<Option<T>, BadRow> {
        let (field, value) = self.next();
        value
            .map(|text| text.parse().map_err(|_| BadRow { field, text: text.to_owned() }))
            .transpose()
    }

    fn need<T: FromStr>(&mut self) -> Result<T, BadRow> {
        let field = self.names.as_slice().first().copied().unwrap_or_default();
        self.may()?.ok_or_else(|| BadRow { field, text: String::new() })
    }

    /// tmux counts the modes a pane is in, so any number except 0 is true.
    fn flag(&mut self) -> bool {
        self.next().1.is_some_and(|value| value != "0")
    }
}

/// Always at least one piece: what comes before the first mark.
fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at + mark.len() <= bytes.len() {
        if bytes[at..].starts_with(mark) {
            pieces.push(&bytes[from..at]);
            at += mark.len();
            from = at;
        } else {
            at += 1;
        }
    }
    pieces.push(&bytes[from..]);
    pieces
}

fn lossy(text: Option<&&[u8]>) -> String {
    text.map_or_else(String::new, |text| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "$1 @2 %3 400 0   80 24 0 1 1794741355 2 99 1794741000 3.3a";

    fn rows(query: &RowQuery, texts: &[(&str, &str)]) -> Result<Vec<PaneRow>, BadRow> {
        let mark = &query.mark;
        let line = |(head, name): &(&str, &str)| format!("{mark}{head}{mark}{name}\n");
        let lines = texts.iter().map(line).collect::<Vec<_>>().concat();
        query.parse(&Reply(lines.into_bytes()))
    }

    #[test]
    fn a_live_pane_is_parsed() {
        let parsed = rows(&RowQuery::new(), &[(HEAD, "web 1")]).unwrap();
        let expected = PaneRow {
            session_no: SessionNo(1),
            session_name: "web 1".into(),
            window_id: WindowId(2),
            pane_id: PaneId(3),
            pane_pid: 400,
            dead: false,
            dead_status: None,
            dead_signal: None,
            width: 80,
            height: 24,
            in_mode: false,
            alternate_on: true,
            window_activity: 1_794_741_355,
            session_attached: 2,
            server_pid: 99,
            server_start: 1_794_741_000,
            version: Version::parse("3.3a"),
        };
        assert_eq!(parsed, [expected]);
    }

    #[test]
    fn dead_panes_are_parsed() {
        for (values, status, signal) in [
            ("1 3 ", Some(3), None),
            ("1  9", None, Some(9)),
            ("1  KILL", None, Some(9)),
            ("1  ", None, None),
        ] {
            let head = HEAD.replace("0   80", &format!("{values} 80"));
            let parsed = rows(&RowQuery::new(), &[(&head, "x")]).unwrap();
            let row = &parsed[0];
            assert!(row.dead);
            assert_eq!((row.dead_status, row.dead_signal), (status, signal), "{values:?}");
        }
    }

    #[test]
    fn text_may_contain_anything() {
        let names = ["a b", "", "x\ny\n", "%1 @2 $3", "|\t\\\"'", HEAD];
        let query = RowQuery::new();
        let parsed = rows(&query, &names.map(|name| (HEAD, name))).unwrap();
        assert_eq!(parsed.iter().map(|row| row.session_name.as_str()).collect::<Vec<_>>(), names);
    }

    #[test]
    fn anchors_are_left_out() {
        let parsed = rows(&RowQuery::new(), &[(HEAD, "_dogwatch-77"), (HEAD, "b")]).unwrap();
        assert_eq!(parsed.len(), 1);
    }

    #[test]
    fn an_empty_list_is_parsed() {
        assert_eq!(rows(&RowQuery::new(), &[]).unwrap(), []);
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = rows(&RowQuery::new(), &[(&HEAD.replace("@2", ""), "x")]).unwrap_err();
        assert_eq!(error.field, "window_id");
        let error = rows(&RowQuery::new(), &[(&HEAD.replace("400", "4e2"), "x")]).unwrap_err();
        assert_eq!((error.field, error.text.as_str()), ("pane_pid", "4e2"));
        let error = rows(&RowQuery::new(), &[("$1 @2", "x")]).unwrap_err();
        assert_eq!(error.field, "pane_id");
    }

    #[test]
    fn a_truncated_reply_is_an_error() {
        let query = RowQuery::new();
        let mark = &query.mark;
        for text in [
            format!("{mark}{HEAD}\n"),
            format!("{mark}{HEAD}{mark}x"),
            format!("y{mark}{HEAD}{mark}x\n"),
        ] {
            assert!(query.parse(&Reply(text.clone().into_bytes())).is_err(), "{text}");
        }
    }
}
