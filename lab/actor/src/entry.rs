//! The input box: keys become an answer, and an answer selects the next step.

use std::mem;

use crate::keys::Key;
use crate::scenario::{Input, Label, Want};

/// Text typed and not yet submitted. It outlives the step that was waiting when that timed out.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    text: String,
    enters_to_lose: u32,
}

/// What a key amounts to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The answer is not complete; this would be shown.
    More {
        echo: String,
    },
    Answer(String),
}

/// Where an answer leads.
#[derive(Debug)]
pub(crate) enum Verdict<'a> {
    Next,
    Goto(&'a Label),
    /// It is not accepted: keep waiting.
    Drop,
}

impl Heard {
    fn silent() -> Self {
        Self::More { echo: String::new() }
    }
}

impl Entry {
    /// Begins to wait; returns what is to be shown of a box that was filled beforehand.
    pub(crate) fn begin(&mut self, input: &Input) -> String {
        self.enters_to_lose = input.swallow_enters;
        if !self.text.is_empty() {
            return String::new();
        }
        self.text.clone_from(&input.prefill);
        input.prefill.clone()
    }

    pub(crate) fn hear(&mut self, key: &Key, input: &Input) -> Heard {
        if *key == Key::Enter && self.enters_to_lose > 0 {
            self.enters_to_lose -= 1;
            return Heard::silent();
        }
        if input.want == Want::Key {
            return Heard::Answer(key.name());
        }
        let echo = match key {
            Key::Enter => return self.submit(input),
            Key::Char(c) => self.add(&c.to_string()),
            Key::Tab => self.add("\t"),
            Key::Paste(text) => {
                self.add(text);
                paste_echo(text, input)
            }
            Key::Backspace => self.text.pop().map_or_else(String::new, |_| erase(1)),
            Key::Ctrl('u') => erase(mem::take(&mut self.text).chars().count()),
            Key::Escape | Key::Ctrl(_) | Key::Special(_) | Key::Unknown => String::new(),
        };
        if self.is_complete(&input.want) {
            return Heard::Answer(mem::take(&mut self.text));
        }
        Heard::More { echo }
    }

    fn add(&mut self, text: &str) -> String {
        self.text.push_str(text);
        text.to_owned()
    }

    /// Enter completes a line; for the other wants it only empties the box.
    fn submit(&mut self, input: &Input) -> Heard {
        let text = mem::take(&mut self.text);
        match input.want {
            Want::Line => Heard::Answer(text),
            Want::Key | Want::Text(_) | Want::Contains(_) => Heard::silent(),
        }
    }

    fn is_complete(&self, want: &Want) -> bool {
        match want {
            Want::Text(wanted) => self.text == *wanted,
            Want::Contains(part) => self.text.contains(part.as_str()),
            Want::Line | Want::Key => false,
        }
    }
}

/// Where this answer leads in this step.
pub(crate) fn judge<'a>(input: &'a Input, answer: &str) -> Verdict<'a> {
    if input.on.is_empty() && input.otherwise.is_none() {
        return Verdict::Next;
    }
    let reply = input.on.iter().find(|reply| reply.input == answer);
    match reply.map(|reply| &reply.goto).or(input.otherwise.as_ref()) {
        Some(label) => Verdict::Goto(label),
        None => Verdict::Drop,
    }
}

fn paste_echo(text: &str, input: &Input) -> String {
    let Some(shown_as) = &input.paste_shown_as else {
        return text.to_owned();
    };
    shown_as
        .replace("{lines}", &text.lines().count().to_string())
        .replace("{chars}", &text.chars().count().to_string())
}

/// Wipes characters left of the cursor; one column each, which is wrong for wide ones.
fn erase(characters: usize) -> String {
    "\x08 \x08".repeat(characters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Decoder;
    use crate::scenario::{Scenario, Step};

    fn input(toml: &str) -> Input {
        let text = format!("[[step]]\nlabel = \"a\"\n[[step]]\n[step.input]\n{toml}");
        let scenario = Scenario::parse(&text, "").expect("a scenario");
        match &scenario.steps[1] {
            Step::Input(input) => input.as_ref().clone(),
            other => panic!("{other:?}"),
        }
    }

    /// All answers that the bytes give, and all that is shown.
    fn play(input: &Input, bytes: &str) -> (Vec<String>, String) {
        let mut entry = Entry::default();
        let mut shown = entry.begin(input);
        let mut answers = Vec::new();
        for key in Decoder::default().feed(bytes.as_bytes()) {
            match entry.hear(&key, input) {
                Heard::More { echo } => shown.push_str(&echo),
                Heard::Answer(answer) => answers.push(answer),
            }
        }
        (answers, shown)
    }

    #[test]
    fn bytes_become_answers() {
        let line = "want = \"line\"";
        let swallow = "want = \"line\"\nswallow_enters = 2";
        let cases: [(&str, &str, &[&str], &str); 13] = [
            (line, "hi", &[], "hi"),
            (line, "hi\rthere\r", &["hi", "there"], "hithere"),
            (line, "\r", &[""], ""),
            (line, "ab\x7fc\r", &["ac"], "ab\x08 \x08c"),
            (line, "old\x15new\r", &["new"], "old\x08 \x08\x08 \x08\x08 \x08new"),
            (line, "\x1b[200~a\rb\x1b[201~\r", &["a\nb"], "a\nb"),
            (swallow, "go\r\r", &[], "go"),
            (swallow, "go\r\r\r", &["go"], "go"),
            ("want = \"key\"", "1\x1b[A\r", &["1", "up", "enter"], ""),
            ("want = \"key\"\nswallow_enters = 1", "\r\r", &["enter"], ""),
            ("want = { text = \"yes\" }", "no\ryes", &["yes"], "noye"),
            ("want = { contains = \"ok\" }", "it is ok", &["it is ok"], "it is o"),
            ("want = \"line\"\nprefill = \"old \"", "new\r", &["old new"], "old new"),
        ];
        for (toml, bytes, answers, shown) in cases {
            let (got, got_shown) = play(&input(toml), bytes);
            assert_eq!(got, answers, "{toml}: {bytes:?}");
            assert_eq!(got_shown, shown, "{toml}: {bytes:?}");
        }
    }

    #[test]
    fn a_paste_can_be_shown_as_a_note() {
        let input = input("want = \"line\"\npaste_shown_as = \"[{lines} lines, {chars}]\"");
        let (answers, shown) = play(&input, "\x1b[200~a\nü\x1b[201~\r");
        assert_eq!(answers, ["a\nü"]);
        assert_eq!(shown, "[2 lines, 3]");
    }

    #[test]
    fn typed_text_survives_a_new_wait() {
        let input = input("want = \"line\"\nprefill = \"pre\"");
        let mut entry = Entry::default();
        assert_eq!(entry.begin(&input), "pre");
        assert_eq!(entry.begin(&input), "");
        assert_eq!(entry.hear(&Key::Enter, &input), Heard::Answer("pre".to_owned()));
    }

    #[test]
    fn answers_lead_somewhere() {
        let on = "on = [{ input = \"y\", goto = \"a\" }]";
        let cases = [
            (String::new(), "y", "next"),
            (on.to_owned(), "y", "goto a"),
            (on.to_owned(), "n", "drop"),
            (format!("{on}\nelse = \"a\""), "n", "goto a"),
            ("else = \"a\"".to_owned(), "n", "goto a"),
        ];
        for (toml, answer, expected) in cases {
            let input = input(&format!("want = \"line\"\n{toml}"));
            let verdict = match judge(&input, answer) {
                Verdict::Next => "next".to_owned(),
                Verdict::Goto(label) => format!("goto {}", label.get_ref()),
                Verdict::Drop => "drop".to_owned(),
            };
            assert_eq!(verdict, expected, "{toml}: {answer}");
        }
    }
}
