use dogwatch_base::log::Logged as _;
use dogwatch_core::transcript::{Entry, Speaker};
use dogwatch_protocol::id::SessionId;
use dogwatch_store::KeptScreen;
use dogwatch_tmux::CaptureOptions;

use crate::error::SessionError;
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::{agents, transcripts};
use crate::{Context, Error};

/// Lines of history that are there to read, and kept once a program that scrolls has ended.
pub const HISTORY: u32 = 5000;

/// What a pane showed.
#[derive(Debug, Clone)]
pub struct Screen {
    pub from: From,
    /// With attributes.
    pub text: Vec<u8>,
}

/// What a session shows, or showed.
#[derive(Debug, Clone)]
pub struct Captured {
    pub from: From,
    /// Escape codes and all, if they were asked for.
    pub text: Vec<u8>,
}

pub use dogwatch_protocol::session::CaptureFrom as From;

/// The text of a session: its pane while tmux has it, else what was kept. `lines` asks for that many
/// from the end instead of one screen.
pub fn capture(
    context: &Context,
    seen: &SessionSnapshot,
    lines: Option<u32>,
    ansi: bool,
) -> Result<Captured, Error> {
    seen.must_be_known()?;
    // In a dead pane tmux has put a line of its own over the last screen, which the runner kept before. A session that is over has
    // such a pane at any moment.
    let is_dying = seen.life.state.is_over();
    let living = seen.pane.filter(|pane| !pane.dead && !is_dying).map(|pane| pane.pane_id);
    if let Some(pane) = living {
        let options = CaptureOptions { lines, ansi, joined: false };
        let text = context.tmux.capture(pane, options)?.into_bytes();
        // It may have died since tmux was asked.
        if without_tmux_line(&text).len() == text.len() {
            return Ok(Captured { from: From::Pane, text: last_lines(&text, lines) });
        }
    }
    let folder = context.state.session(&seen.session.id);
    let said = transcript(context, seen);
    if !said.is_empty() {
        let text = written_out(&said).into_bytes();
        return Ok(Captured {
            from: From::Transcript,
            text: last_lines(&text, lines.or(Some(50))),
        });
    }
    let screen = folder.screen().or_else(|| dead_pane(context, seen));
    let Some(screen) = screen else {
        let reason = "its terminal closed before dogwatch could read it".to_owned();
        return Err(SessionError::NothingKept { name: seen.session.name.clone(), reason }.into());
    };
    let text = if ansi { screen.ansi } else { plain(&screen.ansi).into_bytes() };
    Ok(Captured { from: From::Kept, text: last_lines(&text, lines.or(Some(HISTORY))) })
}

/// The last rows that the runner kept of a session's screen.
pub fn kept(context: &Context, session: &SessionId, rows: u32) -> Option<Screen> {
    let kept = context.state.session(session).screen()?;
    Some(Screen { from: From::Kept, text: last_lines(&kept.ansi, Some(rows)) })
}

/// What was said in a session, if its agent writes it down; the end of it.
pub fn said(context: &Context, seen: &SessionSnapshot) -> Option<String> {
    let said = transcript(context, seen);
    (!said.is_empty()).then(|| written_out(&said))
}

/// Text without colours and attributes.
pub fn plain(text: &[u8]) -> String {
    dogwatch_core::screen::plain(&String::from_utf8_lossy(text))
}

/// What tmux still has of a session whose runner was killed before it could keep anything.
fn dead_pane(context: &Context, seen: &SessionSnapshot) -> Option<KeptScreen> {
    let options = CaptureOptions { lines: Some(HISTORY), ansi: true, joined: false };
    let reply = context.tmux.capture(seen.pane_id()?, options).logged("capture a screen")?;
    Some(KeptScreen { ansi: without_tmux_line(reply.bytes()).to_vec() })
}

/// A screen without the line that tmux writes on a dead pane. That line comes last, on a screen that is blank below the program's own.
fn without_tmux_line(screen: &[u8]) -> &[u8] {
    let text = screen.trim_ascii_end();
    let start = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = plain(&text[start..]);
    let is_tmux = last.starts_with("Pane is dead") && (last.ends_with(')') || last.len() == 12);
    if is_tmux { &screen[..start] } else { screen }
}

fn transcript(context: &Context, seen: &SessionSnapshot) -> Vec<Entry> {
    let read = || {
        let rules = agents::profile(context, &seen.session.agent)
            .logged("read an agent's profile")?
            .transcript?;
        let told = transcripts::path_told(
            &context
                .store()
                .logged("open the database")?
                .signals(&seen.session.id)
                .logged("read a session's signals")?,
        );
        let path = transcripts::locate(context, &seen.session, &rules, told)?;
        Some(transcripts::tail(&path, rules.dialect))
    };
    read().unwrap_or_default()
}

fn written_out(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let mark = match entry.speaker {
            Speaker::Person => "> ",
            Speaker::Agent => "",
            Speaker::Tool => "* ",
        };
        text.push_str(mark);
        // What a model wrote must not act on the terminal it is shown on.
        text.extend(entry.text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')));
        text.push_str("\n\n");
    }
    text
}

/// The last lines, with the blank ones below the text left out.
fn last_lines(text: &[u8], count: Option<u32>) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    while lines.last().is_some_and(|line| line.iter().all(u8::is_ascii_whitespace)) {
        lines.pop();
    }
    let count = count.map_or(lines.len(), |n| usize::try_from(n).unwrap_or(usize::MAX));
    let from = lines.len().saturating_sub(count);
    let mut out = lines[from..].join(&b'\n');
    if !out.is_empty() {
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_tmux_is_not_part_of_a_screen() {
        for (screen, rest) in [
            ("a\n\nPane is dead (status 9, Mon Nov 16 08:31:48 2026)\n", "a\n\n"),
            ("\u{1b}[0mPane is dead (signal KILL, Mon)\u{1b}[0m\n\n", ""),
            ("a\nPane is dead", "a\n"),
            ("a\nPane is dead, it says\n", "a\nPane is dead, it says\n"),
            ("", ""),
        ] {
            assert_eq!(without_tmux_line(screen.as_bytes()), rest.as_bytes(), "{screen:?}");
        }
    }

    #[test]
    fn ends_of_texts() {
        let lines = |text: &str, n| String::from_utf8(last_lines(text.as_bytes(), n)).unwrap();
        assert_eq!(lines("a\nb\n\n   \n", None), "a\nb\n");
        assert_eq!(lines("a\nb\nc\n", Some(2)), "b\nc\n");
        assert_eq!(lines("\n\n", Some(2)), "");
    }
}
