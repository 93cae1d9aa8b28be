//! What the double needs to know about a request, whatever protocol it came in.

use std::sync::LazyLock;

use regex_lite::Regex;

/// A request, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    pub model: String,
    /// The client wants events, not one JSON document.
    pub streaming: bool,
    pub tools: Vec<OfferedTool>,
    /// Not part of a conversation with a person: a title, a summary, a routing decision.
    pub side: bool,
    /// The client's own name for the conversation, or nothing.
    pub conversation: String,
    pub thread: Thread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTool {
    pub name: String,
    /// A Responses namespace the tool lives in.
    pub namespace: Option<String>,
    /// Takes free text in place of JSON arguments.
    pub freeform: bool,
}

impl OfferedTool {
    pub fn function(name: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: None, freeform: false }
    }
}

/// Where a conversation stands. The messages of a request are fed in, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Thread {
    /// The last human message.
    pub human: String,
    /// How many human messages there were.
    pub turn: usize,
    /// How many model replies there were since the last human message.
    pub step: usize,
    /// Several items in a row can belong to one reply.
    in_reply: bool,
}

impl Thread {
    /// A message with the role of the user: what a person said, or what the agent put there.
    pub fn user_message<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        self.in_reply = false;
        let mut said = Vec::new();
        for text in texts {
            if text.trim_start().starts_with(RESUME) {
                // The broken reply was none: its step is asked for again.
                self.step = self.step.saturating_sub(1);
            } else if is_human(text) {
                said.push(text);
            }
        }
        if !said.is_empty() {
            self.human = said.join("\n");
            self.turn += 1;
            self.step = 0;
        }
    }

    /// A message, or an item of a message, that the model produced.
    pub fn model_item(&mut self) {
        if !self.in_reply {
            self.step += 1;
        }
        self.in_reply = true;
    }

    /// Anything else: results of tools, notes of the agent.
    pub fn other_item(&mut self) {
        self.in_reply = false;
    }
}

/// What Claude says in the user's name after a stream that failed half-way.
const RESUME: &str = "Your response above was cut off mid-stream";

/// Agents speak in the user's name: reminders, the environment, marks of an interruption.
fn is_human(text: &str) -> bool {
    static INJECTED: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, used by every test")]
        Regex::new(concat!(
            r"^\s*(?:",
            r"<(?:system-reminder|environment_context|user_instructions|permissions instructions",
            r"|skills_instructions|turn_aborted|subagent_notification|session_context",
            r"|hook_context|collaboration_mode",
            r"|local-command-caveat|local-command-stdout|command-name|command-message",
            r"|task-notification)\b",
            r"|# AGENTS\.md instructions",
            // Claude's tools that read a skill, and search for tools.
            r"|Base directory for this skill:|Tool loaded\.\s*$",
            r"|\[Request interrupted by user)",
        ))
        .expect("invariant: the pattern is valid")
    });
    !text.trim().is_empty() && !INJECTED.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_replies_since_the_last_human_message() {
        let mut thread = Thread::default();
        thread.user_message(["<environment_context>\n…", "first"]);
        thread.model_item();
        thread.model_item();
        thread.other_item();
        thread.model_item();
        assert_eq!((thread.human.as_str(), thread.turn, thread.step), ("first", 1, 2));

        thread.user_message(["<system-reminder>\nnote"]);
        assert_eq!((thread.turn, thread.step), (1, 2), "a reminder is not a human message");

        thread.user_message(["second", "third"]);
        assert_eq!((thread.human.as_str(), thread.turn, thread.step), ("second\nthird", 2, 0));
    }

    #[test]
    fn a_broken_reply_does_not_count() {
        let mut thread = Thread::default();
        thread.user_message(["go"]);
        let asked = thread.clone();
        thread.model_item();
        thread.user_message(["Your response above was cut off mid-stream. Resume directly."]);
        assert_eq!(thread, asked);
    }

    #[test]
    fn tells_people_from_agents() {
        let cases = [
            ("hello", true),
            ("<b>bold</b> please", true),
            ("  \n", false),
            ("\n<system-reminder>x</system-reminder>", false),
            ("# AGENTS.md instructions for /p", false),
            ("[Request interrupted by user for tool use]", false),
            ("<turn_aborted>\n…", false),
            ("Base directory for this skill: /s\n…", false),
            ("Tool loaded.", false),
            ("Tool loaded. Now go on", true),
        ];
        for (text, human) in cases {
            assert_eq!(is_human(text), human, "{text:?}");
        }
    }
}
