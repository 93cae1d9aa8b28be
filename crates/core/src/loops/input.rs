//! What a tool was called with, and what it answered: hashes, and the little of it that is shown. Read straight from JSON,
//! without a tree of it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::fingerprint::{self, Hash};

/// Arguments that say nothing about what is done.
const NO_MATTER: [&str; 10] = [
    "description",
    "explanation",
    "justification",
    "timeout",
    "timeout_ms",
    "yield_time_ms",
    "max_output_tokens",
    "run_in_background",
    "sandbox_permissions",
    "with_escalated_permissions",
];

/// The arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) hash: u64,
    /// A shell command.
    pub(super) command: Option<String>,
    pub(super) path: Option<String>,
    /// A pattern, a query or an address.
    pub(super) telling: Option<String>,
    pub(super) edit: Option<Edit>,
    /// It writes nothing to a process, so it only waits for what that says.
    pub(super) writes_nothing: bool,
}

/// What an edit replaces by what; of a file that is written whole, only what is in it then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) file: u64,
    pub(super) old: Option<u64>,
    pub(super) new: u64,
}

impl Edit {
    /// Whether this one takes the other back. Of a file that is written whole it takes three to see that.
    pub(super) fn undoes(self, other: Self) -> bool {
        self.file == other.file
            && match (self.old, other.old) {
                (Some(old), Some(before)) => {
                    old == other.new && self.new == before && old != before
                }
                (None, None) => self.new != other.new,
                _ => false,
            }
    }
}

impl Input {
    /// Of a call whose only argument is a text: a patch, or a script.
    pub(super) fn of_text(text: &str) -> Self {
        let mut input = Self { hash: fingerprint::exact(text), ..Self::default() };
        input.patch(text);
        if input.edit.is_none() {
            input.command = Some(text.to_owned());
        }
        input
    }

    /// Takes in a patch in the form of codex's `apply_patch`. One of several files has the first one's name.
    fn patch(&mut self, text: &str) {
        let Some((_, patch)) = text.split_once("*** Begin Patch") else { return };
        let (mut old, mut new) = (Hash::new(), Hash::new());
        let mut removes = false;
        for line in patch.lines() {
            if let Some((_, path)) = line.strip_prefix("*** ").and_then(|l| l.split_once(" File: "))
            {
                self.path.get_or_insert_with(|| path.trim().to_owned());
            } else if let Some(removed) = line.strip_prefix('-') {
                removes = true;
                old.bytes(removed.as_bytes());
                old.bytes(b"\n");
            } else if let Some(added) = line.strip_prefix('+') {
                new.bytes(added.as_bytes());
                new.bytes(b"\n");
            }
        }
        let file = fingerprint::exact(self.path.as_deref().unwrap_or_default());
        // A file that is only added to is one that is written whole.
        let is_whole = !removes && patch.contains("*** Add File: ");
        self.edit = Some(Edit { file, old: (!is_whole).then_some(old.0), new: new.0 });
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the arguments of a tool")
    }

    /// Some agents write the arguments as a text that is JSON.
    fn visit_str<E>(self, text: &str) -> Result<Input, E> {
        let is_object = text.trim_start().starts_with('{');
        let inside = is_object.then(|| serde_json::from_str(text).ok()).flatten();
        Ok(inside.unwrap_or_else(|| Input::of_text(text)))
    }

    fn visit_unit<E>(self) -> Result<Input, E> {
        Ok(Input::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Input, A::Error> {
        let mut input = Input::default();
        let (mut old, mut new, mut content) = (None, None, None);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let value = match key.as_ref() {
                "command" | "cmd" => {
                    let words: Words = map.next_value()?;
                    let hash = fingerprint::of(&words.0);
                    input.patch(&words.0);
                    input.command = Some(words.0);
                    hash
                }
                "file_path" | "path" | "notebook_path" | "absolute_path" | "dir_path" => {
                    let words: Words = map.next_value()?;
                    let hash = fingerprint::exact(&words.0);
                    input.path.get_or_insert(words.0);
                    hash
                }
                "pattern" | "query" | "url" => {
                    let words: Words = map.next_value()?;
                    let hash = fingerprint::exact(&words.0);
                    input.telling.get_or_insert(words.0);
                    hash
                }
                "patch" | "input" => {
                    let words: Words = map.next_value()?;
                    input.patch(&words.0);
                    fingerprint::exact(&words.0)
                }
                "old_string" | "old_str" => *old.insert(map.next_value::<Exact>()?.0),
                "new_string" | "new_str" => *new.insert(map.next_value::<Exact>()?.0),
                "content" | "file_text" | "new_source" => {
                    *content.insert(map.next_value::<Exact>()?.0)
                }
                "edits" => {
                    let edits: Edits = map.next_value()?;
                    (old, new) = (Some(edits.old), Some(edits.new));
                    edits.old ^ edits.new.rotate_left(1)
                }
                "chars" => {
                    let words: Words = map.next_value()?;
                    input.writes_nothing = words.0.is_empty();
                    fingerprint::exact(&words.0)
                }
                key if NO_MATTER.contains(&key) => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => map.next_value::<Exact>()?.0,
            };
            // In whatever order they are written.
            let mut hash = Hash::new();
            hash.bytes(key.as_bytes());
            hash.number(value);
            input.hash = input.hash.wrapping_add(hash.0);
        }
        let file = fingerprint::exact(input.path.as_deref().unwrap_or_default());
        if let (Some(old), Some(new)) = (old, new) {
            input.edit = Some(Edit { file, old: Some(old), new });
        } else if let (Some(new), Some(_)) = (content, &input.path) {
            input.edit = Some(Edit { file, old: None, new });
        }
        Ok(input)
    }
}

/// Several edits of one file.
struct Edits {
    old: u64,
    new: u64,
}

impl<'de> Deserialize<'de> for Edits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let edits: Vec<Input> = Vec::deserialize(deserializer)?;
        let (mut old, mut new) = (Hash::new(), Hash::new());
        for edit in edits.iter().filter_map(|input| input.edit) {
            old.number(edit.old.unwrap_or_default());
            new.number(edit.new);
        }
        Ok(Self { old: old.0, new: new.0 })
    }
}

/// A text, or a list of words.
struct Words(String);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of words")
            }

            fn visit_str<E>(self, text: &str) -> Result<Words, E> {
                Ok(Words(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Words, E> {
                Ok(Words(String::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Words, A::Error> {
                let mut words: Vec<String> = Vec::new();
                while let Some(Words(word)) = seq.next_element()? {
                    words.push(word);
                }
                // What a shell is to do, without the shell.
                if let [_, flag, script] = &words[..]
                    && flag.starts_with('-')
                    && flag.ends_with('c')
                {
                    return Ok(Words(script.clone()));
                }
                Ok(Words(words.join(" ")))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// The hash of any JSON value: exact, and whatever the order of keys.
struct Exact(u64);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Digest { text: fingerprint::exact }).map(Exact)
    }
}

/// Hashes any JSON value, its texts by a function.
#[derive(Clone, Copy)]
pub(super) struct Digest {
    pub(super) text: fn(&str) -> u64,
}

impl<'de> Visitor<'de> for Digest {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<u64, E> {
        Ok((self.text)(text))
    }

    fn visit_bool<E>(self, value: bool) -> Result<u64, E> {
        Ok(u64::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<u64, E> {
        Ok(value.cast_unsigned())
    }

    fn visit_f64<E>(self, value: f64) -> Result<u64, E> {
        Ok(value.to_bits())
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u64, A::Error> {
        let mut hash = Hash::new();
        while let Some(one) = seq.next_element_seed(self)? {
            hash.number(one);
        }
        Ok(hash.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let mut all: u64 = 0;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let mut hash = Hash::new();
            hash.bytes(key.as_bytes());
            hash.number(map.next_value_seed(self)?);
            all = all.wrapping_add(hash.0);
        }
        Ok(all)
    }
}

impl<'de> serde::de::DeserializeSeed<'de> for Digest {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What a tool answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) hash: u64,
    pub(super) failed: bool,
}

impl Output {
    fn of(text: &str) -> Self {
        Self { hash: fingerprint::of(text), failed: says_failed(text) }
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutputVisitor)
    }
}

struct OutputVisitor;

impl<'de> Visitor<'de> for OutputVisitor {
    type Value = Output;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the result of a tool")
    }

    fn visit_str<E>(self, text: &str) -> Result<Output, E> {
        Ok(Output::of(text))
    }

    fn visit_unit<E>(self) -> Result<Output, E> {
        Ok(Output::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Output, E> {
        Ok(Output { hash: u64::from(value), failed: false })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Output, E> {
        Ok(Output { hash: value, failed: false })
    }

    fn visit_i64<E>(self, value: i64) -> Result<Output, E> {
        Ok(Output { hash: value.cast_unsigned(), failed: false })
    }

    fn visit_f64<E>(self, value: f64) -> Result<Output, E> {
        Ok(Output { hash: value.to_bits(), failed: false })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Output, A::Error> {
        let (mut hash, mut failed) = (Hash::new(), false);
        while let Some(one) = seq.next_element::<Output>()? {
            hash.number(one.hash);
            failed |= one.failed;
        }
        Ok(Output { hash: hash.0, failed })
    }

    /// Of gemini's answers the id is another one each time.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Output, A::Error> {
        let mut all = Output::default();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if matches!(key.as_ref(), "id" | "call_id" | "tool_use_id") {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let one: Output = map.next_value()?;
            let mut hash = Hash::new();
            hash.bytes(key.as_bytes());
            hash.number(one.hash);
            all.hash = all.hash.wrapping_add(hash.0);
            let says_so = match key.as_ref() {
                "error" => one != Output::default(),
                "success" => one.hash == 0,
                "exit_code" => one.hash != 0,
                _ => false,
            };
            all.failed |= one.failed || says_so;
        }
        Ok(all)
    }
}

/// How far from the beginning and the end agents say how a command ended.
const EDGE: usize = 400;

/// `Exit code 3` (claude), `Process exited with code 101`, `"exit_code":1` (codex), `Exit Code: 1` (gemini).
fn says_failed(text: &str) -> bool {
    let bytes = text.as_bytes();
    let first = &bytes[..bytes.len().min(EDGE)];
    let last = &bytes[bytes.len().saturating_sub(EDGE)..];
    [first, last].iter().any(|part| has_bad_code(part))
}

fn has_bad_code(part: &[u8]) -> bool {
    let words: [&[u8]; 3] = [b"exit code", b"exited with code", b"exit_code"];
    words.iter().any(|words| {
        let mut found = part.windows(words.len()).enumerate();
        found.any(|(at, window)| {
            window.eq_ignore_ascii_case(words) && {
                let after = &part[at + words.len()..];
                let gap = after.iter().take_while(|b| b" :=\"\\".contains(b)).count();
                let code = &after[gap..];
                matches!(code.first(), Some(b'1'..=b'9' | b'-'))
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> Input {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_does_not_matter_makes_no_difference() {
        let one = input(r#"{"command":"cargo test","description":"Run","timeout":5}"#);
        let other = input(r#"{"timeout":9,"command":"cargo test","description":"Again"}"#);
        assert_eq!(one.hash, other.hash);
        assert_eq!(one.command.as_deref(), Some("cargo test"));
        assert_ne!(one.hash, input(r#"{"command":"cargo check"}"#).hash);
        let list = input(r#"{"command":["bash","-lc","cargo test"]}"#);
        assert_eq!(list.command.as_deref(), Some("cargo test"));
        let quoted = input(r#""{\"cmd\":\"make\"}""#);
        assert_eq!(quoted.command.as_deref(), Some("make"));
        let read = |offset: u32| input(&format!(r#"{{"file_path":"a","offset":{offset}}}"#)).hash;
        assert_ne!(read(1), read(100), "another part of the file");
    }

    #[test]
    fn edits_that_undo_each_other() {
        let edit = |old: &str, new: &str| {
            let text = format!(r#"{{"file_path":"a","old_string":"{old}","new_string":"{new}"}}"#);
            input(&text).edit.unwrap()
        };
        assert!(edit("y", "x").undoes(edit("x", "y")));
        assert!(!edit("x", "y").undoes(edit("x", "y")));
        assert!(!edit("x", "x").undoes(edit("x", "x")));
        let patch = |old: &str, new: &str| {
            let text = format!(
                "*** Begin Patch\n*** Update File: a.rs\n@@\n-{old}\n+{new}\n*** End Patch"
            );
            let input = Input::of_text(&text);
            assert_eq!(input.path.as_deref(), Some("a.rs"));
            input.edit.unwrap()
        };
        assert!(patch("y", "x").undoes(patch("x", "y")));
    }

    #[test]
    fn commands_that_failed() {
        for text in [
            "Exit code 3\nboom",
            "Wall time: 0.1 seconds\nProcess exited with code 101\nOutput:",
            r#"{"output":"","metadata":{"exit_code":1}}"#,
            "Output: x\nExit Code: 1",
        ] {
            assert!(says_failed(text), "{text}");
        }
        for text in ["", "Process exited with code 0", "Exit Code: 0", "exit code", "all is well"] {
            assert!(!says_failed(text), "{text}");
        }
    }
}
