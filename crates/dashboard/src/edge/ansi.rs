//! An agent's screen as styled lines. Of its escape sequences nothing but colours and attributes is left.

use ansi_to_tui::IntoText as _;
use dogwatch_core::terminal;
use ratatui::text::Line;

/// The lines of a captured screen, without the blank ones at its end.
pub(super) fn lines(screen: &[u8]) -> Vec<Line<'static>> {
    let text = String::from_utf8_lossy(screen);
    // Tabs do not survive a capture; what else is hidden becomes a dot.
    let safe = terminal::screen(&text);
    let parsed = safe.as_bytes().into_text();
    let mut lines: Vec<Line<'static>> = match parsed {
        Ok(parsed) => parsed.lines,
        Err(_) => {
            dogwatch_core::screen::plain(&safe).lines().map(|l| l.to_owned().into()).collect()
        }
    };
    while lines.last().is_some_and(is_blank) {
        lines.pop();
    }
    lines
}

fn is_blank(line: &Line<'_>) -> bool {
    line.spans.iter().all(|span| span.content.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_colours_is_left_of_an_agents_output() {
        let hostile = "a\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07\x1b[6n\x1bP+q\x1b\\\x1b[?1049l\u{202e}日本\n\n \n";
        let lines = lines(hostile.as_bytes());
        assert_eq!(lines.len(), 1);
        let text: String = lines[0].spans.iter().map(|span| span.content.as_ref()).collect();
        assert!(!text.chars().any(terminal::is_hidden), "{text:?}");
        assert!(text.starts_with("ared") && text.ends_with("日本"), "{text:?}");
        let red = lines[0].spans.iter().find(|span| span.content == "red").unwrap();
        assert_eq!(red.style.fg, Some(ratatui::style::Color::Red));
    }

    #[test]
    fn every_control_sequence_is_harmless() {
        for byte in 0..=255_u8 {
            for middle in ["", "[", "]", "P", "[?", "[1;2"] {
                let screen = [b"x\x1b", middle.as_bytes(), &[byte], b"y\x9b31mz"].concat();
                for line in lines(&screen) {
                    let text: String =
                        line.spans.iter().map(|span| span.content.as_ref()).collect();
                    assert!(!text.chars().any(terminal::is_hidden), "{screen:?} {text:?}");
                }
            }
        }
    }
}
