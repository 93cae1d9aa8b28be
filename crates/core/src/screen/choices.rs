//! Which of a dialog's options is marked, what their numbers are, and buttons beside each other.

use super::layout::Layout;
use super::regions::Line;

/// Options that stand beside each other in one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Buttons {
    pub(super) line: usize,
    pub(super) texts: Vec<String>,
    pub(super) marked: usize,
}

/// The number that each option is shown with: a list that is too long for its pane does not begin with the first.
pub(super) fn numbers(lines: &[Line], options: &[(usize, String)]) -> Vec<usize> {
    let number = |(at, text): &(usize, String)| {
        let line = lines.get(*at)?.text();
        let before = &line[..line.rfind(text.as_str())?];
        let digits = before.trim_end().strip_suffix(['.', ')'])?;
        let begin = digits.rfind(|sign: char| !sign.is_ascii_digit()).map_or(0, |at| at + 1);
        digits.get(begin..)?.parse().ok()
    };
    let all: Option<Vec<usize>> = options.iter().map(number).collect();
    all.unwrap_or_else(|| (1..=options.len()).collect())
}

/// The option that Enter would choose: it has the cursor, or it alone has another background.
pub(super) fn marked(
    layout: &Layout,
    styled: bool,
    lines: &[Line],
    options: &[(usize, String)],
) -> Option<usize> {
    let cursor = layout.dialog.cursor.as_ref();
    // The cursor may be described with the dialog's frame, which the line has lost.
    let has_cursor = |(at, _): &(usize, String)| {
        let is_it = |text: &str| cursor.is_some_and(|cursor| cursor.matches(text));
        is_it(lines[*at].text()) || is_it(lines[*at].whole())
    };
    let by_colour = || {
        let mut all = options.iter().enumerate().filter(|(_, (at, text))| {
            let byte = lines[*at].text().rfind(text.as_str());
            byte.is_some_and(|byte| stands_out(&lines[*at], byte))
        });
        let first = all.next().filter(|_| styled)?;
        all.next().is_none().then_some(first.0)
    };
    options.iter().position(has_cursor).or_else(by_colour)
}

/// The line of buttons, if one of them is marked.
pub(super) fn buttons(layout: &Layout, styled: bool, lines: &[Line]) -> Option<Buttons> {
    let shape = layout.dialog.buttons.as_ref().filter(|_| styled)?;
    (0..lines.len()).rev().find_map(|at| {
        let line = &lines[at];
        let found = shape.captures(line.text())?.name("buttons")?;
        let mut texts: Vec<String> = Vec::new();
        let mut marked = Vec::new();
        let mut from = found.start();
        for part in found.as_str().split("  ") {
            let text = part.trim();
            let begin = from + (part.len() - part.trim_start().len());
            from += part.len() + 2;
            if text.is_empty() {
                continue;
            }
            if stands_out(line, begin) {
                marked.push(texts.len());
            }
            texts.push(text.to_owned());
        }
        match marked[..] {
            [marked] if texts.len() > 1 => Some(Buttons { line: at, texts, marked }),
            _ => None,
        }
    })
}

/// A character has another background than the line begins with.
fn stands_out(line: &Line, byte: usize) -> bool {
    let (here, there) = (line.style_at(byte), line.style_at(0));
    here.bg != there.bg || here.reverse != there.reverse
}

#[cfg(test)]
mod tests {
    use crate::screen::{Details, Screen, read};

    fn details(agent: &str, text: &str, width: u16, height: u16) -> Details {
        let bytes = text.as_bytes();
        let (title, cursor, alternate) = (None, None, Some(true));
        read(agent, &Screen { bytes, width, height, title, cursor, alternate }).details
    }

    /// A line of opencode's dialog: its rail, and the background that follows.
    fn rail(text: &str) -> String {
        format!("\x1b[48;5;232m  \x1b[38;5;215m\x1b[48;5;233m┃\x1b[38;5;15m\x1b[48;5;234m{text}")
    }

    fn permission(buttons: &str) -> String {
        let lines = [
            "",
            "  △ Permission required",
            "    # Shell command",
            "",
            "  $ touch ../permission-given.txt",
            "",
            buttons,
            "",
        ];
        let lines: Vec<String> = lines.iter().map(|line| rail(line)).collect();
        format!("\n\n{}\n", lines.join("\n"))
    }

    #[test]
    fn buttons_of_opencode() {
        let keys = "      \x1b[38;5;255mctrl+f \x1b[38;5;8mfullscreen  ⇆ select  enter confirm";
        let on = |text: &str| format!("\x1b[48;5;215m \x1b[38;5;232m{text} \x1b[48;5;234m");
        let off = |text: &str| format!(" \x1b[38;5;8m{text} ");
        let names = ["Allow once", "Allow always", "Reject"];
        for marked in 0..3 {
            let button =
                |(at, name): (usize, &&str)| if at == marked { on(name) } else { off(name) };
            let all: Vec<String> = names.iter().enumerate().map(button).collect();
            for keys in [keys, ""] {
                let line = format!("  {}{keys}", all.join(" "));
                let found = details("opencode", &permission(&line), 100, 40);
                assert_eq!(found.options, names);
                assert_eq!((found.hands.marked, found.hands.sideways), (Some(marked), true));
            }
        }
        let none: Vec<String> = names.iter().map(|name| off(name)).collect();
        let found = details("opencode", &permission(&format!("  {}", none.join(" "))), 100, 40);
        assert_eq!(found.hands.marked, None, "which one Enter would choose is not known");
    }

    #[test]
    fn options_of_a_question_of_opencode() {
        let lines = [
            "  Which database should I use?",
            "",
            "  1. PostgreSQL",
            "     Take PostgreSQL",
            "  \x1b[38;5;68m\x1b[48;5;235m2.\x1b[38;5;15m \x1b[38;5;75mSQLite\x1b[48;5;234m   ",
            "  3. Type your own answer",
            "",
            "  ↑↓ select  enter submit  esc dismiss",
        ];
        let lines: Vec<String> = lines.iter().map(|line| rail(line)).collect();
        let found = details("opencode", &format!("\n\n{}\n", lines.join("\n")), 100, 40);
        assert_eq!(found.options, ["PostgreSQL", "SQLite", "Type your own answer"]);
        assert_eq!((found.hands.marked, found.hands.sideways), (Some(1), false));
    }

    #[test]
    fn options_of_gemini_in_their_frame() {
        let edge = "─".repeat(40);
        let line = |text: &str| format!("│ {text:<38} │");
        let text = format!(
            "╭{edge}╮\n{}\n{}\n{}\n{}\n{}\n╰{edge}╯\n",
            line("? Shell  touch x"),
            line("Allow execution of [Shell]?"),
            line("  1. Allow once"),
            line("● 2. Allow for this session"),
            line("  3. No, suggest changes (esc)"),
        );
        let found = details("gemini", &text, 42, 40);
        assert_eq!((found.options.len(), found.hands.marked), (3, Some(1)), "{found:?}");
        assert_eq!(found.hands.numbers, [1, 2, 3]);
    }

    #[test]
    fn a_scrolled_list_keeps_its_numbers() {
        let edge = "╌".repeat(40);
        let text = format!(
            "{edge}\n touch x\n{edge}\n Do you want to proceed?\n ↑ 3. Yes, and switch to auto mode ·\n      auto mode handles these prompts\n ❯ 4. No\n\n Esc to cancel · Tab to amend\n"
        );
        let found = details("claude", &text, 40, 10);
        assert_eq!(found.hands.numbers, [3, 4], "{found:?}");
        assert_eq!((found.hands.marked, found.hands.is_low), (Some(1), true));
    }

    /// Completions stand in the same frame as what is typed.
    #[test]
    fn completions_above_the_box_of_opencode() {
        let text = format!(
            "     Answer.\n\n  ┃ /exit         Exit the app          ┃\n  ┃ /export       Export session        ┃\n  ┃\n  ┃  /exit\n  ┃\n  ┃  Build · Double\n  ╹{}\n",
            "▀".repeat(40)
        );
        assert_eq!(details("opencode", &text, 60, 40).draft.as_deref(), Some("/exit"));
        let wide = text.replace("     ┃\n", &format!("{:52}┃\n", ""));
        assert_eq!(details("opencode", &wide, 100, 40).draft.as_deref(), Some("/exit"));
    }
}
