//! Questions to a person, and who answered them, from the journal.

use dogwatch_core::event::kind;
use dogwatch_protocol::report::Question;
use dogwatch_store::Entry;
use jiff::Timestamp;

use super::assemble::journal;
use super::history::History;

pub(super) fn questions(history: &History, ended: Option<Timestamp>) -> Vec<Question> {
    let mut all = dialogs(history, ended);
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
    let rule = || data["rule"].as_str().map(|rule| format!("rule {rule}"));
    is_answer.then(|| said.map(str::to_owned).or_else(rule)).flatten()
}
