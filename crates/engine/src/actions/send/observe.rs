//! What the deliverer of a message sees of the agent: its input box, and signs that it has taken the message.

use std::path::PathBuf;

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::box_text::{self, Shown};
use dogwatch_core::delivery::{self, Agent, Input, Phase, Proof, Sight, Taken};
use dogwatch_core::status::evidence::Screen;
use dogwatch_core::transcript::Dialect;
use dogwatch_store::{Message, Signal, SignalNo};
use jiff::Timestamp;
use serde_json::Value;

use crate::Context;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::{transcripts, unread_input};

/// How much of a transcript's end is read for the turn that a message was taken into.
const TAIL: u64 = 256 * 1024;

/// Looks for one message.
#[derive(Debug)]
pub(super) struct Looking {
    /// Signals after this one are of the time since the message was put into the box.
    heard: SignalNo,
    /// When it was put there.
    staged: Option<Timestamp>,
    /// The command, or what it is to bring about, was on the screen before it was put there, as far as we looked.
    was_shown: bool,
}

impl Looking {
    pub(super) fn new(message: &Message) -> Self {
        let staged = (message.phase != Phase::Before).then_some(message.staged).flatten();
        // Whoever takes over a message has not seen what was there before.
        Self { heard: message.heard, staged, was_shown: staged.is_some() }
    }

    pub(super) fn staged(&mut self, heard: SignalNo, at: Timestamp) {
        self.heard = heard;
        self.staged = Some(at);
    }

    pub(super) fn sight(
        &mut self,
        message: &Message,
        context: &Context,
        reader: &mut StatusReader<'_>,
        judged: &SessionStatus,
    ) -> Sight {
        let memory = reader.memory(&judged.seen.session.id);
        let screen = memory.and_then(|memory| memory.screen()).cloned();
        let told = self.told(message, reader);
        let is_shown = screen.as_ref().is_some_and(|screen| is_shown(message, screen));
        if self.staged.is_none() {
            self.was_shown = is_shown;
        }
        let input = self.input(message, screen.as_ref());
        // Of commands no hook tells, and transcripts late or never; what has come up since leaves no doubt.
        let came_up = is_shown && !self.was_shown && input == Input::Empty;
        let proof = told
            .or_else(|| self.written(message, context, reader, judged))
            .or_else(|| (message.slash && came_up).then_some(Proof::Screen));
        Sight {
            agent: Agent::of(
                &judged.verdict,
                screen.as_ref().map(|screen| &screen.shows),
                &judged.seen.life.reason,
            ),
            input,
            taken: proof
                .and_then(|_| self.taken(message, context, reader, judged))
                .unwrap_or_default(),
            proof,
            is_shown: is_shown && self.staged.is_some(),
            is_unread: self.staged.is_some() && unread_input::has_any(&judged.seen),
        }
    }

    fn input(&self, message: &Message, screen: Option<&Screen>) -> Input {
        let Some(screen) = screen.filter(|screen| screen.hands.has_box) else {
            return Input::Unseen;
        };
        let Some(draft) = &screen.draft else { return Input::Empty };
        let is_mark = |_: &str| screen.hands.is_paste_mark && self.staged.is_some();
        match box_text::in_box(draft, &message.text, is_mark) {
            Shown::Ours => Input::Ours,
            Shown::Other => Input::Other(draft.clone()),
        }
    }

    /// Its hook reported the text.
    fn told(&self, message: &Message, reader: &mut StatusReader<'_>) -> Option<Proof> {
        self.staged?;
        let signals = reader
            .store
            .signals_after(&message.session, self.heard)
            .logged("read a session's signals")?;
        signals.iter().any(|(_, signal)| is_told_by(message, signal)).then_some(Proof::Hook)
    }

    /// Its transcript has the text, in a line written since.
    fn written(
        &self,
        message: &Message,
        context: &Context,
        reader: &StatusReader<'_>,
        judged: &SessionStatus,
    ) -> Option<Proof> {
        let since = self.staged?;
        let (dialect, path) = transcript(context, reader, judged)?;
        let said = transcripts::said_since(&path, dialect, since);
        let is_ours = |text: &String| box_text::is_same(text, 0, &message.text);
        said.iter().any(is_ours).then_some(Proof::Transcript)
    }

    /// Into which turn it was taken, as far as the transcript tells.
    fn taken(
        &self,
        message: &Message,
        context: &Context,
        reader: &StatusReader<'_>,
        judged: &SessionStatus,
    ) -> Option<Taken> {
        let since = self.staged.filter(|_| !message.slash)?;
        let (dialect, path) = transcript(context, reader, judged)?;
        let text = transcripts::last_lines(&path, TAIL)?;
        let is_ours = |text: &str| box_text::is_same(text, 0, &message.text);
        Some(delivery::taken(dialect, &text, since, is_ours))
    }
}

/// Where the session's transcript is.
fn transcript(
    context: &Context,
    reader: &StatusReader<'_>,
    judged: &SessionStatus,
) -> Option<(Dialect, PathBuf)> {
    let memory = reader.memory(&judged.seen.session.id)?;
    let dialect = memory.profile()?.transcript.as_ref()?.dialect;
    Some((dialect, memory.transcript(context, &judged.seen.session)?))
}

fn is_shown(message: &Message, screen: &Screen) -> bool {
    let asked = screen.hands.asked.as_deref().unwrap_or_default();
    let is_said = box_text::in_box(asked, &message.text, |_| false) == Shown::Ours;
    is_said || has_effect(message, screen)
}

/// Of a command the effect is seen, such as a new name.
fn has_effect(message: &Message, screen: &Screen) -> bool {
    let footer = screen.hands.footer.as_deref().unwrap_or_default();
    let last = message.text.split_whitespace().skip(1).last();
    message.slash && last.is_some_and(|word| footer.contains(word))
}

fn is_told_by(message: &Message, signal: &Signal) -> bool {
    if !matches!(signal.event.as_str(), "UserPromptSubmit" | "BeforeAgent") {
        return false;
    }
    let payload: Value =
        serde_json::from_str(&signal.payload).logged("read JSON").unwrap_or_default();
    let prompt = payload["prompt"].as_str().unwrap_or_default();
    let (told, left_out) = without_note(prompt);
    box_text::is_same(told, left_out, &message.text)
}

/// A text that was kept shortened, without the note that says so, and how much was left out.
fn without_note(text: &str) -> (&str, usize) {
    let read = || {
        let (kept, note) = text.rsplit_once("… [")?;
        let number = note.strip_suffix(" bytes left out]")?;
        Some((kept, number.parse().ok()?))
    };
    read().unwrap_or((text, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_shortened_texts() {
        assert_eq!(without_note("abc… [120 bytes left out]"), ("abc", 120));
        assert_eq!(without_note("abc"), ("abc", 0));
        assert_eq!(without_note("a… [b bytes left out]"), ("a… [b bytes left out]", 0));
    }
}
