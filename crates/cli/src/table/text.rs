//! Texts brought to a width: broken between words, shortened from the left, or cut.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text in one line.
pub(super) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.len() < 2 { text.trim_end().to_owned() } else { lines.join(" ") }
}

/// Lines of at most that width, broken between words; a word that is too long is broken where it must be.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        if line.width() + gap + word.width() <= width {
            line.push_str(&" "[..gap]);
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if !line.is_empty() && line.width() + c.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// The end of a path, which says the most, with a mark that there was more; whole parts if that is possible.
pub(super) fn shorten_path(path: &str, width: usize) -> String {
    if path.width() <= width {
        return path.to_owned();
    }
    let room = width.saturating_sub(1);
    let parts = path.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| &path[at..]);
    let part = parts.filter(|part| part.len() > 1).find(|part| part.width() <= room);
    let any = || path.char_indices().map(|(at, _)| &path[at..]).find(|part| part.width() <= room);
    format!("…{}", part.or_else(any).unwrap_or_default())
}

/// The text, or as much of it as fits with a mark that there was more. New lines end it.
pub(super) fn cut(text: &str, width: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.width() <= width && line.len() == text.len() {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    let mut kept: String = line.chars().take_while(fits).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping() {
        for (text, width, want) in [
            ("", 5, &[""][..]),
            ("one two", 7, &["one two"]),
            ("one two", 6, &["one", "two"]),
            ("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]),
            ("日本語 x", 4, &["日本", "語 x"]),
        ] {
            assert_eq!(wrap(text, width), want, "{text:?} in {width}");
        }
    }

    #[test]
    fn paths() {
        for (path, width, want) in [
            ("~/p", 8, "~/p"),
            ("/home/me/projects/api", 14, "…/projects/api"),
            ("/home/me/projects/api", 13, "…/api"),
            ("/home/me/a-very-long-name", 8, "…ng-name"),
        ] {
            assert_eq!(shorten_path(path, width), want, "{path:?} in {width}");
        }
    }
}
