//! Short texts: cut, padded, and harmless to a terminal.

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The text on one line, with nothing that a terminal obeys or hides.
pub fn one_line(text: &str) -> String {
    let harmless = dogwatch_core::terminal::harmless(text);
    harmless.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rows of a table as lines: each column as wide as its widest text, with two blanks between them.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| width(&row[column])).max().unwrap_or_default()
    });
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, columns)| fit(cell, columns));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of the text that fits, with `…` where it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// A line that is being typed: blanks stay, a tab is four of them.
pub fn typed(line: &str) -> String {
    dogwatch_core::terminal::harmless(&line.replace('\t', "    ")).into_owned()
}

/// How many columns of a line are left out at its beginning, so that the cursor is in sight.
pub fn hidden(cursor: usize, room: usize) -> usize {
    cursor.saturating_sub(room.saturating_sub(1))
}

/// The text from that column on, with `…` in place of its first column if something is left out.
pub fn from_column(text: &str, column: usize) -> String {
    if column == 0 || text.is_empty() {
        return text.to_owned();
    }
    let mut at = 0;
    // One more is left out for the `…`.
    let rest = text.chars().skip_while(|c| {
        let is_left_out = at <= column;
        at += if is_left_out { c.width().unwrap_or(0) } else { 0 };
        is_left_out
    });
    let rest: String = rest.collect();
    // Half of a wide character is a blank.
    let gap = at.saturating_sub(column + 1);
    format!("…{}{rest}", " ".repeat(gap))
}

/// Cut, and filled up with blanks on the right.
pub fn fit(text: &str, columns: usize) -> String {
    let cut = cut(text, columns);
    let gap = columns.saturating_sub(width(&cut));
    cut + &" ".repeat(gap)
}

/// Filled up with blanks on the left.
pub fn right(text: &str, columns: usize) -> String {
    let cut = cut(text, columns);
    " ".repeat(columns.saturating_sub(width(&cut))) + &cut
}

/// How long ago: `31s`, `4m`, `2h`, `3d`.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        for (text, columns, want) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("abc", 0, ""),
            ("abc", 1, "…"),
        ] {
            assert_eq!(cut(text, columns), want, "{text} {columns}");
            assert_eq!(width(&fit(text, columns)), columns, "{text} {columns}");
            assert_eq!(width(&right(text, columns)), columns, "{text} {columns}");
        }
    }

    #[test]
    fn a_long_line_is_shown_around_its_cursor() {
        assert_eq!(typed("a\tb  c\u{1b}"), "a    b  c·");
        for (text, cursor, room, want) in [
            ("abc", 3, 10, "abc"),
            ("abcdef", 6, 7, "abcdef"),
            ("abcdef", 6, 4, "…ef"),
            ("abcdef", 0, 4, "abcdef"),
            ("日本語", 6, 4, "…語"),
            ("日本語", 6, 5, "… 語"),
            ("", 0, 0, ""),
        ] {
            let shown = from_column(text, hidden(cursor, room));
            assert_eq!(shown, want, "{text} {cursor} {room}");
            let at = cursor - hidden(cursor, room);
            assert!(at < room.max(1) && width(&shown) >= at, "{text} {cursor} {room}");
        }
    }

    #[test]
    fn ages_are_short() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        for (seconds, want) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3599, "59m"),
            (3600, "1h"),
            (200_000, "2d"),
            (-5, "0s"),
        ] {
            let since = Timestamp::from_second(1_000_000 - seconds).unwrap();
            assert_eq!(age(since, now), want);
        }
    }

    #[test]
    fn nothing_of_an_agent_moves_the_cursor() {
        assert_eq!(one_line("a\x1b[2Jb\nc\td"), "a·[2Jb c d");
    }

    #[test]
    fn columns_are_as_wide_as_their_texts() {
        let rows = [["TO", "AGE", "TEXT"], ["日本", "1m", "a"], ["x", "", ""]];
        let rows = rows.map(|row| row.map(ToOwned::to_owned));
        assert_eq!(columns(&rows), ["TO    AGE  TEXT", "日本  1m   a", "x"]);
    }
}
