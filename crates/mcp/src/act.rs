//! Tools that change something, each by the use case of the command of the same name.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::escalation::{Choice, Situation, Trigger};
use dogwatch_core::mcp::Right;
use dogwatch_core::status::Status;
use dogwatch_engine::actions::callback::{self, Subscriber};
use dogwatch_engine::actions::escalation::{self, Request as Question};
use dogwatch_engine::actions::spawn::{Place, Request, What};
use dogwatch_engine::actions::{answer as dialogs, job, send as messages, spawn as sessions};
use dogwatch_engine::error::{AgentError, MessageError, QuestionError};
use dogwatch_engine::observe::status::SessionStatus;
use dogwatch_engine::observe::{agents, project, status};
use dogwatch_protocol::mcp::{Asked, Sent, Spawned};
use dogwatch_store::Settlement;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::arguments::{AnswerArgs, AskPersonArgs, JobSubmitArgs, MOST_SEND, SendArgs, SpawnArgs};
use crate::brief;
use crate::call::{Reply, Trouble, must_be_allowed, reply};
use crate::read::job_answer;
use crate::server::Shared;

/// How long `job_submit` waits for the agent. If it is busy, its runner delivers the prompt later.
const SUBMIT: Duration = Duration::from_secs(3);
/// Longest result that a repeated `job_submit` returns.
const MOST_RESULT: usize = 4 * 1024;
/// Longest message or prompt. What is longer belongs into a file.
const MOST_TEXT: usize = 100 * 1024;
/// Most answers to a question, and the longest.
const MOST_ANSWERS: usize = 9;
const MOST_ANSWER: usize = 200;
/// Longest key.
const MOST_KEY: usize = 200;
/// Longest question to a person.
const MOST_QUESTION: usize = 20 * 1024;

pub(crate) fn spawn(shared: &Shared, args: &SpawnArgs) -> Reply {
    let (context, options) = (&shared.context, &shared.options);
    if args.unattended {
        let what = || "starting agents that act without asking for permission".to_owned();
        must_be_allowed(&options.policy, Right::Unattended, what)?;
    }
    must_be_short(args.prompt.as_deref().unwrap_or_default(), "prompt")?;
    if args.model.as_deref().is_some_and(|model| model.starts_with('-')) {
        return Err(Trouble::BadArguments("model: not the name of a model".to_owned()));
    }
    let subscriber = subscriber(shared, args.notify_me)?;
    let known = agents::names(context);
    if !known.contains(&args.agent) {
        let (name, known) = (brief::cut(&args.agent, 60), known.join(", "));
        return Err(AgentError::UnknownAgent { name, known }.into());
    }
    let cwd = args.cwd.as_ref().map_or_else(|| options.cwd.clone(), |dir| options.cwd.join(dir));
    let cwd: PathBuf = cwd.canonicalize().unwrap_or(cwd);
    let cursor = context.store()?.last_entry()?;
    let request = Request {
        what: What::Agent { name: args.agent.clone(), extra_args: Vec::new() },
        prompt: args.prompt.clone(),
        name: args.name.clone(),
        story: None,
        tags: Vec::new(),
        project: project::root(None, &cwd),
        cwd,
        model: args.model.clone(),
        resume: None,
        unattended: args.unattended,
        env: Vec::new(),
        caller_env: options.env.clone(),
        place: Place::OwnSession,
        membership: None,
        when_limited: None,
        subscriber,
    };
    let spawned = sessions::spawn(context, &request, &(options.clock)())?;
    let reduced = spawned.reduced.as_ref().map(dogwatch_core::startup::Reduced::note);
    reply(&Spawned {
        name: spawned.name.to_string(),
        id: spawned.id,
        agent: spawned.agent,
        cwd: spawned.cwd.to_string_lossy().into_owned(),
        caution: reduced.or(spawned.caution),
        held_until: spawned.held_until,
        cursor,
    })
}

pub(crate) fn send(shared: &Shared, args: &SendArgs, id: &str, is_cancelled: &AtomicBool) -> Reply {
    if args.wait > MOST_SEND {
        return Err(Trouble::BadArguments(format!("wait must be at most {MOST_SEND} seconds")));
    }
    must_be_short(&args.text, "text")?;
    let context = &shared.context;
    must_be_managed(shared, &status::one(context, &args.session, Timestamp::now())?)?;
    let cursor = context.store()?.last_entry()?;
    let request = messages::Request {
        target: &args.session,
        text: &args.text,
        slash: false,
        when: if args.now { When::Now } else { When::Idle },
        timeout: Some(Duration::from_secs(args.wait.into())),
    };
    let receipt = match subscriber(shared, args.notify_me)? {
        Some(subscriber) => job::send_tracked(context, &request, id, &subscriber, is_cancelled)?,
        None => messages::send_unless(context, &request, id, is_cancelled)?,
    };
    let is_taken_back = matches!(receipt.outcome, Outcome::Refused { .. });
    if is_taken_back && is_cancelled.load(Ordering::SeqCst) {
        return Err(Trouble::Cancelled);
    }
    let proof = match &receipt.outcome {
        Outcome::Delivered { proof, .. } => Some(*proof),
        _ => None,
    };
    reply(&Sent {
        id: receipt.message.id,
        name: receipt.name,
        outcome: receipt.outcome.as_str().to_owned(),
        proof,
        because: receipt.outcome.because().map(|text| brief::cut(text, 300)),
        cursor,
    })
}

pub(crate) fn job_submit(shared: &Shared, args: &JobSubmitArgs) -> Reply {
    must_be_key(&args.key)?;
    must_be_short(&args.prompt, "prompt")?;
    let context = &shared.context;
    let judged = status::one(context, &args.session, Timestamp::now())?;
    must_be_managed(shared, &judged)?;
    let cursor = context.store()?.last_entry()?;
    let session = judged.seen.session.id;
    // Two calls with one key at the same moment are one after the other.
    let mut hasher = DefaultHasher::new();
    (session.as_str(), &args.key).hash(&mut hasher);
    let lock = usize::try_from(hasher.finish() % (shared.locks.len() as u64)).unwrap_or(0);
    // A poisoned lock guards nothing that could be broken.
    let _lock = shared.locks[lock].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let id = |session: &str| job_id(session, &args.key);
    let subscriber = subscriber(shared, args.notify_me)?;
    let (submitted, is_new) =
        job::submit_once(context, &session, &args.prompt, id, SUBMIT, subscriber.as_ref())?;
    let mut answer = job_answer(context, &submitted.job, MOST_RESULT, cursor);
    answer.repeated = !is_new;
    answer.because = answer.because.or(submitted.trouble.map(|text| brief::cut(&text, 300)));
    reply(&answer)
}

/// The same for the same key, whoever asks, and however often dogwatch was started since.
fn job_id(session: &str, key: &str) -> String {
    let digest = Sha256::new().chain_update(session).chain_update([0]).chain_update(key).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

pub(crate) fn answer(shared: &Shared, args: &AnswerArgs) -> Reply {
    let context = &shared.context;
    let judged = status::one(context, &args.session, Timestamp::now())?;
    must_be_managed(shared, &judged)?;
    let name = judged.seen.session.name.clone();
    let Status::Waiting { r#for, dialog, question, .. } = &judged.verdict.status else {
        let state = judged.verdict.status.as_str();
        return Err(MessageError::NoDialog { name, state }.into());
    };
    // One that has no mark yet is not drawn yet: the use case waits for it, and compares.
    if dialog.as_ref().is_some_and(|mark| *mark != args.mark) {
        let question = question.clone().unwrap_or_default();
        return Err(MessageError::OtherDialog { name, question }.into());
    }
    if let Some(right) = Right::to_answer(*r#for) {
        let kind = r#for.as_str();
        let what = || format!("answering a dialog of {name} for {kind}: a person decides that");
        must_be_allowed(&shared.options.policy, right, what)?;
    }
    let id = judged.seen.session.id;
    let answered = dialogs::answer(context, &id, &args.choice, Some(&args.mark))?;
    reply(&answered)
}

pub(crate) fn ask_person(shared: &Shared, args: &AskPersonArgs) -> Reply {
    if args.question.trim().is_empty() || args.question.len() > MOST_QUESTION {
        let problem = format!("question must have 1 to {MOST_QUESTION} bytes");
        return Err(Trouble::BadArguments(problem));
    }
    let is_bad = |answer: &String| answer.trim().is_empty() || answer.len() > MOST_ANSWER;
    if args.options.len() > MOST_ANSWERS || args.options.iter().any(is_bad) {
        let problem = format!("options: at most {MOST_ANSWERS}, of 1 to {MOST_ANSWER} bytes each");
        return Err(Trouble::BadArguments(problem));
    }
    if let Some(key) = &args.key {
        must_be_key(key)?;
    }
    let context = &shared.context;
    let session = match &args.session {
        Some(name) => Some(status::one(context, name, Timestamp::now())?.seen.session.name),
        None => None,
    };
    let cursor = context.store()?.last_entry()?;
    let answers = args.options.clone();
    let situation =
        Situation { session, answers, ..Situation::new(Trigger::Asked, &args.question) };
    let own = args.key.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let key = format!("{}{own}", whose(shared));
    let request = Question { key: &key, situation: &situation, deadline: None, anew: false };
    let raised = escalation::raise(context, &request)?.escalation;
    if raised.situation.problem != situation.problem {
        return Err(QuestionError::KeyReused { number: raised.number }.into());
    }
    let (state, answer, note, by) = match raised.settled.map(|settled| settled.outcome) {
        None => ("open", None, None, None),
        Some(Settlement::Answered { option, note, by, .. }) => {
            ("answered", label(&raised.options, option), note, Some(by))
        }
        Some(Settlement::Withdrawn { because }) => ("withdrawn", None, Some(because), None),
    };
    reply(&Asked { number: raised.number, state: state.to_owned(), answer, note, by, cursor })
}

/// The caller's own session, if it wants to be told.
fn subscriber(shared: &Shared, is_wanted: bool) -> Result<Option<Subscriber>, Trouble> {
    Ok(is_wanted.then(|| callback::subscriber(&shared.context)).transpose()?)
}

/// The text of the answer that was chosen.
pub(crate) fn label(options: &[Choice], option: u32) -> Option<String> {
    let at = usize::try_from(option).ok()?.checked_sub(1)?;
    options.get(at).map(|choice| choice.label.clone())
}

/// How questions of this agent are known.
pub(crate) fn whose(shared: &Shared) -> String {
    let caller = &shared.context.caller;
    format!("mcp {} ", caller.session.as_deref().unwrap_or(&caller.user))
}

fn must_be_short(text: &str, field: &str) -> Result<(), Trouble> {
    if text.len() <= MOST_TEXT {
        return Ok(());
    }
    let problem = format!(
        "{field} has {} bytes, at most {MOST_TEXT}; put it into a file and name that",
        text.len()
    );
    Err(Trouble::BadArguments(problem))
}

fn must_be_key(key: &str) -> Result<(), Trouble> {
    if key.trim().is_empty() || key.len() > MOST_KEY {
        return Err(Trouble::BadArguments(format!("key must have 1 to {MOST_KEY} bytes")));
    }
    Ok(())
}

fn must_be_managed(shared: &Shared, judged: &SessionStatus) -> Result<(), Trouble> {
    if judged.seen.is_ours() {
        return Ok(());
    }
    let name = &judged.seen.session.name;
    let what = || format!("{name} was not started by dogwatch");
    must_be_allowed(&shared.options.policy, Right::Unmanaged, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_job_of_one_session() {
        assert_eq!(job_id("s", "k"), job_id("s", "k"));
        assert_ne!(job_id("s", "k"), job_id("t", "k"));
        assert_ne!(job_id("sk", ""), job_id("s", "k"));
        assert!(dogwatch_protocol::id::is_id(&job_id("s", "k")));
    }
}
