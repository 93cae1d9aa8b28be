//! One `### …` section of a story's file: its list, and replacing it without changing the rest.

/// The paths in a section: `- src/a.rs`, with backticks and remarks as people write them.
pub fn listed(text: &str, heading: &str) -> Vec<String> {
    let Some((_, from, to)) = find(text, heading) else { return Vec::new() };
    text[from..to].lines().filter_map(path_of).collect()
}

/// The text with `items` in the section; appended if it is missing.
pub fn with_section(text: &str, heading: &str, items: &[String]) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut body = String::new();
    for item in items {
        body.extend(["- ", item, newline]);
    }
    let Some((_, from, to)) = find(text, heading) else {
        let above = text.trim_end();
        let gap = if above.is_empty() { String::new() } else { newline.repeat(2) };
        return format!("{above}{gap}### {heading}{newline}{newline}{body}");
    };
    let (head, rest) = (&text[..from], &text[to..]);
    let head_end = if head.ends_with('\n') { "" } else { newline };
    let gap = if rest.is_empty() { "" } else { newline };
    format!("{head}{head_end}{newline}{body}{gap}{rest}")
}

/// The positions of the heading, of its body, and of the body's end.
fn find(text: &str, heading: &str) -> Option<(usize, usize, usize)> {
    let mut at = 0;
    let mut fenced = false;
    let is_fence = |line: &str| line.starts_with("```");
    let mut fences = text.lines().filter(|line| is_fence(line)).count();
    let mut found: Option<(usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if is_fence(bare) {
            fences -= 1;
            // An unclosed code block hides nothing: otherwise our section would be appended again and again.
            fenced = !fenced && fences > 0;
        }
        if !fenced && let Some((level, title)) = heading_of(bare) {
            match found {
                Some((start, body)) if level <= 3 => return Some((start, body, at)),
                None if level == 3 && title.eq_ignore_ascii_case(heading) => {
                    found = Some((at, at + line.len()));
                }
                _ => {}
            }
        }
        at += line.len();
    }
    found.map(|(start, body)| (start, body, text.len()))
}

fn heading_of(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[level..].strip_prefix(' ')?.trim();
    (1..=6).contains(&level).then_some((level, title))
}

fn path_of(line: &str) -> Option<String> {
    let item = line.trim();
    let item = ["- ", "* ", "+ "].iter().find_map(|bullet| item.strip_prefix(bullet))?.trim();
    let item = item.trim_start_matches("[x] ").trim_start_matches("[ ] ");
    if let Some(rest) = item.strip_prefix('`') {
        return rest.split_once('`').map(|(path, _)| path.to_owned());
    }
    // A remark may follow: `src/a.rs (new)`, `src/a.rs - new`, `src/a.rs: new`.
    let ends = [" (", " - ", " – ", " — ", ": "];
    let end = ends.iter().filter_map(|end| item.find(end)).min().unwrap_or(item.len());
    let path = item[..end].trim().trim_matches('*');
    (!path.is_empty() && !path.starts_with('(')).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "# Story\n\n## Dev Agent Record\n\n### File List\n\n- `src/a.py` (new)\n- src/gone.py\n* **src/b c.py** - changed\n\ntext\n\n### Change Log\n\n- x\n";

    #[test]
    fn listed_paths_are_read() {
        assert_eq!(listed(STORY, "File List"), ["src/a.py", "src/gone.py", "src/b c.py"]);
        assert!(listed(STORY, "Test Counts").is_empty());
        assert!(listed("### File List\n\n- (no files changed)\n", "File List").is_empty());
    }

    #[test]
    fn only_the_section_changes() {
        let items = ["a".to_owned(), "b".to_owned()];
        assert_eq!(
            with_section(STORY, "File List", &items),
            "# Story\n\n## Dev Agent Record\n\n### File List\n\n- a\n- b\n\n### Change Log\n\n- x\n"
        );
        assert_eq!(with_section("x", "T", &items), "x\n\n### T\n\n- a\n- b\n");
        assert_eq!(with_section("x\n\n### T\nold", "T", &items), "x\n\n### T\n\n- a\n- b\n");
        assert_eq!(with_section("x\n\n### T", "T", &items), "x\n\n### T\n\n- a\n- b\n");
        assert_eq!(with_section("", "T", &items), "### T\n\n- a\n- b\n");
        let fenced = "```\n### T\n```\n";
        assert_eq!(with_section(fenced, "T", &items), "```\n### T\n```\n\n### T\n\n- a\n- b\n");
        let twice = with_section(STORY, "File List", &items);
        assert_eq!(with_section(&twice, "File List", &items), twice);
        assert_eq!(with_section("a\r\n", "T", &items), "a\r\n\r\n### T\r\n\r\n- a\r\n- b\r\n");
    }
}
