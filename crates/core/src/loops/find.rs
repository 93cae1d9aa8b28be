//! The loops, as functions of the calls in the window.
//!
//! | loop | found when | not counted |
//! | --- | --- | --- |
//! | undo | [`UNDOS`] edits of a file in a row each take back the one before | other edits of that file in between end it |
//! | cycle | the same 2 calls 4 times in turn, or 3 or 4 calls 3 times, with the same results | with a call that waits |
//! | repeat | the same call with the same result, [`FAILURES`] times if it fails, [`REPEATS`] times if it succeeds, [`POLLS`] times if it asks how something else gets on | calls that wait; what is before another result of the same call; of one that succeeds, what is before anything new was done; of one that fails, anything new in between makes it [`AFTER_CHANGES`] |
//!
//! A loop ends when none of the last few calls is part of it.

use dogwatch_protocol::status::{LoopKind, Looping, RepeatedCall};

use super::class::Class;
use super::window::Done;

pub(super) const FAILURES: usize = 5;
pub(super) const REPEATS: usize = 6;
pub(super) const AFTER_CHANGES: usize = 7;
pub(super) const POLLS: usize = 20;
pub(super) const UNDOS: usize = 5;
/// How many other calls may follow before a loop counts as left.
const RECENT: usize = 3;
/// Between an edit and the one that undoes it there may be a test and some looks.
const RECENT_EDIT: usize = 5;
/// How many calls are shown as evidence.
const EVIDENCE: usize = 8;

/// The loop that the newest calls are in.
pub(super) fn found(done: &[Done<'_>]) -> Option<Looping> {
    undo(done).or_else(|| cycle(done)).or_else(|| repeat(done))
}

fn undo(done: &[Done<'_>]) -> Option<Looping> {
    let last = done.iter().rev().take(RECENT_EDIT).find_map(|one| one.call.edit)?;
    let of_file = |one: &&Done<'_>| {
        !one.output.failed && one.call.edit.is_some_and(|edit| edit.file == last.file)
    };
    let edits: Vec<Done<'_>> = done.iter().filter(of_file).copied().collect();
    let edit = |at: usize| edits.get(at).and_then(|one| one.call.edit);
    let undoes = |at: usize| -> bool {
        let (Some(one), Some(before)) = (edit(at), at.checked_sub(1).and_then(edit)) else {
            return false;
        };
        // One that is written whole takes another back if what was there before is there again.
        let earlier = at.checked_sub(2).and_then(edit);
        let returns = one.old.is_some() || earlier.is_none_or(|earlier| one.new == earlier.new);
        one.undoes(before) && returns
    };
    let begin = (0..edits.len()).rev().find(|at| !undoes(*at))?;
    let edits = &edits[begin..];
    let what = edits.last()?.call.label.clone();
    (edits.len() >= UNDOS).then(|| looping(LoopKind::Undo, what, edits.len(), edits))
}

fn cycle(done: &[Done<'_>]) -> Option<Looping> {
    (0..RECENT).find_map(|after| {
        let (calls, rest) = done.split_at(done.len().checked_sub(after)?);
        if rest.iter().any(Done::may_change) {
            return None;
        }
        (2..=4).find_map(|length| cycle_of(calls, length))
    })
}

fn cycle_of(calls: &[Done<'_>], length: usize) -> Option<Looping> {
    let round = calls.get(calls.len().checked_sub(length)?..)?;
    let is_one_call = round.iter().all(|one| one.call.key == round[0].call.key);
    let waits = round.iter().any(|one| one.call.class == Class::Wait);
    if is_one_call || waits {
        return None;
    }
    let is_repeated = |at: &usize| calls[*at].is_same(&calls[at + length]);
    let same = (0..calls.len() - length).rev().take_while(is_repeated).count();
    let rounds = same / length + 1;
    let least = match length {
        _ if round.iter().any(|one| one.call.class == Class::Poll) => POLLS,
        2 => 4,
        _ => 3,
    };
    if rounds < least {
        return None;
    }
    // Wherever it is at: the same cycle is always called by the same name.
    let first = (0..length).min_by_key(|at| round[*at].call.key).unwrap_or(0);
    let labels = (0..length).map(|at| round[(first + at) % length].call.label.as_str());
    let what = labels.collect::<Vec<_>>().join(", ");
    let calls = &calls[calls.len() - rounds * length..];
    Some(looping(LoopKind::Cycle, what, rounds, calls))
}

fn repeat(done: &[Done<'_>]) -> Option<Looping> {
    let mut recent = done.iter().rev().take(RECENT);
    recent.find_map(|one| repeat_of(done, one))
}

fn repeat_of(done: &[Done<'_>], one: &Done<'_>) -> Option<Looping> {
    let mut calls = Vec::new();
    let mut has_changed = false;
    for other in done.iter().rev() {
        if other.call.key == one.call.key {
            if !other.is_same(one) {
                break;
            }
            calls.push(*other);
        } else if other.may_change() {
            if !one.output.failed {
                break;
            }
            has_changed = true;
        }
    }
    let least = match (one.call.class, one.output.failed) {
        (Class::Wait, _) => return None,
        (Class::Poll, _) => POLLS,
        (_, true) if has_changed => AFTER_CHANGES,
        (_, true) => FAILURES,
        (_, false) => REPEATS,
    };
    calls.reverse();
    let what = one.call.label.clone();
    (calls.len() >= least).then(|| looping(LoopKind::Repeat, what, calls.len(), &calls))
}

fn looping(kind: LoopKind, what: String, times: usize, calls: &[Done<'_>]) -> Looping {
    let evidence = calls[calls.len().saturating_sub(EVIDENCE)..].iter().map(|one| RepeatedCall {
        at: one.call.at,
        call: one.call.label.clone(),
        result: format!("{:08x}", one.output.hash >> 32),
        failed: one.output.failed,
    });
    Looping {
        kind,
        what,
        times: u32::try_from(times).unwrap_or(u32::MAX),
        since: calls.first().map_or_else(Default::default, |one| one.call.at),
        evidence: evidence.collect(),
    }
}
