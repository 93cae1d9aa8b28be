//! The `input` step.

use std::time::{Duration, Instant};

use super::ending::{Cut, Trouble};
use super::player::Player;
use crate::entry::{self, Heard, Verdict};
use crate::flow::Turn;
use crate::scenario::{Echo, Input};

impl Player<'_> {
    pub(super) fn listen<'s>(&mut self, input: &'s Input) -> Result<Turn<'s>, Cut> {
        let late = match input.echo {
            Echo::Late(span) => span.0,
            Echo::AtOnce | Echo::Never => Duration::ZERO,
        };
        let timeout =
            input.timeout.as_ref().map(|timeout| (Instant::now() + timeout.after.0, &timeout.goto));
        let prefilled = self.entry.begin(input);
        self.echo(input, &prefilled);
        loop {
            let due = self.keys.front().map(|(came, _)| *came + late);
            if due.is_some_and(|due| due <= Instant::now()) {
                if let Some(turn) = self.take_key(input) {
                    return Ok(turn);
                }
                continue;
            }
            if let Some((at, label)) = timeout
                && at <= Instant::now()
            {
                return Ok(Turn::To(label));
            }
            if due.is_none() && timeout.is_none() && self.ears.ended() {
                return Err(Trouble::InputEnded.into());
            }
            let moments = [due, timeout.map(|(at, _)| at)];
            self.wait_once(moments.into_iter().flatten().min())?;
        }
    }

    /// Takes the first key that waits; says where to go once the answer is complete and counts.
    fn take_key<'s>(&mut self, input: &'s Input) -> Option<Turn<'s>> {
        let (_, key) = self.keys.pop_front()?;
        match self.entry.hear(&key, input) {
            Heard::More { echo } => {
                self.echo(input, &echo);
                None
            }
            Heard::Answer(answer) => {
                let verdict = entry::judge(input, &answer);
                self.answer = answer;
                match verdict {
                    Verdict::Next => Some(Turn::On),
                    Verdict::Goto(label) => Some(Turn::To(label)),
                    Verdict::Drop => None,
                }
            }
        }
    }

    /// Outside raw mode the terminal itself has shown what was typed.
    fn echo(&mut self, input: &Input, text: &str) {
        if self.terminal.is_raw() && input.echo != Echo::Never && !text.is_empty() {
            self.show(text);
        }
    }
}
