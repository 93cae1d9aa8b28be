//! Everything that is printed goes through here: results to stdout, talk to stderr, colour only where
//! somebody sees it, and a closed pipe is nobody's fault. No text can do more to the terminal than be read: what comes from agents,
//! repositories and other hosts is made harmless ([`harmless`]), and only plain colours pass whatever is printed.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_core::liveness::{State, exit_words};
use dogwatch_core::record::Exit;
use dogwatch_core::terminal;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::environment;
use crate::table::{Cell, Table};

/// Prints a result line.
pub(crate) fn line(text: impl fmt::Display) {
    ignore_closed_pipe(try_line(text));
}

/// The same for who has something to clean up first if nobody reads any more.
pub(crate) fn try_line(text: impl fmt::Display) -> io::Result<()> {
    writeln!(anstream::stdout(), "{}", terminal::coloured(&text.to_string()))
}

/// Prints a result as it is, byte for byte.
pub(crate) fn raw(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    ignore_closed_pipe(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Whether `--json` was given.
static PRINTS_JSON: OnceLock<bool> = OnceLock::new();

/// Set once, by what the command line says.
pub(crate) fn print_json(wanted: bool) {
    PRINTS_JSON.get_or_init(|| wanted);
}

pub(crate) fn prints_json() -> bool {
    PRINTS_JSON.get().copied().unwrap_or(false)
}

/// Prints a result as one line of JSON.
pub(crate) fn json(value: &impl Serialize) {
    ignore_closed_pipe(try_json(value));
}

/// A JSON object a line, for who has something to clean up first if nobody reads any more.
pub(crate) fn try_json(value: &impl Serialize) -> io::Result<()> {
    let written = serde_json::to_string(value).map_err(io::Error::other)?;
    let mut out = io::stdout().lock();
    out.write_all(format!("{}\n", terminal::json(&written)).as_bytes())?;
    out.flush()
}

/// Prints a screen: byte for byte into a file or a pipe, without what a terminal would obey into a terminal.
pub(crate) fn screen(bytes: &[u8]) {
    if stdout_is_terminal() {
        raw(terminal::screen(&String::from_utf8_lossy(bytes)).as_bytes());
    } else {
        raw(bytes);
    }
}

/// Says something that is not the result. If nobody listens, the exit code still tells.
pub(crate) fn talk(text: impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{}", terminal::coloured(&text.to_string()));
}

/// Nobody reads any more: there is nobody to tell either. Any other trouble, such as a full disk, would
/// leave the reader with half a result.
fn ignore_closed_pipe(result: io::Result<()>) {
    match result {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            std::process::exit(exit_code::OK.into())
        }
        Err(error) => {
            talk(format_args!("error: failed to write the result: {error}"));
            std::process::exit(exit_code::FAILED.into())
        }
    }
}

/// Draws a screenful in the place of the last one.
pub(crate) fn redraw(text: impl fmt::Display) -> io::Result<()> {
    write!(anstream::stdout(), "\x1b[H\x1b[2J")?;
    try_line(text)
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Asks a yes-or-no question; anything but yes is no.
pub(crate) fn confirm(question: &str) -> bool {
    let _ = write!(anstream::stderr(), "{} [y/N] ", terminal::coloured(question));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer).is_ok();
    read && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
}

/// Asks for a word.
pub(crate) fn ask(question: &str) -> String {
    let _ = write!(anstream::stderr(), "{}", terminal::coloured(question));
    let mut answer = String::new();
    let _ = io::stdin().read_line(&mut answer);
    answer.trim().to_owned()
}

/// A table, as wide as the terminal at most.
pub(crate) fn table(header: &[&str]) -> Table {
    Table::new(header, terminal_width().map(usize::from))
}

fn terminal_width() -> Option<u16> {
    if !stdout_is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col).filter(|w| *w > 0)
}

/// The state's word in its colour.
pub(crate) fn state(state: State) -> Cell {
    let colour = match state {
        State::Starting => AnsiColor::Cyan,
        State::Running => AnsiColor::Green,
        State::Exited | State::Stopped => AnsiColor::Blue,
        State::Crashed | State::Lost => AnsiColor::Red,
        State::Unknown => AnsiColor::Yellow,
    };
    // `running` could be mistaken for `working` of `status`; here dogwatch only knows that the process lives.
    let word = if state == State::Running { "alive" } else { state.as_str() };
    Cell::painted(word, colour)
}

/// A path in JSON: what is not UTF-8 is replaced.
pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A path as people write it: the home folder as `~`.
pub(crate) fn short_path(path: &Path) -> String {
    match environment::home().and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned())) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// A text of an agent's or a user's as a terminal may see it: control characters could do anything there.
pub(crate) fn harmless(text: String) -> String {
    match terminal::harmless(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(harmless) => harmless,
    }
}

/// What is said instead of an empty table.
pub(crate) fn no_sessions(of_project: bool) -> &'static str {
    if of_project {
        "this project has no sessions; `dogwatch ls` lists all sessions"
    } else {
        "no sessions; to start one: dogwatch spawn claude '…'"
    }
}

/// What is said below a table that does not show all sessions.
pub(crate) fn talk_of_left_out(count: usize) {
    if count > 0 {
        let sessions = if count == 1 { "ended session is" } else { "ended sessions are" };
        talk(format_args!("{count} more {sessions} not shown; --all shows them"));
    }
}

/// `exit code 3`, `signal 9 (KILL)`.
pub(crate) fn exit(exit: Exit) -> String {
    exit_words(exit)
}

/// How long ago, in the largest unit that fits: `12s`, `3m`, `5h`, `2d`.
pub(crate) fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).max(SignedDuration::ZERO).as_secs();
    match seconds {
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m", s / 60),
        s if s < 86_400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let ago = |s: i64| age(Timestamp::from_second(1_000_000 - s).unwrap(), now);
        assert_eq!(
            [ago(0), ago(59), ago(60), ago(7300), ago(200_000)],
            ["0s", "59s", "1m", "2h", "2d"]
        );
        assert_eq!(ago(-50), "0s", "a clock that was set back");
    }
}
