//! The part of a Markdown file between its first two `---` lines, in state documents, plans and stories.
//!
//! Read line by line and not as YAML: values are often written without quoting, and a bad one
//! must not hide the others. A block below a key is read as YAML.

use serde_json::Value;

use super::yaml;

/// The front matter, and the rest; everything is the rest if there is none.
pub fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else { return (None, text) };
    let mut at = first.len();
    for line in lines {
        if is_fence(line) {
            return (Some(&text[first.len()..at]), &text[at + line.len()..]);
        }
        at += line.len();
    }
    (None, text)
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The value of an unindented key, unquoted; empty values are `None`.
pub fn text(front: &str, key: &str) -> Option<String> {
    let value = without_comment(raw(front, key)?).trim();
    // dogwatch writes JSON strings; people may quote differently.
    let json = serde_json::from_str::<String>(value).ok();
    Some(json.unwrap_or_else(|| unquoted(value).to_owned()))
}

/// A list: `["1.1", "1.2"]` on the line, or `- 1.1` below it.
pub fn list(front: &str, key: &str) -> Option<Vec<String>> {
    let value = without_comment(raw(front, key)?).trim();
    if value.is_empty() {
        let block = block(front, key);
        let items = block
            .lines()
            .filter_map(|line| without_comment(line.trim()).trim().strip_prefix("- "))
            .map(|item| unquoted(item.trim()).to_owned());
        return Some(items.collect());
    }
    if let Ok(Value::Array(items)) = serde_json::from_str(value) {
        let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        // Numbers are taken from the text: 1.10 is not 1.1.
        if items.iter().all(|item| !item.is_number()) {
            return Some(items.iter().map(text).collect());
        }
    }
    let inner = value.strip_prefix('[')?.strip_suffix(']')?;
    let items = inner.split(',').map(|item| unquoted(item.trim()).to_owned());
    Some(items.filter(|item| !item.is_empty()).collect())
}

/// The block below a key, or the value on its line, as JSON. `None` if the key is missing.
pub fn tree(front: &str, key: &str) -> Option<Result<Value, String>> {
    let inline = raw(front, key)?.trim();
    let below = block(front, key);
    let text = if without_comment(inline).trim().is_empty() { below.as_str() } else { inline };
    if text.trim().is_empty() {
        return Some(Ok(Value::Object(serde_json::Map::new())));
    }
    Some(yaml::to_json(text))
}

/// The lines below a key that are indented, or begin with a dash.
fn block(front: &str, key: &str) -> String {
    let mut lines =
        front.lines().skip_while(|line| value_of(line, key).is_none()).skip(1).peekable();
    let mut block = String::new();
    let belongs = |line: &&str| {
        line.trim().is_empty() || line.starts_with([' ', '\t', '-']) || line.starts_with('#')
    };
    while let Some(line) = lines.next_if(belongs) {
        block.push_str(line);
        block.push('\n');
    }
    block
}

fn raw<'a>(front: &'a str, key: &str) -> Option<&'a str> {
    front.lines().find_map(|line| value_of(line, key))
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.trim_start_matches(' ').strip_prefix(':')
}

/// A `#` after a blank starts a comment, except inside quotes.
pub fn without_comment(value: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in value.char_indices() {
        match (letter, quote) {
            // An apostrophe inside a word is not a quote.
            ('"' | '\'', None) if !before.is_alphanumeric() => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('#', None) if before.is_whitespace() => return &value[..at],
            _ => {}
        }
        before = letter;
    }
    value
}

/// Without the surrounding pair of quotes.
pub fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "---\nepic: \"1\"\nname: It's # c\nstoryRange: [\"1.1\", \"1.2\"]\nloose: [1.10, 2-1-x, '1.3']\nbelow:\n  - 1.1 # c\n  - \"1.10\"\nempty: []\nagentConfig:\n  defaultPrimary: \"codex\"\n  perTask:\n    retro:\n      fallback: false\n      model: \"opus\"  # c\n---\nbody\nepic: 2\n";

    #[test]
    fn front_matter_is_split_and_read() {
        let (front, body) = split(STATE);
        assert_eq!(body, "body\nepic: 2\n");
        let front = front.unwrap();
        assert_eq!(text(front, "epic").as_deref(), Some("1"));
        assert_eq!(text(front, "name").as_deref(), Some("It's"));
        assert_eq!(text(front, "nam"), None);
        assert_eq!(text("a: \"x \\\"y\\\" \\u00e9\"\n", "a").as_deref(), Some("x \"y\" é"));
        assert_eq!(text("a: \"C:\\d\"\n", "a").as_deref(), Some("C:\\d"));
        assert_eq!(list(front, "storyRange").unwrap(), ["1.1", "1.2"]);
        assert_eq!(list(front, "loose").unwrap(), ["1.10", "2-1-x", "1.3"]);
        assert_eq!(list(front, "below").unwrap(), ["1.1", "1.10"]);
        assert!(list(front, "empty").unwrap().is_empty());
        assert_eq!(list(front, "none"), None);
        let config = tree(front, "agentConfig").unwrap().unwrap();
        assert_eq!(config["perTask"]["retro"]["fallback"], Value::Bool(false));
        assert_eq!(config["perTask"]["retro"]["model"], "opus");
        assert!(tree(front, "none").is_none());
    }

    #[test]
    fn without_an_end_there_is_no_front_matter() {
        assert_eq!(split("---\na: 1\n").0, None);
        assert_eq!(split("a\n---\n---\n").0, None);
        assert_eq!(split("\u{feff}---\r\na: 1\r\n---\r\nx"), (Some("a: 1\r\n"), "x"));
    }
}
