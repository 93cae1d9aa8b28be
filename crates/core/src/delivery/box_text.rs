//! Whether the text in an input box, a hook or a transcript is ours, given what agents change and screens hide.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Ours,
    Other,
}

/// Whether a box shows our text: all of it, the part that fits, or the agent's placeholder for a long paste.
pub fn in_box(shown: &str, ours: &str, is_mark: impl Fn(&str) -> bool) -> Shown {
    let unscrolled = without_arrows(shown);
    // A short piece of a long text could be a person's: the box shows as much as it has room for.
    let fills_box = shown.lines().count() >= 3 || unscrolled != shown;
    let shown = unscrolled.as_str();
    let is_part = |shown: &str, ours: &str| {
        !shown.is_empty() && ours.contains(shown) && (shown.len() * 2 >= ours.len() || fills_box)
    };
    // Terminals compose, split and drop characters beyond ASCII, but do not add any.
    let seen_alike =
        is_part(&ascii(shown), &ascii(ours)) && beyond_ascii(shown) <= beyond_ascii(ours);
    if is_part(&bare(shown), &bare(ours)) || seen_alike || is_mark(shown.trim()) {
        Shown::Ours
    } else {
        Shown::Other
    }
}

/// Without the arrows at the right edge with which codex marks that its box is scrolled.
fn without_arrows(shown: &str) -> String {
    let bare = |line: &str| match line.trim_end().strip_suffix(['↑', '↓']) {
        Some(text) if text.ends_with("  ") => text.trim_end().to_owned(),
        _ => line.to_owned(),
    };
    shown.split('\n').map(bare).collect::<Vec<_>>().join("\n")
}

/// Whether a hook or a transcript has our text. `left_out` bytes were cut off its end when it was stored.
pub fn is_same(told: &str, left_out: usize, ours: &str) -> bool {
    let fits = |told: &str, ours: &str| {
        if left_out == 0 { told == ours } else { !told.is_empty() && ours.starts_with(told) }
    };
    // claude composes accents.
    let composed = || {
        fits(&ascii(told), &ascii(ours)) && (1..=beyond_ascii(ours)).contains(&beyond_ascii(told))
    };
    fits(&bare(told), &bare(ours)) || composed()
}

/// Without white space, which boxes wrap and agents trim, and without what claude drops.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !is_zero_width(*c)).collect()
}

/// A letter with a combining accent may be shown as one character.
fn ascii(text: &str) -> String {
    let mut kept = String::new();
    for c in text.chars() {
        match c {
            '\u{300}'..='\u{36f}' => drop(kept.pop()),
            c if c.is_ascii_graphic() => kept.push(c),
            _ => {}
        }
    }
    kept
}

fn beyond_ascii(text: &str) -> usize {
    text.chars().filter(|c| !c.is_ascii() && !c.is_whitespace()).count()
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(shown: &str, ours: &str) -> Shown {
        in_box(shown, ours, |text| text == "[Pasted text #3 +31 lines]")
    }

    #[test]
    fn our_text_in_the_box_is_recognised() {
        assert_eq!(shown("hello world", "hello world"), Shown::Ours);
        assert_eq!(shown("hello\n  world", "hello world"), Shown::Ours, "wrapped");
        let long = format!("{} the last line", "a line of it\n".repeat(40));
        assert_eq!(shown("a line of it       ↑\nthe last line", &long), Shown::Ours, "scrolled");
        assert_eq!(shown("a line of mine     ↑\nthe last line", &long), Shown::Other);
        assert_eq!(shown("the last line", &long), Shown::Other, "may be a person's");
        assert_eq!(shown("go ↑", "go ↑"), Shown::Ours, "an arrow of ours");
        assert_eq!(shown("[Pasted text #3 +31 lines]", "x"), Shown::Ours);
        assert_eq!(shown("x [Pasted text #3 +31 lines]", "y"), Shown::Other, "with a draft");
        assert_eq!(shown("hello worldling", "hello world"), Shown::Other, "more than ours");
        assert_eq!(shown("fix", "please fix this and that and more"), Shown::Other);
        assert_eq!(
            shown("c\nd\ne", &"a\nb\nc\nd\ne\n".repeat(50)),
            Shown::Ours,
            "the part that fits"
        );
        assert_eq!(shown("", "x"), Shown::Other);
        assert_eq!(
            shown("a é 👩 b", "a e\u{301} 👩\u{200d}👧 b"),
            Shown::Ours,
            "composed and split"
        );
        assert_eq!(shown("ß a b", "a b"), Shown::Other, "another text with ours");
        assert_eq!(shown("日本", "日本"), Shown::Ours);
        assert_eq!(shown("日本語", "日本"), Shown::Other);
    }

    #[test]
    fn our_text_in_a_hook_or_transcript_is_recognised() {
        assert!(is_same("a    b", 0, "a\tb"));
        assert!(is_same("a b", 0, "a b  \n"));
        assert!(is_same("ab", 0, "a\u{200b}b"));
        assert!(!is_same("a b c", 0, "a b"));
        assert!(is_same("caf\u{e9} a", 0, "cafe\u{301} a"), "composed");
        assert!(!is_same("cafe a", 0, "cafe\u{301} a"));
        assert!(is_same("abc", 100, "abcdef"));
        assert!(!is_same("abx", 100, "abcdef"));
    }
}
