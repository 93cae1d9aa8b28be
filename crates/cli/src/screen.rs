//! A picture that is drawn again and again, on the terminal's alternate screen: what was on the terminal before is there
//! again afterwards, however the command ends.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use rustix::termios::tcgetwinsize;

const OPEN: &str = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
const CLOSE: &str = "\x1b[?25h\x1b[?1049l";

#[derive(Debug)]
pub(crate) struct Screen {
    drawn: Vec<String>,
    size: (u16, u16),
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        // The released binary aborts in a panic, and drops nothing.
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = write(CLOSE);
            told(panic);
        }));
        write(OPEN)?;
        Ok(Self { drawn: Vec::new(), size: size() })
    }

    /// How many lines there are.
    pub(crate) fn height() -> usize {
        usize::from(size().0).max(4)
    }

    /// Draws lines from the top; only those that changed are written.
    pub(crate) fn draw(&mut self, text: &str) -> io::Result<()> {
        let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let text =
            if colours { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        let lines: Vec<String> = text.lines().take(Self::height()).map(ToOwned::to_owned).collect();
        if size() != self.size {
            self.size = size();
            self.drawn.clear();
        }
        let mut out = String::new();
        if self.drawn.is_empty() {
            out.push_str("\x1b[H\x1b[2J");
        }
        for (at, line) in lines.iter().enumerate() {
            if self.drawn.get(at) != Some(line) {
                let _ = write!(out, "\x1b[{};1H{line}\x1b[K", at + 1);
            }
        }
        if self.drawn.len() > lines.len() {
            let _ = write!(out, "\x1b[{};1H\x1b[J", lines.len() + 1);
        }
        self.drawn = lines;
        write(&out)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write(CLOSE);
    }
}

fn size() -> (u16, u16) {
    tcgetwinsize(io::stdout()).map_or((24, 80), |size| (size.ws_row, size.ws_col))
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// As many rows as there is room for below a header and above a footer, those that come first; the others are counted by
/// their words.
pub(crate) fn fit(
    header: &str,
    rows: &[String],
    words: &[&str],
    footer: &str,
    height: usize,
) -> String {
    let lines = |text: &str| text.lines().count().max(1);
    let room = height.saturating_sub(lines(header) + lines(footer) + 1);
    let all: usize = rows.iter().map(|row| lines(row)).sum();
    let room = if all <= room { room } else { room.saturating_sub(1) };
    let mut used = 0;
    let fits = |row: &&String| {
        used += lines(row);
        used <= room
    };
    let shown = rows.iter().take_while(fits).count();
    let mut text = header.to_owned();
    for row in &rows[..shown] {
        text = format!("{text}\n{row}");
    }
    if shown < rows.len() {
        text = format!("{text}\n… {} more: {}", rows.len() - shown, counted(&words[shown..]));
    }
    format!("{text}\n\n{footer}")
}

/// `1 working, 2 idle`, in the order in which they come.
fn counted(words: &[&str]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in words {
        match counts.iter_mut().find(|(known, _)| known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let rows: Vec<String> = ["ask", "bad", "one", "two\nlines", "three"].map(Into::into).into();
        let words = ["waiting", "crashed", "working", "idle", "idle"];
        let fit = |height| fit("NAME", &rows, &words, "12:00", height);
        assert_eq!(fit(20), "NAME\nask\nbad\none\ntwo\nlines\nthree\n\n12:00");
        assert_eq!(fit(9), "NAME\nask\nbad\none\ntwo\nlines\nthree\n\n12:00");
        assert_eq!(fit(8), "NAME\nask\nbad\none\n… 2 more: 2 idle\n\n12:00");
        assert_eq!(fit(6), "NAME\nask\nbad\n… 3 more: 1 working, 2 idle\n\n12:00");
        assert_eq!(fit(2), "NAME\n… 5 more: 1 waiting, 1 crashed, 1 working, 2 idle\n\n12:00");
    }
}
