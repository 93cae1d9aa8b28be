//! What is saved of a session's screen.

use super::cues;
use dogwatch_core::record::Exit;
use dogwatch_core::status::Status;

/// Lines that are saved from the end.
const LINES: usize = 200;

/// The end of a text, without input boxes and trailing blank lines.
pub fn kept(text: &str) -> String {
    let text = cues::without_boxes(text);
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let mut kept = lines[lines.len().saturating_sub(LINES)..].join("\n");
    if !kept.is_empty() {
        kept.push('\n');
    }
    kept
}

/// The line for a session without output, so that a reader of the file learns how it ended.
pub fn nothing_shown(status: &Status) -> String {
    match status {
        Status::Exited => silent_end(Some(Exit::Code(0))),
        Status::Crashed { exit } | Status::Stopped { exit, .. } => silent_end(*exit),
        _ => "no output\n".to_owned(),
    }
}

/// The same from tmux's data about a dead pane.
pub fn silent_end(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("ended with code {code}, no output\n"),
        Some(Exit::Signal(signal)) => format!("ended by signal {signal}, no output\n"),
        None => "ended, no output\n".to_owned(),
    }
}

/// The file's name, from project and session.
pub fn file_name(project_hash: &str, session: &str) -> String {
    format!("sa-{project_hash}-output-{session}.txt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn the_end_is_saved() {
        let text = (1..=250).fold(String::new(), |mut text, n| {
            let _ = writeln!(text, "line {n}");
            text
        });
        let kept = kept(&format!("{text}╭──╮\n│ x │\n╰──╯\n\n\n"));
        assert!(kept.starts_with("line 51\n") && kept.ends_with("line 250\n"), "{kept}");
        assert_eq!(super::kept("\n \n"), "");
    }

    #[test]
    fn a_silent_end_is_one_line() {
        let table = [
            (Status::Exited, "ended with code 0, no output\n"),
            (Status::Crashed { exit: Some(Exit::Code(9)) }, "ended with code 9, no output\n"),
            (Status::Crashed { exit: Some(Exit::Signal(9)) }, "ended by signal 9, no output\n"),
            (Status::Crashed { exit: None }, "ended, no output\n"),
            (Status::Starting, "no output\n"),
        ];
        for (status, line) in table {
            assert_eq!(nothing_shown(&status), line);
        }
    }
}
