//! What a conversation is about, and how much of the model's context it takes, from the agent's transcript.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::label::one_line;
use crate::transcript::{self, Dialect, Speaker};

/// Longest title and prompt that are kept, in characters.
const MOST: usize = 200;

/// What a transcript told so far. It is folded line by line, so that only what was added need be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// The title that a person gave to the conversation in the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<String>,
    /// The title that the agent made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_up: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// The first line of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Tokens in the context after the last reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// Tokens that the model can take, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

impl Topic {
    /// The agent's own title of the conversation.
    pub fn title(&self) -> Option<&str> {
        [&self.given, &self.made_up, &self.summary].into_iter().find_map(Option::as_deref)
    }

    /// A title that the agent keeps elsewhere.
    pub fn set_title(&mut self, title: &str) {
        self.given = short(title);
    }

    pub fn fold(&mut self, dialect: Dialect, text: &str) {
        for line in text.lines() {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            self.fold_line(dialect, &value);
        }
    }

    pub(crate) fn fold_line(&mut self, dialect: Dialect, line: &Value) {
        match dialect {
            Dialect::Claude => self.claude(line),
            Dialect::Codex => self.codex(line),
            Dialect::Gemini => self.gemini(line),
        }
        if self.prompt.is_none() {
            let mut said = transcript::said_in(dialect, line).into_iter();
            let first = said.find(|entry| entry.speaker == Speaker::Person);
            self.prompt = first.and_then(|entry| first_line(&transcript::typed(&entry.text)));
        }
    }

    fn claude(&mut self, line: &Value) {
        match line["type"].as_str() {
            // The last one counts, and an empty one takes it away.
            Some("custom-title") => self.given = line["customTitle"].as_str().and_then(short),
            Some("ai-title") => self.made_up = line["aiTitle"].as_str().and_then(short),
            Some("summary") => {
                self.summary = line["summary"].as_str().and_then(short).or(self.summary.take());
            }
            // What was in the context is now a summary of unknown length.
            Some("system") if line["subtype"] == "compact_boundary" => self.used = None,
            Some("assistant")
                if line["isSidechain"] != true && line["message"]["model"] != "<synthetic>" =>
            {
                let usage = &line["message"]["usage"];
                let parts = [
                    "input_tokens",
                    "cache_read_input_tokens",
                    "cache_creation_input_tokens",
                    "output_tokens",
                ];
                if usage.is_object() {
                    self.used = Some(parts.iter().filter_map(|part| usage[part].as_u64()).sum());
                }
            }
            _ => {}
        }
    }

    fn codex(&mut self, line: &Value) {
        let payload = &line["payload"];
        match payload["type"].as_str() {
            Some("thread_name_updated") => {
                self.given = payload["thread_name"].as_str().and_then(short);
            }
            Some("token_count") if payload["info"].is_object() => {
                let info = &payload["info"];
                self.used = info["last_token_usage"]["total_tokens"].as_u64().or(self.used);
                self.window = info["model_context_window"].as_u64().or(self.window);
            }
            Some("context_compacted") => self.used = None,
            _ => {}
        }
    }

    fn gemini(&mut self, line: &Value) {
        let summary = line["$set"]["summary"].as_str().or_else(|| line["summary"].as_str());
        self.summary = summary.and_then(short).or(self.summary.take());
        if line["type"] == "gemini" {
            self.used = line["tokens"]["total"].as_u64().or(self.used);
        }
    }
}

/// The titles of codex's threads are in a list beside its transcripts: the last line about a thread counts.
pub fn codex_title(index: &str, thread: &str) -> Option<String> {
    let mut about = index.lines().rev().filter(|line| line.contains(thread));
    about.find_map(|line| {
        let value: Value = serde_json::from_str(line).ok()?;
        (value["id"] == thread).then(|| value["thread_name"].as_str().and_then(short))?
    })
}

/// Opencode's titles of conversations that have none yet are no titles.
pub fn opencode_title(title: &str) -> Option<String> {
    let is_placeholder =
        ["New session - ", "Child session - "].iter().any(|start| title.starts_with(start));
    if is_placeholder { None } else { short(title) }
}

/// The first line of a prompt that says something. Texts in angle brackets are what agents put before what a person wrote.
pub fn first_line(text: &str) -> Option<String> {
    if text.trim_start().starts_with('<') || text.starts_with("# AGENTS.md instructions") {
        return None;
    }
    let mut lines = text.lines().map(|line| line.trim_start_matches(['#', '>', '*', ' ', '\t']));
    lines.find_map(short)
}

/// How much of the context is left, in percent.
pub fn left(used: Option<u64>, window: Option<u64>) -> Option<u8> {
    let (used, window) = (used?, window.filter(|window| *window > 0)?);
    u8::try_from(window.saturating_sub(used).saturating_mul(100) / window).ok()
}

/// In one line, cut; `None` if nothing is left.
fn short(text: &str) -> Option<String> {
    let line: String = one_line(text).chars().take(MOST).collect();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(dialect: Dialect, lines: &[&str]) -> Topic {
        let mut topic = Topic::default();
        topic.fold(dialect, &lines.join("\n"));
        topic
    }

    #[test]
    fn claude_titles() {
        let prompt = r#"{"type":"user","message":{"content":"\n# Fix the login\nplease"}}"#;
        let summary = r#"{"type":"summary","summary":"Login"}"#;
        let made_up = r#"{"type":"ai-title","aiTitle":"Login fix"}"#;
        let given = r#"{"type":"custom-title","customTitle":"Mine"}"#;
        let none = r#"{"type":"custom-title","customTitle":""}"#;
        let table: [(&[&str], Option<&str>); 6] = [
            (&[prompt], None),
            (&[prompt, summary], Some("Login")),
            (&[made_up, summary], Some("Login fix")),
            (&[given, made_up], Some("Mine")),
            (&[made_up, given, none], Some("Login fix")),
            (&["{", "", "null", r#"{"type":"ai-title","aiTitle":7}"#], None),
        ];
        for (lines, want) in table {
            assert_eq!(topic(Dialect::Claude, lines).title(), want, "{lines:?}");
        }
        assert_eq!(topic(Dialect::Claude, &[prompt]).prompt.as_deref(), Some("Fix the login"));
    }

    #[test]
    fn what_is_in_the_context() {
        let reply = r#"{"type":"assistant","message":{"model":"m","usage":{"input_tokens":2,"cache_read_input_tokens":900,"cache_creation_input_tokens":90,"output_tokens":8}}}"#;
        let side = r#"{"type":"assistant","isSidechain":true,"message":{"model":"m","usage":{"input_tokens":5}}}"#;
        let synthetic =
            r#"{"type":"assistant","message":{"model":"<synthetic>","usage":{"input_tokens":0}}}"#;
        let compacted = r#"{"type":"system","subtype":"compact_boundary"}"#;
        assert_eq!(topic(Dialect::Claude, &[reply, side, synthetic]).used, Some(1000));
        assert_eq!(topic(Dialect::Claude, &[reply, compacted]).used, None);
        let count = r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"total_tokens":64600},"model_context_window":258400}}}"#;
        let no_info = r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}"#;
        let codex = topic(Dialect::Codex, &[count, no_info]);
        assert_eq!(left(codex.used, codex.window), Some(75));
        let gemini = r#"{"type":"gemini","content":"x","tokens":{"total":1004}}"#;
        assert_eq!(topic(Dialect::Gemini, &[gemini]).used, Some(1004));
        for (used, window, want) in [
            (Some(10), None, None),
            (None, Some(10), None),
            (Some(5), Some(0), None),
            (Some(20), Some(10), Some(0)),
            (Some(0), Some(10), Some(100)),
        ] {
            assert_eq!(left(used, window), want, "{used:?} {window:?}");
        }
    }

    #[test]
    fn other_agents_titles() {
        let named = r#"{"type":"event_msg","payload":{"type":"thread_name_updated","thread_name":"Parser"}}"#;
        assert_eq!(topic(Dialect::Codex, &[named]).title(), Some("Parser"));
        let index = "{\"id\":\"a\",\"thread_name\":\"one\"}\n{\"id\":\"b\",\"thread_name\":\"two\"}\n{\"id\":\"a\",\"thread_name\":\"three\"}\nrubbish a";
        assert_eq!(codex_title(index, "a").as_deref(), Some("three"));
        assert_eq!(codex_title(index, "c"), None);
        let set = r#"{"$set":{"summary":"Adds a flag"}}"#;
        assert_eq!(topic(Dialect::Gemini, &[set]).title(), Some("Adds a flag"));
        assert_eq!(opencode_title("New session - 2026-11-16T10:00:00Z"), None);
        assert_eq!(opencode_title("Parser"), Some("Parser".to_owned()));
    }

    #[test]
    fn first_lines() {
        let long = "x".repeat(500);
        for (text, want) in [
            ("Fix it\nnow", Some("Fix it")),
            ("\n\n  ## Task: do\t it", Some("Task: do it")),
            ("<environment_context>\nx", None),
            ("# AGENTS.md instructions for /x\n", None),
            ("", None),
            (long.as_str(), Some(&long[..MOST])),
        ] {
            assert_eq!(first_line(text).as_deref(), want, "{text:?}");
        }
        let told = [
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"<environment_context>x"}]}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"<user_instructions>x"}]}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"Build"}]}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"Test"}]}}"#,
        ];
        assert_eq!(topic(Dialect::Codex, &told).prompt.as_deref(), Some("Build"));
    }
}
