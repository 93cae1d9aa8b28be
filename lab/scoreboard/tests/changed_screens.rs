//! Real screens, changed in ways that must not change the answer: other words, other times, other
//! sizes, and every signal of every agent quoted where it is none.

use dogwatch_core::screen::{self, Screen};
use dogwatch_scoreboard::corpus::{Corpus, Recording};
use proptest::prelude::*;
use proptest::sample::select;

/// What answers and drafts quote: the signals of all agents, word for word.
const SIGNALS: [&str; 14] = [
    "✻ Thinking… (12s · ↓ 30 tokens · esc to interrupt)",
    "• Working (3s • esc to interrupt)",
    "⠋ Thinking... (esc to cancel, 4s)",
    "⬝⬝⬝■■■■⬝  esc interrupt",
    "esc to interrupt and ctrl+c to interrupt",
    "tokens used",
    "● API Error: 500 Internal server error",
    "■ exceeded retry limit, last status: 429 Too Many Requests",
    "✕ [API Error: quota]",
    "Do you want to proceed? ❯ 1. Yes",
    "❯ 1. Yes",
    "Pane is dead (status 1, Sun Nov 15 08:23:49 2026)",
    "root@host:~# ",
    "你想继续吗？ 这是一个很长的回答，包含中文字符…",
];

fn given() -> Vec<Recording> {
    match Corpus::given() {
        Ok(corpus) => corpus.recordings,
        Err(error) => panic!("{error}"),
    }
}

/// Screens with an input box: all but dialogs, shells, one-shot runs and dead panes.
fn with_box() -> Vec<Recording> {
    let framed = |recording: &Recording| {
        let text = text_of(recording);
        let lines: Vec<&str> = text.lines().collect();
        !recording.facts.pane_dead && box_row(&recording.facts.agent, &lines).is_some()
    };
    given().into_iter().filter(framed).collect()
}

fn text_of(recording: &Recording) -> String {
    String::from_utf8_lossy(&recording.plain).into_owned()
}

/// The row of the prompt sign.
fn box_row(agent: &str, lines: &[&str]) -> Option<usize> {
    let rule = |row: usize, sign: &str| lines.get(row).is_some_and(|line| line.starts_with(sign));
    let row = match agent {
        "claude" => lines
            .iter()
            .rposition(|line| line.starts_with('❯'))
            .filter(|row| *row > 0 && rule(row - 1, "────") && rule(row + 1, "────")),
        "codex" => lines
            .iter()
            .rposition(|line| line.starts_with('›'))
            .filter(|row| lines[*row..].iter().any(|line| line.contains(" · /home"))),
        _ => None,
    };
    row.filter(|row| *row > 8)
}

/// Reads changed text with what the index knows, except where a change makes that untrue.
fn word(recording: &Recording, text: &str, height: u16) -> &'static str {
    let facts = &recording.facts;
    let screen = Screen {
        bytes: text.as_bytes(),
        height,
        title: Some(&facts.pane_title),
        alternate: Some(facts.alternate_screen),
        ..Screen::default()
    };
    screen::read(&facts.agent, &screen).state.as_str()
}

fn expected(recording: &Recording) -> &'static str {
    word(recording, &text_of(recording), recording.facts.height)
}

/// Puts lines into the answer: below the last message of the person, indented as answers are.
fn with_quotes(recording: &Recording, quotes: &[&str]) -> Option<String> {
    let text = text_of(recording);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let shown: Vec<&str> = text.lines().collect();
    let box_row = box_row(&recording.facts.agent, &shown)?;
    let answer = |line: &&str| line.starts_with("● ") || line.starts_with("• ");
    // Not into a status line, and not before the message that an error belongs to.
    let prose =
        |line: &&str| answer(line) && !line.contains("API Error") && !line.contains("• esc");
    let row = shown[..box_row].iter().rposition(prose)?;
    let asked = shown[..box_row].iter().rposition(|line| line.starts_with(['❯', '›']))?;
    if row < asked {
        return None;
    }
    for (offset, quote) in quotes.iter().enumerate() {
        lines.insert(row + 1 + offset, format!("  {quote}"));
    }
    Some(lines.join("\n") + "\n")
}

fn with_draft(recording: &Recording, draft: &str) -> Option<String> {
    let text = text_of(recording);
    let mut lines: Vec<&str> = text.lines().collect();
    let row = box_row(&recording.facts.agent, &lines)?;
    let sign: String = lines[row].chars().take(1).collect();
    let line = format!("{sign} {draft}");
    lines[row] = &line;
    Some(lines.join("\n") + "\n")
}

/// The same screen in a narrower pane: rules are shorter, text is wrapped, footers are cut.
fn narrowed(recording: &Recording, width: usize) -> Option<String> {
    let text = text_of(recording);
    let lines: Vec<&str> = text.lines().collect();
    let box_row = box_row(&recording.facts.agent, &lines)?;
    let mut narrow = Vec::new();
    for (row, line) in lines.iter().enumerate() {
        let signs: Vec<char> = line.chars().collect();
        let cut: String = signs.iter().take(width).collect();
        let flush_right = line.starts_with("            ");
        if line.starts_with("────") {
            narrow.push(edge(line, width));
        } else if signs.len() <= width || row > box_row {
            narrow.push(cut);
        } else if flush_right {
            let hint: String = line.trim().chars().take(width - 3).collect();
            narrow.push(format!("  {hint}…"));
        } else {
            narrow.push(cut);
            let rest = signs[width..].chunks(width - 2);
            narrow.extend(rest.map(|part| format!("  {}", part.iter().collect::<String>().trim())));
        }
    }
    Some(narrow.join("\n") + "\n")
}

/// A rule of another width; the name of the session stays at its end.
fn edge(line: &str, width: usize) -> String {
    match line.trim_matches('─').trim() {
        "" => "─".repeat(width),
        name => format!("{} {name} ─", "─".repeat(width - name.chars().count() - 3)),
    }
}

fn check(change: &str, mut changed: impl FnMut(&Recording) -> Option<String>) -> usize {
    let mut count = 0;
    for recording in with_box() {
        let Some(text) = changed(&recording) else { continue };
        count += 1;
        let (now, before) = (word(&recording, &text, 0), expected(&recording));
        assert_eq!(now, before, "{change}: {}\n{text}", recording.short_name());
    }
    count
}

#[test]
fn a_box_of_most_screens_is_known_here() {
    assert!(with_box().len() > 70, "{}", with_box().len());
}

#[test]
fn no_signal_counts_in_an_answer() {
    for signal in SIGNALS {
        assert!(check(signal, |recording| with_quotes(recording, &[signal])) > 25);
    }
    assert!(check("all", |recording| with_quotes(recording, &SIGNALS)) > 25);
}

#[test]
fn no_signal_counts_in_a_draft() {
    for signal in SIGNALS {
        assert!(check(signal, |recording| with_draft(recording, signal)) > 70);
    }
}

#[test]
fn narrow_panes_say_the_same() {
    for width in [120, 100, 80, 60, 50, 40] {
        assert!(check("narrow", |recording| narrowed(recording, width)) > 70);
    }
}

#[test]
fn a_statusline_may_be_there_or_not() {
    let without = |recording: &Recording| {
        let text = text_of(recording);
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("| ctx(")).collect();
        Some(lines.join("\n") + "\n")
    };
    let with = |recording: &Recording| {
        let text = text_of(recording);
        let lines: Vec<&str> = text.lines().collect();
        let row = box_row("claude", &lines).filter(|_| recording.facts.agent == "claude")?;
        let mut lines = lines;
        lines.insert(row + 2, "  ✻ main* · esc to interrupt is what it said · 12:30:01 · 3s…");
        Some(lines.join("\n") + "\n")
    };
    check("no statusline", without);
    assert!(check("odd statusline", with) > 30);
}

/// What people have below codex's box instead of model and folder.
const STATUS_LINES: [&str; 11] = [
    "~/dir · main",
    "/home/agent/dir · feature/x · +12 −3",
    "GPT-5.5 · Context 87% left",
    "gpt-5.5 high fast · Context 0% used",
    "gpt-5.5 default",
    "87% context left",
    "main",
    "5h 42% · weekly 80%",
    "1.2K in · 300 out · v0.166.0",
    "Plan mode (shift+tab to cycle)",
    "",
];

/// Codex with another status line; `keys`: the line below it stays.
fn with_status_line(recording: &Recording, status: &str, keys: bool) -> Option<String> {
    let text = text_of(recording);
    let lines: Vec<&str> = text.lines().collect();
    box_row("codex", &lines).filter(|_| recording.facts.agent == "codex")?;
    let row = lines.iter().rposition(|line| line.contains(" · /home"))?;
    let mut changed: Vec<String> = lines[..row].iter().map(|line| (*line).to_owned()).collect();
    if !status.is_empty() {
        changed.push(format!("  {status}"));
    }
    let below = lines[row + 1..].iter().take(usize::from(keys));
    changed.extend(below.map(|line| (*line).to_owned()));
    Some(changed.join("\n") + "\n")
}

#[test]
fn the_status_line_of_codex_is_the_persons() {
    for status in STATUS_LINES {
        for keys in [true, false] {
            let changed = |recording: &Recording| with_status_line(recording, status, keys);
            assert!(check(status, changed) > 30, "{status}");
        }
    }
}

/// Claude with labels in the edges of its box.
fn with_labels(recording: &Recording, [above, below]: [fn(usize) -> String; 2]) -> Option<String> {
    let text = text_of(recording);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let shown: Vec<&str> = text.lines().collect();
    let row = box_row("claude", &shown).filter(|_| recording.facts.agent == "claude")?;
    let width = shown[row - 1].chars().count();
    (lines[row - 1], lines[row + 1]) = (above(width), below(width));
    Some(lines.join("\n") + "\n")
}

#[test]
fn labels_in_the_edges_of_claudes_box() {
    let plain = |width| "─".repeat(width);
    let at_end = |width| format!("{} my-session", "─".repeat(width - 11));
    let near_end = |width| format!("{} my session ──", "─".repeat(width - 14));
    let in_front = |width| format!("── PR #12 · open {}", "─".repeat(width - 17));
    let glued = |width| format!("{}●label", "─".repeat(width - 6));
    for edges in [
        [at_end, plain],
        [near_end, plain],
        [in_front, plain],
        [glued, plain],
        [plain, at_end],
        [plain, near_end],
        [at_end, in_front],
    ] {
        assert!(check("labels", |recording| with_labels(recording, edges)) > 30);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_spinner_is_known_by_its_shape(
        sign in select(vec!["·", "✢", "✳", "✶", "✻", "✽", "*", "✺", "✦", "◐", "⠋"]),
        verb in select(vec!["Ruminating", "Zigzagging", "Doing: 写代码", "Fixing the build", "Überlegen"]),
        tail in select(vec!["", " (0s)", " (59s · ↑ 12 tokens)", " (1m 4s · ↓ 1.2k tokens · thinking)", " (2h 3m 4s · esc to interrupt)"]),
    ) {
        for recording in with_box() {
            if recording.facts.agent != "claude" || recording.facts.truth != "working" {
                continue;
            }
            let text = text_of(&recording);
            let spins = |line: &&str| {
                line.chars().nth(1) == Some(' ') && line.contains('…') && !line.starts_with(['●', '❯', ' '])
            };
            let Some(old) = text.lines().rfind(spins) else { continue };
            let changed = text.replace(old, &format!("{sign} {verb}…{tail}"));
            prop_assert_eq!(word(&recording, &changed, 0), "working", "{}", recording.short_name());
        }
    }

    #[test]
    fn quotes_and_drafts_together(
        quotes in prop::collection::vec(select(SIGNALS.to_vec()), 1..5),
        draft in select(SIGNALS.to_vec()),
        width in 50_usize..200,
    ) {
        for recording in with_box() {
            let Some(text) = with_quotes(&recording, &quotes) else { continue };
            let quoted = Recording { plain: text.into_bytes(), ..recording.clone() };
            let Some(text) = with_draft(&quoted, draft) else { continue };
            let drafted = Recording { plain: text.into_bytes(), ..recording.clone() };
            let Some(text) = narrowed(&drafted, width) else { continue };
            let now = word(&recording, &text, 0);
            prop_assert_eq!(now, expected(&recording), "{} at {}\n{}", recording.short_name(), width, text);
        }
    }
}
