//! The newest tool calls since a person last said something.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::class::{self, Class};
use super::fingerprint::Hash;
use super::input::{Edit, Input, Output};
use crate::text::shortened;

/// How many calls are looked at.
pub(super) const WINDOW: usize = 64;
/// What is shown of a call.
const MAX_LABEL: usize = 80;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    id: u64,
    pub(super) at: Timestamp,
    pub(super) label: String,
    pub(super) class: Class,
    /// Tool and input.
    pub(super) key: u64,
    pub(super) edit: Option<Edit>,
    /// No other call in sight was the same when it was made.
    pub(super) is_new: bool,
    output: Option<Output>,
}

/// A call that has come back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done<'a> {
    pub(super) call: &'a Call,
    pub(super) output: Output,
}

impl Done<'_> {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.call.key == other.call.key && self.output == other.output
    }

    /// Something is done that was not done before, and it may make a difference to what follows.
    pub(super) fn may_change(&self) -> bool {
        self.call.is_new && self.call.class.may_change()
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    calls: VecDeque<Call>,
}

impl Window {
    pub(super) fn is_full(&self) -> bool {
        self.calls.len() == WINDOW
    }

    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }

    pub(super) fn called(&mut self, id: u64, at: Timestamp, tool: &str, input: Input) {
        // Written again, or of no account: a list of things to do is no doing.
        if self.calls.iter().any(|call| call.id == id) || class::is_bookkeeping(tool) {
            return;
        }
        let mut key = Hash::new();
        key.bytes(tool.as_bytes());
        key.number(input.hash);
        let key = key.0;
        let is_new = self.calls.iter().all(|call| call.key != key);
        let class = Class::of(tool, &input);
        let label = label(tool, &input);
        if self.calls.len() == WINDOW {
            self.calls.pop_front();
        }
        let edit = input.edit;
        self.calls.push_back(Call { id, at, label, class, key, edit, is_new, output: None });
    }

    pub(super) fn answered(&mut self, id: u64, output: Output) {
        let call = self.calls.iter_mut().rev().find(|call| call.id == id);
        if let Some(call) = call.filter(|call| call.output.is_none()) {
            call.output = Some(output);
        }
    }

    /// Those that have come back, oldest first.
    pub(super) fn done(&self) -> Vec<Done<'_>> {
        let done = |call| Some(Done { call, output: call.output? });
        self.calls.iter().filter_map(done).collect()
    }
}

/// The tool, and what a person would ask for.
fn label(tool: &str, input: &Input) -> String {
    let telling = [&input.path, &input.command, &input.telling];
    let is_edit = input.edit.is_some();
    let what = if is_edit {
        input.path.as_ref()
    } else {
        telling.into_iter().rev().find_map(Option::as_ref)
    };
    let line = what.and_then(|what| what.lines().find(|line| !line.trim().is_empty()));
    shortened(format!("{tool} {}", line.unwrap_or_default().trim()).trim_end(), MAX_LABEL)
}
