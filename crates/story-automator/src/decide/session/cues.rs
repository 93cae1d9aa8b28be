//! What a screen shows where no better source exists: the current task, todos, the end of a turn.
//!
//! A screen is the weakest source. These cues count only for sessions whose agent has no other source, and for texts
//! that callers display.

/// Words that show that an agent is busy.
const BUSY: [&str; 10] = [
    "ctrl+c to interrupt",
    "musing",
    "thinking",
    "working",
    "running",
    "loading",
    "beaming",
    "galloping",
    "razzmatazzing",
    "creating",
];
const BUSY_GLYPHS: [char; 3] = ['⏺', '✻', '·'];
const SPINNER: [char; 15] =
    ['·', '✳', '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏', '✶', '✻', '⏺'];
const END_GLYPHS: [char; 5] = ['✻', '✳', '✶', '✢', '✽'];
const LONGEST_LABEL: usize = 80;
/// Rows from the bottom that are searched for a prompt.
const PROMPT_ROWS: usize = 8;

/// Ticked boxes, and all boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Todos {
    pub done: u32,
    pub total: u32,
}

impl Todos {
    /// For a finished session: at least one of one.
    #[must_use]
    pub fn at_least_one(self) -> Self {
        Self { done: self.done.max(1), total: self.total.max(1) }
    }
}

/// The text without the lines of input boxes.
pub fn without_boxes(text: &str) -> String {
    let mut is_open = false;
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        match line.trim_start().chars().next() {
            Some('╭' | '┌') => is_open = true,
            Some('╰' | '└') => is_open = false,
            Some('│') if is_open => {}
            _ => {
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    kept
}

pub fn todos(text: &str) -> Todos {
    let count = |mark: char| u32::try_from(text.matches(mark).count()).unwrap_or(u32::MAX);
    let done = count('☒');
    Todos { done, total: done.saturating_add(count('☐')) }
}

/// The current task: the last line that shows one.
pub fn label(text: &str) -> Option<String> {
    // claude's footer also contains a dot, and shows its mode.
    let is_footer = |line: &str| line.trim_start().starts_with('⏵');
    let line = text.lines().rfind(|line| is_busy_line(line) && !is_footer(line))?;
    let label = as_label(line);
    (!label.is_empty()).then_some(label)
}

/// A line as a label: without spinners and hints, fit for one column of a table.
pub fn as_label(line: &str) -> String {
    let line: String = line.chars().filter(|c| !SPINNER.contains(c)).collect();
    let hint = line.to_ascii_lowercase().find("(ctrl+c").unwrap_or(line.len());
    let plain = |c: char| if c == ',' || c.is_control() { ' ' } else { c };
    line[..hint].trim().chars().map(plain).take(LONGEST_LABEL).collect::<String>().trim().to_owned()
}

pub fn is_busy(text: &str) -> bool {
    text.lines().any(is_busy_line)
}

fn is_busy_line(line: &str) -> bool {
    let small = line.to_lowercase();
    BUSY.iter().any(|word| small.contains(word)) || line.contains(BUSY_GLYPHS)
}

/// Whether the screen ends with the mark of a finished turn. With its glyph it counts unless a busy mark is below it; without,
/// it might be any text, and nothing except a prompt may be below.
pub fn shows_an_end(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let Some((at, has_glyph)) =
        lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, end_mark(line)?)))
    else {
        return false;
    };
    let below = &lines[at + 1..];
    if has_glyph {
        !below.iter().any(|line| is_busy_line(line))
    } else {
        below.iter().all(|line| is_blank_or_prompt(line))
    }
}

/// Whether the line is the mark of a finished turn, `✻ Cooked for 3m 12s`, and whether it has its glyph.
fn end_mark(line: &str) -> Option<bool> {
    let line = line.trim();
    let plain = line.trim_start_matches(END_GLYPHS);
    let has_glyph = plain.len() < line.len();
    let (word, rest) = plain.trim_start().split_once(" for ")?;
    let is_past = word == "Done" || word.ends_with("ed");
    let is_word = word.starts_with(char::is_uppercase) && word.chars().all(is_of_a_word);
    let mut words = rest.split(' ').skip_while(|word| is_duration(word));
    let has_duration = rest.split(' ').next().is_some_and(is_duration);
    let is_all = words.next().is_none();
    (is_past && is_word && has_duration && (has_glyph || is_all)).then_some(has_glyph)
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphabetic() || c == '-'
}

/// `3m`, `12s`, `1.5s`.
fn is_duration(word: &str) -> bool {
    let number = word.strip_suffix(['d', 'h', 'm', 's']);
    number.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()) && n.parse::<f64>().is_ok())
}

fn is_blank_or_prompt(line: &str) -> bool {
    let line = line.trim();
    line.chars().all(|c| matches!(c, '─' | '━' | ' '))
        || line.starts_with('❯')
        || line.ends_with('❯')
}

/// Whether a prompt is among the last non-empty rows.
pub fn shows_a_prompt(text: &str) -> bool {
    let rows = text.lines().rev().filter(|line| !line.trim().is_empty());
    rows.take(PROMPT_ROWS).enumerate().any(|(from_below, line)| {
        // A shell's prompt sign may end any other line too.
        ends_in_agent_prompt(line) || (from_below == 0 && ends_in_shell_prompt(line))
    })
}

/// Whether the last non-empty row is a prompt.
pub fn ends_in_a_prompt(text: &str) -> bool {
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    last.is_some_and(|line| ends_in_agent_prompt(line) || ends_in_shell_prompt(line))
}

fn ends_in_agent_prompt(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with('❯') || line.rsplit_once('❯').is_some_and(|(_, rest)| is_time(rest.trim()))
}

fn ends_in_shell_prompt(line: &str) -> bool {
    let line = line.trim_end();
    let is_percentage =
        || line.strip_suffix('%').is_some_and(|rest| rest.ends_with(char::is_numeric));
    line.ends_with(['$', '#', '%']) && !is_percentage()
}

fn is_time(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 3
        && parts.iter().all(|part| (1..=2).contains(&part.len()) && part.parse::<u8>().is_ok())
}

/// The time on a status line such as `folder | ctx(12%) | 10:00:00`: the last one on the screen.
pub fn clock(text: &str) -> Option<String> {
    text.lines().rev().find_map(|line| {
        line.rmatch_indices('|').find_map(|(at, _)| {
            let time = line[at + 1..].trim_start().get(..8)?;
            let is_whole = time.len() == 8 && is_time(time);
            is_whole.then(|| time.to_owned())
        })
    })
}

#[cfg(test)]
#[path = "cues_tests.rs"]
mod tests;
