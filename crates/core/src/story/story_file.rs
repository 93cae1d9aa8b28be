//! What a story's own file says of itself: `Status:` and title, in its front matter if it has one, else
//! above its first section.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryFile {
    /// `unknown` if the file does not say.
    pub status: String,
    pub title: String,
}

pub fn read(text: &str) -> StoryFile {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let front = front_matter(text);
    let head: Vec<&str> = match &front {
        Some((lines, _)) => lines.clone(),
        None => above_first_section(text.lines()),
    };
    let body = front.map_or(text, |(_, body)| body);
    let status = field(&head, "status").filter(|status| !status.is_empty());
    let title = field(&head, "title").filter(|title| !title.is_empty()).or_else(|| heading(body));
    StoryFile {
        status: status.unwrap_or_else(|| "unknown".to_owned()),
        title: title.unwrap_or_default(),
    }
}

/// The lines between the two `---`, and what comes after them.
fn front_matter(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut at = first.len();
    let mut inside = Vec::new();
    for line in lines {
        at += line.len();
        if line.trim_end() == "---" {
            return Some((inside, &text[at..]));
        }
        inside.push(line.trim_end());
    }
    None
}

fn above_first_section<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    lines.take_while(|line| !line.starts_with("## ")).collect()
}

fn field(lines: &[&str], name: &str) -> Option<String> {
    lines.iter().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        let key = key.trim().trim_matches('*');
        // `**Status:** done` has its colon inside the stars.
        let value = value.trim().trim_start_matches("**").trim();
        key.eq_ignore_ascii_case(name).then(|| unquoted(value).to_owned())
    })
}

/// `# Story 1.2: Password Reset` has the title `Password Reset`.
fn heading(body: &str) -> Option<String> {
    let heading = body.lines().find_map(|line| line.strip_prefix("# "))?.trim();
    let title = heading.split_once(':').map_or(heading, |(_, title)| title.trim());
    Some(title.to_owned())
}

fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_title() {
        for (text, status, title) in [
            (
                "# Story 1.2: Password Reset\n\nStatus: review\n\n## Story\n",
                "review",
                "Password Reset",
            ),
            ("# Story\n\n## S\nStatus: hidden\n", "unknown", "Story"),
            ("---\nstatus: \"done\"\ntitle: 'A: b'\n---\n# x\nStatus: review\n", "done", "A: b"),
            ("---\nowner: me\n---\n# Story: T\nStatus: review\n", "unknown", "T"),
            ("---\nno end\nStatus: done\n", "done", ""),
            ("# T\r\n\r\n**Status:** done\r\n", "done", "T"),
            ("# T\n**Status**: done\n", "done", "T"),
            ("STATUS: Done\n", "Done", ""),
            ("", "unknown", ""),
        ] {
            let read = read(text);
            assert_eq!((read.status.as_str(), read.title.as_str()), (status, title), "{text}");
        }
    }
}
