//! Picks the actions that answer a request.

use std::collections::HashMap;

use crate::facts::{Facts, Thread};
use crate::reply::{Answer, Part, Pause, Reply, Tokens};
use crate::scenario::{Action, Scenario, Step, Usage};
use crate::tools;

/// The one memory of the double: how often each limited failure was already met.
///
/// A failure differs from others by the conversation, the human message, its number, and the step,
/// so that a retry of the same request counts and the same words in a new message do not.
#[derive(Debug, Default)]
pub struct Attempts(HashMap<(String, Thread, usize), u32>);

impl Attempts {
    /// Whether a failure limited to `limit` requests is still due; counts this request.
    fn due(&mut self, facts: &Facts, action: usize, limit: Option<u32>) -> bool {
        let Some(limit) = limit else { return true };
        let key = (facts.conversation.clone(), facts.thread.clone(), action);
        let met = self.0.entry(key).or_default();
        let due = *met < limit;
        *met = met.saturating_add(1);
        due
    }
}

pub fn choose(scenario: &Scenario, facts: &Facts, attempts: &mut Attempts) -> Answer {
    let mut due = Vec::new();
    for (index, action) in step_for(scenario, facts).0.iter().enumerate() {
        let limit = match action {
            Action::Error(failure) | Action::StreamError(failure) => failure.attempts,
            Action::Cut(cut) => cut.attempts,
            _ => None,
        };
        if attempts.due(facts, index, limit) {
            due.push(action);
        }
    }
    compose(&due, facts)
}

fn step_for<'a>(scenario: &'a Scenario, facts: &Facts) -> &'a Step {
    if facts.side {
        return &scenario.side;
    }
    steps_for(scenario, &facts.thread.human).get(facts.thread.step).unwrap_or(&scenario.after)
}

/// The rule that matches last in the text wins: agents put prompts that got no answer in front of
/// the next one. Among rules that match at the same place the first wins.
fn steps_for<'a>(scenario: &'a Scenario, human: &str) -> &'a [Step] {
    let mut best: Option<(usize, &[Step])> = None;
    for rule in &scenario.rules {
        let last = rule.pattern.find_iter(human).last().map(|found| found.start());
        if let Some(start) = last
            && best.is_none_or(|(other, _)| start > other)
        {
            best = Some((start, &rule.steps));
        }
    }
    best.map_or(&scenario.default, |(_, steps)| steps)
}

/// Turns actions into an answer: tools become the offered ones, an error takes over the whole.
fn compose(actions: &[&Action], facts: &Facts) -> Answer {
    let mut parts = Vec::new();
    let mut usage = Usage::default();
    for &action in actions {
        match action {
            Action::Error(failure) => {
                let pauses = parts.into_iter().filter_map(pause_of).collect();
                return Answer::Refuse { pauses, failure: failure.clone() };
            }
            Action::Text(speech) => parts.push(Part::Text(speech.clone())),
            Action::Thinking(speech) => parts.push(Part::Thinking(speech.clone())),
            Action::Stall(time) => parts.push(Part::Pause(Pause::Stall(*time))),
            Action::Gate(gate) => parts.push(Part::Pause(Pause::Gate(gate.clone()))),
            Action::StreamError(failure) => parts.push(Part::Fail(failure.clone())),
            Action::Cut(_) => parts.push(Part::Cut),
            Action::Usage(numbers) => usage = *numbers,
            Action::Shell(_)
            | Action::Write(_)
            | Action::Edit(_)
            | Action::Todos(_)
            | Action::Ask(_)
            | Action::Subagent(_)
            | Action::ExitPlan(_)
            | Action::Tool(_) => {
                let filled = filled(action, &facts.thread.human);
                match tools::calls(filled.as_ref().unwrap_or(action), &facts.tools) {
                    Ok(calls) => parts.extend(calls.into_iter().map(Part::Call)),
                    Err(missing) => parts.push(Part::Text(missing.to_string().into())),
                }
            }
        }
    }
    let tokens = estimate(&parts, usage);
    Answer::Reply(Reply { parts, tokens })
}

/// A call with what the message says in the place of `$after WORD`: the word after that one.
fn filled(action: &Action, human: &str) -> Option<Action> {
    let Action::Tool(raw) = action else { return None };
    let mut raw = raw.clone();
    for value in raw.args.values_mut() {
        let wanted = value.as_str().and_then(|text| text.strip_prefix("$after "));
        let found = wanted.and_then(|word| {
            let mut words = human.split_whitespace().skip_while(|one| *one != word);
            words.nth(1)
        });
        if let Some(found) = found {
            *value = found.into();
        }
    }
    Some(Action::Tool(raw))
}

fn pause_of(part: Part) -> Option<Pause> {
    match part {
        Part::Pause(pause) => Some(pause),
        _ => None,
    }
}

fn estimate(parts: &[Part], usage: Usage) -> Tokens {
    let characters: usize = parts
        .iter()
        .map(|part| match part {
            Part::Text(speech) | Part::Thinking(speech) => speech.text.len(),
            Part::Call(call) => call.arguments().to_string().len(),
            Part::Pause(_) | Part::Fail(_) | Part::Cut => 0,
        })
        .sum();
    Tokens {
        input: usage.input.unwrap_or(1000),
        output: usage.output.unwrap_or((characters as u64 / 4).max(1)),
        cached: usage.cached.unwrap_or(0),
        written: usage.written.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests;
