//! Parses the words of a client as tmux does.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// One command with its options. A repeated option keeps all values.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) name: String,
    pub(super) options: BTreeMap<char, Vec<String>>,
    pub(super) operands: Vec<String>,
}

impl Parsed {
    pub(super) fn has(&self, letter: char) -> bool {
        self.options.contains_key(&letter)
    }

    pub(super) fn value(&self, letter: char) -> Option<&str> {
        self.options.get(&letter)?.last().map(String::as_str)
    }

    pub(super) fn values(&self, letter: char) -> impl Iterator<Item = &str> {
        self.options.get(&letter).into_iter().flatten().map(String::as_str)
    }
}

/// Commands are separated by a word `;`, or by one that ends in an unescaped `;`.
pub(super) fn commands(words: &[OsString]) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    for word in words {
        let word = word.to_string_lossy().into_owned();
        if word == ";" {
            commands.push(Vec::new());
        } else if let Some(start) = word.strip_suffix("\\;") {
            last(&mut commands).push(format!("{start};"));
        } else if let Some(start) = word.strip_suffix(';') {
            last(&mut commands).push(start.to_owned());
            commands.push(Vec::new());
        } else {
            last(&mut commands).push(word);
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// The commands in a text of tmux's command language, as far as dogwatch writes it: words, words in double quotes with
/// backslashes and octal numbers, and ` ; ` between commands.
pub(super) fn block(text: &str) -> Vec<Vec<String>> {
    let (mut commands, mut word, mut is_word) = (vec![Vec::new()], Vec::new(), false);
    let mut bytes = text.bytes().peekable();
    let mut is_quoted = false;
    let end = |commands: &mut Vec<Vec<String>>, word: &mut Vec<u8>, is_word: &mut bool| {
        if std::mem::take(is_word) {
            let text = String::from_utf8_lossy(&std::mem::take(word)).into_owned();
            last(commands).push(text);
        }
    };
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => (is_quoted, is_word) = (!is_quoted, true),
            b'\\' if is_quoted => {
                let is_octal = bytes.peek().is_some_and(u8::is_ascii_digit);
                let digits: Vec<u8> = bytes.by_ref().take(if is_octal { 3 } else { 1 }).collect();
                let octal = |sum: u8, digit: &u8| (sum << 3) | (digit & 7);
                word.push(if is_octal { digits.iter().fold(0, octal) } else { digits[0] });
            }
            b' ' if !is_quoted => end(&mut commands, &mut word, &mut is_word),
            b';' if !is_quoted => {
                end(&mut commands, &mut word, &mut is_word);
                commands.push(Vec::new());
            }
            other => {
                word.push(other);
                is_word = true;
            }
        }
    }
    end(&mut commands, &mut word, &mut is_word);
    commands.retain(|command| !command.is_empty());
    commands
}

fn last(commands: &mut Vec<Vec<String>>) -> &mut Vec<String> {
    if commands.is_empty() {
        commands.push(Vec::new());
    }
    let at = commands.len() - 1;
    &mut commands[at]
}

/// The options of a command that take a value. The others are flags.
fn valued(name: &str) -> &'static str {
    match name {
        "new-session" => "snxycteFf",
        "new-window" => "nceFt",
        "split-window" => "tceFl",
        "list-panes" | "list-sessions" | "list-clients" | "list-windows" => "Fft",
        "display-message" => "tFcd",
        "capture-pane" => "SEtb",
        "send-keys" => "tNc",
        "load-buffer" | "set-buffer" | "delete-buffer" | "show-buffer" => "bnt",
        "paste-buffer" => "bst",
        "select-pane" => "tTP",
        "resize-window" | "resize-pane" => "txy",
        "swap-pane" | "move-window" | "join-pane" | "break-pane" => "stnF",
        _ => "t",
    }
}

/// Reads options until the first word that is not one, like getopt.
pub(super) fn parse(words: &[String]) -> Parsed {
    let mut parsed = Parsed { name: words[0].clone(), ..Parsed::default() };
    let takes_value = valued(&parsed.name);
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            parsed.operands.extend(rest.by_ref().cloned());
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            for (at, letter) in letters.char_indices() {
                let values = parsed.options.entry(letter).or_default();
                if takes_value.contains(letter) {
                    let here = &word[1 + at + letter.len_utf8()..];
                    let value =
                        if here.is_empty() { rest.next().cloned() } else { Some(here.to_owned()) };
                    values.extend(value);
                    break;
                }
            }
        } else {
            parsed.operands.push(word.clone());
            parsed.operands.extend(rest.by_ref().cloned());
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &[&str]) -> Vec<Vec<String>> {
        commands(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn separators() {
        assert_eq!(split(&["a", ";", "b", "c"]), [vec!["a"], vec!["b", "c"]]);
        assert_eq!(split(&["a", "x\\;"]), [vec!["a", "x;"]]);
        assert_eq!(split(&["a", "x;", "b"]), [vec!["a", "x"], vec!["b"]]);
        assert!(split(&[]).is_empty());
    }

    #[test]
    fn commands_in_a_text() {
        use crate::{Command, quote};
        let words = ["a ; b", "ü\n\\\"$x", "", "-p"];
        let print = Command::new("display-message").args(words);
        let text = quote::block(&[print, Command::new("list-sessions")]);
        let expected =
            [vec!["display-message", "--", "a ; b", "ü\n\\\"$x", "", "-p"], vec!["list-sessions"]];
        assert_eq!(block(text.to_str().unwrap()), expected);
        assert!(block("").is_empty());
    }

    #[test]
    fn options_flags_and_operands() {
        let words = ["capture-pane", "-S", "-20", "-pet%3"].map(str::to_owned);
        let parsed = parse(&words);
        assert!(parsed.has('p') && parsed.has('e') && !parsed.has('J'));
        assert_eq!((parsed.value('S'), parsed.value('t')), (Some("-20"), Some("%3")));
        let words = ["send-keys", "-l", "-t", "%1", "--", "-x", "y"].map(str::to_owned);
        let parsed = parse(&words);
        assert_eq!(parsed.operands, ["-x", "y"]);
        let words = ["new-session", "-d", "-e", "A=1", "-e", "B=2", "--", "cat"].map(str::to_owned);
        assert_eq!(parse(&words).values('e').collect::<Vec<_>>(), ["A=1", "B=2"]);
    }
}
