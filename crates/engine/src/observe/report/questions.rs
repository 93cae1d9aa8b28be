//! Questions to a person, and who answered them, from the journal.

use dogwatch_core::event::kind;
use dogwatch_protocol::report::Question;
use dogwatch_store::Entry;
use jiff::{SignedDuration, Timestamp};

use super::assemble::journal;
use super::history::History;

const PERMISSION: &str = "permission";
/// A dialog is seen on the screen a little before or after the rule that answers it is recorded.
const NEAR: SignedDuration = SignedDuration::from_secs(3);

pub(super) fn questions(history: &History, ended: Option<Timestamp>) -> Vec<Question> {
    let mut all = dialogs(history, ended);
    for entry in history.of_kind(kind::RULES_ANSWERED) {
        let at = entry.event.at;
        let is_it = |one: &&mut Question| {
            let until = one.answered.unwrap_or(one.at);
            let (from, until) = (one.at.saturating_sub(NEAR), until.saturating_add(NEAR));
            let is_near = from.is_ok_and(|from| from <= at) && until.is_ok_and(|until| at <= until);
            one.by.is_none() && one.about == PERMISSION && is_near
        };
        let own = by_rule(entry);
        match all.iter_mut().find(is_it) {
            Some(seen) => *seen = own,
            None => all.push(own),
        }
    }
    for entry in history.of_kind(kind::ESCALATION_RAISED) {
        // A dialog that was escalated is one question.
        let covers = |question: &Question| {
            question.at <= entry.event.at && question.answered.is_none_or(|at| at >= entry.event.at)
        };
        if !all.iter().any(covers) {
            all.push(escalation(history, entry));
        }
    }
    all.sort_by_key(|question| question.at);
    all
}

/// Times at which the session waited for a person.
fn dialogs(history: &History, ended: Option<Timestamp>) -> Vec<Question> {
    let states: Vec<&Entry> = history.of_kind(kind::STATE).collect();
    let mut all = Vec::new();
    for (index, entry) in states.iter().enumerate() {
        let data = &entry.event.data;
        if data["state"] != "waiting" {
            continue;
        }
        let next = states.get(index + 1);
        let until = next.map(|next| next.event.at).or(ended);
        let answer = history.entries.iter().find(|other| {
            let is_later = other.number > entry.number;
            let is_soon = until.is_none_or(|until| other.event.at <= until);
            is_later && is_soon && by(other).is_some()
        });
        all.push(Question {
            at: entry.event.at,
            about: data["for"].as_str().unwrap_or("other").to_owned(),
            text: data["question"].as_str().unwrap_or_default().to_owned(),
            answered: next.map(|next| next.event.at),
            by: answer.and_then(by),
            source: journal(entry),
            answer_source: answer.or(next.copied()).map(journal),
        });
    }
    all
}

/// A request that a rule of the user's answered.
fn by_rule(entry: &Entry) -> Question {
    let data = &entry.event.data;
    let word = |key: &str| data[key].as_str().unwrap_or_default();
    let rules = data["rules"].as_array().into_iter().flatten().filter_map(|rule| rule.as_str());
    let rules = rules.collect::<Vec<_>>().join(", ");
    Question {
        at: entry.event.at,
        about: PERMISSION.to_owned(),
        text: format!("{} {}", word("tool"), word("asks")),
        answered: Some(entry.event.at),
        by: Some(format!("a rule ({rules}): {}", word("answer"))),
        source: journal(entry),
        answer_source: Some(journal(entry)),
    }
}

fn escalation(history: &History, raised: &Entry) -> Question {
    let data = &raised.event.data;
    let answer = history
        .of_kind(kind::ESCALATION_ANSWERED)
        .find(|entry| entry.event.data["number"] == data["number"]);
    let text = &data["situation"]["problem"];
    Question {
        at: raised.event.at,
        about: data["situation"]["trigger"].as_str().unwrap_or("question").to_owned(),
        text: text.as_str().unwrap_or_default().to_owned(),
        answered: answer.map(|entry| entry.event.at),
        by: answer.and_then(by),
        source: journal(raised),
        answer_source: answer.map(journal),
    }
}

/// Who did what an entry tells of, if it says so. Entries about states say nothing of the kind.
fn by(entry: &Entry) -> Option<String> {
    let data = &entry.event.data;
    let is_answer = entry.event.kind != kind::STATE && entry.event.kind.contains("answer");
    let said = data["by"].as_str().or(data["outcome"]["by"].as_str());
    said.filter(|_| is_answer).map(str::to_owned)
}
