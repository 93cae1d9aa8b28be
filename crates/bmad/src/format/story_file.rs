//! `Status:` and title of a story's file, in its front matter if it has one, else
//! above its first section.

use super::front_matter::{self, unquoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryFile {
    /// `unknown` if the file has none.
    pub status: String,
    pub title: String,
}

pub fn read(text: &str) -> StoryFile {
    let (front, body) = front_matter::split(text);
    let head: Vec<&str> = match front {
        Some(front) => front.lines().map(front_matter::without_comment).collect(),
        None => above_first_section(body.lines()),
    };
    let status = field(&head, "status").filter(|status| !status.is_empty());
    let title = field(&head, "title").filter(|title| !title.is_empty()).or_else(|| heading(body));
    StoryFile {
        status: status.unwrap_or_else(|| "unknown".to_owned()),
        title: title.unwrap_or_default(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_title_are_read() {
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
            ("---\nstatus: done # x\n---\n", "done", ""),
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
