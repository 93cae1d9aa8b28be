//! Asking a person, and hearing the answer: kept in the database, sent by all configured channels, answered from anywhere.

use dogwatch_protocol::event_data::EscalationNotice;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::escalation::{Choice, Situation};
use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_store::{
    Answering, Escalation, NewAnswer, NewEscalation, Settlement, StateDir, Store,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::actions::answer;
use crate::error::{MessageError, QuestionError};
use crate::notify::{channels, outbox};
use crate::observe::changes::{Changes, Interest};
use crate::{Context, Error};

/// What is written to when an escalation was raised or settled.
const NEWS: &str = "escalations";
/// How often to check for what causes no event: a deadline, or a process killed before it reported.
const OWN_PACE: Duration = Duration::from_secs(5);

/// What is to be asked.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// What the caller knows it by. Raised again under the same key, it is the same question: after a crash the caller
    /// simply raises it again, and finds it open or answered.
    pub key: &'a str,
    pub situation: &'a Situation,
    /// How long a person has, and the number of the option that counts without an answer.
    pub deadline: Option<(Duration, u32)>,
    /// Whether it is asked anew if it was settled before.
    pub anew: bool,
}

/// A question that was raised.
#[derive(Debug, Clone)]
pub struct Raised {
    pub escalation: Escalation,
    /// Why notifications failed. The question is open all the same.
    pub problems: Vec<String>,
}

/// Asks a person, unless that was done before.
pub fn raise(context: &Context, request: &Request<'_>) -> Result<Raised, Error> {
    let now = Timestamp::now();
    let deadline = request.deadline.and_then(|(within, option)| {
        let at = now.checked_add(SignedDuration::try_from(within).ok()?).ok()?;
        Some((at, option))
    });
    let mut store = context.store()?;
    let (escalation, _) = store.raise(&NewEscalation {
        id: &uuid::Uuid::now_v7().to_string(),
        key: request.key,
        situation: request.situation,
        raised: now,
        deadline,
        anew: request.anew,
    })?;
    context.state.tell_news(NEWS);
    let mut problems = Vec::new();
    // Also if the process that raised it was killed before it sent notifications.
    if escalation.settled.is_none() && escalation.notified.is_none() {
        let key = format!("escalation/{}/raised", escalation.id);
        let notice = notice(&escalation, Occasion::EscalationRaised);
        // An agent does not wait for channels that may take long.
        if !outbox::leave_to_supervisor(context, &mut store, &key, &notice) {
            problems = outbox::tell(context, &key, notice);
        }
        store.set_notified(&escalation.id, Timestamp::now())?;
    }
    Ok(Raised { escalation, problems })
}

/// Answers a question. The first answer counts; a later one fails with that answer.
pub fn answer(
    context: &Context,
    target: &str,
    option: &str,
    note: Option<&str>,
    by: &str,
) -> Result<Raised, Error> {
    let mut store = context.store()?;
    let escalation = find_in(&store, target)?;
    let number = escalation.number;
    let wrong = || {
        Error::Question(QuestionError::NoSuchOption {
            number,
            option: option.to_owned(),
            options: in_words(&escalation.options),
        })
    };
    let place = place_of(&escalation.options, option);
    // Of one that is settled that is said first: no option would be right.
    let option = place.or(escalation.settled.as_ref().map(|_| 1)).ok_or_else(wrong)?;
    let answer = NewAnswer { option, note, by, at: Timestamp::now() };
    match store.answer_escalation(&escalation.id, &answer)? {
        Answering::Taken(escalation) => {
            context.state.tell_news(NEWS);
            let notice = notice(&escalation, Occasion::EscalationAnswered);
            let pressed = carry_out(context, &escalation);
            let key = format!("escalation/{}/answered", escalation.id);
            let problems = outbox::tell(context, &key, notice);
            pressed?;
            Ok(Raised { escalation, problems })
        }
        Answering::TooLate(escalation) => Err(settled(&escalation)),
        Answering::NoSuchOption(_) => Err(wrong()),
        Answering::NoSuchEscalation => {
            Err(QuestionError::NoSuchEscalation { target: target.to_owned() }.into())
        }
    }
}

/// Chooses the option in the very dialog that the question is about, unless another process does it.
pub(crate) fn carry_out(context: &Context, escalation: &Escalation) -> Result<(), Error> {
    let Some(dialog) = &escalation.situation.dialog else { return Ok(()) };
    let chosen = context.store()?.escalation(&escalation.number.to_string())?;
    let Some(Settlement::Answered { option, .. }) =
        chosen.and_then(|one| one.settled).map(|settled| settled.outcome)
    else {
        return Ok(());
    };
    if !context.store()?.claim_answer(&escalation.id)? {
        return Ok(());
    }
    // Two dialogs may look the same: the request that was shown must be the one that waits.
    if last_request(context, &dialog.session)?.map(|(request, _)| request).unwrap_or_default()
        != dialog.request
    {
        let name = escalation.situation.session.clone().unwrap_or_default();
        return Err(MessageError::OtherDialog { name, question: String::new() }.into());
    }
    answer::answer(context, &dialog.session, &option.to_string(), Some(&dialog.mark)).map(drop)
}

/// The newest request for permission that an agent's hooks reported: when, and for what.
pub(crate) fn last_request(
    context: &Context,
    session: &str,
) -> Result<Option<(String, String)>, Error> {
    let signals = context.store()?.signals(session)?;
    let newest = signals.into_iter().rfind(|signal| signal.event == "PermissionRequest");
    Ok(newest.map(|signal| {
        let payload: Value =
            serde_json::from_str(&signal.payload).logged("read JSON").unwrap_or_default();
        (signal.at.as_nanosecond().to_string(), requested(&payload))
    }))
}

/// `Bash: rm -r build`: the tool and what it is given.
fn requested(payload: &Value) -> String {
    let tool = payload["tool_name"].as_str().unwrap_or_default();
    let input = &payload["tool_input"];
    let of = ["command", "file_path", "path", "url", "pattern"];
    let given = of.iter().find_map(|key| input[*key].as_str()).map(ToOwned::to_owned);
    let given =
        given.unwrap_or_else(|| if input.is_null() { String::new() } else { input.to_string() });
    let given: String = given.chars().take(2000).collect();
    if given.is_empty() { tool.to_owned() } else { format!("{tool}: {given}") }
}

/// Takes a question back that need no longer be answered; whether there was one.
pub fn withdraw(context: &Context, key: &str, because: &str) -> Result<bool, Error> {
    let was_open = context.store()?.withdraw(key, because, Timestamp::now())?;
    if was_open {
        context.state.tell_news(NEWS);
    }
    Ok(was_open)
}

/// Those that are open, or all, oldest first.
pub fn list(context: &Context, all: bool) -> Result<Vec<Escalation>, Error> {
    let mut store = context.store()?;
    settle_overdue(&context.state, &mut store)?;
    Ok(store.escalations(!all)?)
}

/// By number, or by id or its first eight letters.
pub fn find(context: &Context, target: &str) -> Result<Escalation, Error> {
    let mut store = context.store()?;
    settle_overdue(&context.state, &mut store)?;
    find_in(&store, target)
}

/// Waits until a question is settled, event-driven. `None` if the time is over or the caller is to stop before.
pub fn wait_for_answer(
    context: &Context,
    target: &str,
    at_most: Option<Duration>,
    stop: Option<&AtomicBool>,
) -> Result<Option<Escalation>, Error> {
    let begun = Instant::now();
    let mut store = context.store()?;
    let number = find_in(&store, target)?.number.to_string();
    context.state.news();
    let mut changes = Changes::new();
    changes.set(BTreeSet::from([(Interest::File(context.state.news_of(NEWS)), ())]));
    loop {
        // After the watch is set: what happened before is seen now, what comes later wakes us.
        store.check_files()?;
        settle_overdue(&context.state, &mut store)?;
        let escalation = find_in(&store, &number)?;
        if escalation.settled.is_some() {
            return Ok(Some(escalation));
        }
        let left = at_most.map(|limit| limit.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) || stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        let due = escalation.deadline.map(|at| {
            let left = at.duration_since(Timestamp::now()).max(SignedDuration::ZERO);
            Duration::try_from(left).unwrap_or_default()
        });
        let pace = [Some(OWN_PACE), left, due].into_iter().flatten().min().unwrap_or(OWN_PACE);
        changes.wait(pace);
    }
}

fn settle_overdue(state: &StateDir, store: &mut Store) -> Result<(), Error> {
    if !store.settle_overdue(Timestamp::now())?.is_empty() {
        state.tell_news(NEWS);
    }
    Ok(())
}

fn find_in(store: &Store, target: &str) -> Result<Escalation, Error> {
    let found = store.escalation(target)?;
    found.ok_or_else(|| {
        Error::Question(QuestionError::NoSuchEscalation { target: target.to_owned() })
    })
}

/// The number of an option that was named by it, or by the word of what it does.
fn place_of(options: &[Choice], option: &str) -> Option<u32> {
    let by_word = || {
        // All options of a dialog do the same: choose themselves.
        let named = |choice: &&Choice| choice.action.as_str() == option;
        let at = options.iter().position(|choice| {
            named(&choice) && choice.action != dogwatch_core::escalation::Action::Choose
        })?;
        u32::try_from(at + 1).ok()
    };
    let number = option.parse::<u32>().ok();
    let is_there =
        |number: &u32| (1..=options.len()).contains(&usize::try_from(*number).unwrap_or(0));
    number.filter(is_there).or_else(by_word)
}

fn in_words(options: &[Choice]) -> String {
    let words = (1..).zip(options).map(|(n, choice)| format!("{n} ({})", choice.action.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

fn settled(escalation: &Escalation) -> Error {
    let at = escalation.settled.as_ref().map_or(Timestamp::UNIX_EPOCH, |settled| settled.at);
    let how = match escalation.settled.as_ref().map(|settled| &settled.outcome) {
        Some(Settlement::Answered { option, action, by, .. }) => {
            format!("{by} chose {option} ({})", action.as_str())
        }
        Some(Settlement::Withdrawn { because }) => format!("withdrawn: {because}"),
        None => String::new(),
    };
    Error::Question(QuestionError::Settled { number: escalation.number, at, how })
}

fn notice(escalation: &Escalation, occasion: Occasion) -> Notice {
    let Escalation { number, situation, .. } = escalation;
    let headline = situation.headline();
    let (title, text) = if occasion == Occasion::EscalationAnswered {
        (format!("Answered: {headline}"), settled(escalation).to_string())
    } else {
        let how = format!("\nAnswer with: dogwatch escalations answer {number} --option N\n");
        (format!("Decision needed: {headline}"), dogwatch_core::escalation::text(situation) + &how)
    };
    let data = EscalationNotice {
        number: *number,
        id: escalation.id.clone(),
        kind: escalation.kind,
        situation: situation.clone(),
        options: escalation.options.clone(),
        settled: escalation.settled.as_ref().map(|settled| settled.outcome.clone()),
    };
    Notice { session: situation.session.clone(), ..channels::notice(occasion, title, text, &data) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::escalation::{Trigger, choices};

    #[test]
    fn options_by_number_and_word() {
        let options = choices(&Situation::new(Trigger::CommitFailed, "p"));
        let place = |text| place_of(&options, text);
        assert_eq!((place("1"), place("4"), place("pause")), (Some(1), Some(4), Some(3)));
        assert_eq!((place("0"), place("5"), place("leave"), place("")), (None, None, None, None));
    }
}
