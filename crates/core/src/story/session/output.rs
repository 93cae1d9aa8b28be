//! What is kept of a session's screen for whoever reads it afterwards.

use super::cues;

/// Lines that are kept of the end.
const LINES: usize = 200;

/// The end of a text, without drawn boxes and without blank lines below.
pub fn kept(text: &str) -> String {
    let text = cues::without_boxes(text);
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let mut kept = lines[lines.len().saturating_sub(LINES)..].join("\n");
    if !kept.is_empty() {
        kept.push('\n');
    }
    kept
}

/// The file's name: what it is of, and whose.
pub fn file_name(project_hash: &str, session: &str) -> String {
    format!("sa-{project_hash}-output-{session}.txt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn the_end_is_kept() {
        let text = (1..=250).fold(String::new(), |mut text, n| {
            let _ = writeln!(text, "line {n}");
            text
        });
        let kept = kept(&format!("{text}╭──╮\n│ x │\n╰──╯\n\n\n"));
        assert!(kept.starts_with("line 51\n") && kept.ends_with("line 250\n"), "{kept}");
        assert_eq!(super::kept("\n \n"), "");
    }
}
