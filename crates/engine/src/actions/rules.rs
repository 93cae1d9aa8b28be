//! Answers requests for permission by the user's rules.
//!
//! The answer is given by the hook that the agent calls for this very request, and waits for: it cannot reach another one, whatever the
//! screen shows by then. An agent that has no such hook is not answered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, decided};
use dogwatch_core::config::Config;
use dogwatch_core::rules::{self, Answer, Decision, Request, Rule};
use dogwatch_protocol::rules::{HookOutput, RulesAnswered};
use dogwatch_store::{PermissionRequest, Requests, Session, Store};
use jiff::Timestamp;
use serde_json::Value;

use crate::actions::hook::Payload;
use crate::observe::{asker, files, project, status};
use crate::worktree::trust;
use crate::{Context, Error, config};

/// The event of a request for permission.
pub const REQUEST: &str = "PermissionRequest";
/// What is kept of a command or a path.
const MAX_SHOWN: usize = 2_000;
/// Most requests that are rehearsed at once.
const MOST_REHEARSED: u32 = 10_000;

/// A request of the past, with what the rules of today say to it.
#[derive(Debug, Clone)]
pub struct Rehearsed {
    pub number: i64,
    pub at: Timestamp,
    pub session: String,
    pub name: String,
    pub agent: String,
    pub tool: String,
    pub asks: String,
    pub decision: Decision,
    pub was_answered: bool,
}

/// A rule, and the file that it is written in.
pub type Written = (Rule, PathBuf);

/// Rules as they are written now.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    pub rules: Vec<Written>,
    /// Why none of them answers in this project.
    pub off: Option<String>,
}

/// The user's rules, and those of the project that a directory is in.
pub fn list(context: &Context, dir: &Path) -> Result<Listed, Error> {
    let file = context.config.clone().unwrap_or_default();
    let of_user = read(&config::read(context)?).into_iter().map(|rule| (rule, file.clone()));
    let mut listed = Listed { rules: of_user.collect(), off: None };
    match trust::rules(context, &project::root(None, dir)) {
        Ok(of_project) => listed.rules.extend(of_project),
        Err(because) => listed.off = Some(because),
    }
    Ok(listed)
}

/// Pauses rules, or lets them answer again; whether that is new. Only a person lets them.
pub fn switch(context: &Context, on: bool, now: Timestamp) -> Result<bool, Error> {
    if on {
        asker::only_a_person(context)?;
    }
    let mut store = context.store()?;
    let by = context.caller.words(&store);
    Ok(store.switch_rules(on, &by, now)?)
}

/// The rules that hold for a session, or why none answers. An agent may write the files of its worktree: those of the work tree that
/// it was made from count.
fn of_session(
    context: &Context,
    store: &Store,
    config: &Config,
    session: &Session,
) -> Result<Vec<Rule>, String> {
    let mut all = read(config);
    let home = store.worktree(&session.id).map_err(|error| error.to_string())?;
    let dir = home.map_or_else(|| session.cwd.clone(), |worktree| worktree.home);
    let of_project = trust::rules(context, &project::root(None, &dir))?;
    all.extend(of_project.into_iter().map(|(rule, _)| rule));
    Ok(all)
}

/// What rules say, or that none answers.
fn decide(rules: &Result<Vec<Rule>, String>, request: &Request) -> Decision {
    match rules {
        Ok(rules) => rules::decide(rules, request),
        Err(because) => left_to_a_person(because.clone()),
    }
}

fn left_to_a_person(because: String) -> Decision {
    Decision { answer: Answer::Ask, rules: vec![], because }
}

fn read(config: &Config) -> Vec<Rule> {
    // Checked when the file was read.
    rules::read(&config.rule, "").unwrap_or_default()
}

/// A rule's answer to a request for permission.
#[derive(Debug, Clone)]
pub struct Given {
    /// What the hook is to print.
    pub output: HookOutput,
    record: RulesAnswered,
}

/// What rules answer to a request for permission; `None` leaves it to a person. The answer is recorded when it was given, by
/// [`record`].
pub fn answer(
    context: &Context,
    session: &str,
    payload: &Payload,
    now: Timestamp,
) -> Result<Option<Given>, Error> {
    let config = config::read(context)?;
    if payload.is_cut {
        return Ok(None);
    }
    let Ok(value) = serde_json::from_str::<Value>(&payload.text) else { return Ok(None) };
    let mut store = context.store()?;
    if store.rules_paused()?.is_some() {
        return Ok(None);
    }
    let Some(session) = store.by_id(session)? else { return Ok(None) };
    let Some((request, asks)) = request(&session, &value) else { return Ok(None) };
    let decision = decide(&of_session(context, &store, &config, &session), &request);
    let Decision { answer, rules, because } = &decision;
    decided(format_args!(
        "request for permission of {}: {} asks {asks:?}; rules {rules:?} say {answer:?}: {because}",
        session.id, request.tool
    ));
    let message = match decision.answer {
        Answer::Ask => return Ok(None),
        Answer::Allow => None,
        Answer::Deny => {
            Some(format!("dogwatch: refused by the user's rule ({})", decision.because))
        }
    };
    let record = RulesAnswered {
        tool: request.tool.clone(),
        asks,
        answer: decision.answer,
        rules: decision.rules,
        request: request.fingerprint(),
    };
    let output = HookOutput::permission(decision.answer, message);
    let may = store.may_answer_by_rule(&session.id, config.rules, &record, now)?;
    Ok(may.is_ok().then_some(Given { output, record }))
}

/// Records an answer that was given: what the journal says has happened.
pub fn record(
    context: &Context,
    session: &str,
    given: &Given,
    now: Timestamp,
) -> Result<(), Error> {
    Ok(context.store()?.record_rule_answer(session, &given.record, now)?)
}

/// What the rules of today say to requests since a time, oldest first.
pub fn rehearse(context: &Context, since: Option<Timestamp>) -> Result<Vec<Rehearsed>, Error> {
    let config = config::read(context)?;
    let mut store = context.store()?;
    let found = store.permission_requests(Requests {
        since,
        most: MOST_REHEARSED,
        ..Requests::default()
    })?;
    let mut past = Past { context, store: &store, config: &config, rules: BTreeMap::new() };
    let mut all: Vec<_> = found.iter().filter_map(|one| past.rehearse(one)).collect();
    all.reverse();
    Ok(all)
}

/// What the rules say to one request: by its number, or the last one of a session.
pub fn explain(context: &Context, target: &str) -> Result<Option<Rehearsed>, Error> {
    let config = config::read(context)?;
    let mut store = context.store()?;
    let numbered = match target.parse() {
        Ok(number) => {
            let number = Some(number);
            store.permission_requests(Requests { number, most: 1, ..Requests::default() })?
        }
        Err(_) => vec![],
    };
    // A session may have a number for a name.
    let found = if numbered.is_empty() {
        let session = status::shown(context, target)?.session.id;
        let session = Some(session.as_str());
        store.permission_requests(Requests { session, most: 1, ..Requests::default() })?
    } else {
        numbered
    };
    let mut past = Past { context, store: &store, config: &config, rules: BTreeMap::new() };
    Ok(found.first().and_then(|one| past.rehearse(one)))
}

/// Requests of the past, and the rules of their sessions.
struct Past<'a> {
    context: &'a Context,
    store: &'a Store,
    config: &'a Config,
    rules: BTreeMap<String, Result<Vec<Rule>, String>>,
}

impl Past<'_> {
    fn rehearse(&mut self, one: &PermissionRequest) -> Option<Rehearsed> {
        let signal = &one.signal;
        let session = self.store.by_id(&signal.session).logged("read a session").flatten()?;
        let payload: Value = serde_json::from_str(&signal.payload).logged("read JSON")?;
        let (request, asks) = request(&session, &payload)?;
        let is_cut = signal.payload.contains("bytes left out]");
        let decision = if is_cut {
            left_to_a_person("too long to be kept whole".to_owned())
        } else {
            let rules = || of_session(self.context, self.store, self.config, &session);
            let rules = self.rules.entry(signal.session.clone()).or_insert_with(rules);
            decide(rules, &request)
        };
        Some(Rehearsed {
            number: one.number,
            at: signal.at,
            session: session.id.to_string(),
            name: session.name,
            agent: request.agent,
            tool: request.tool,
            asks,
            decision,
            was_answered: signal.event != REQUEST,
        })
    }
}

/// What is asked for, with its paths as they are on disk, and for people.
fn request(session: &Session, payload: &Value) -> Option<(Request, String)> {
    let asked = rules::asked(payload)?;
    let folder = payload["cwd"].as_str().map_or_else(|| session.cwd.clone(), PathBuf::from);
    let text = |path: PathBuf| path.into_os_string().into_string().ok();
    let resolve = |path: &Path| files::resolved(path).and_then(text);
    // A path that cannot be resolved might be any.
    let paths: Option<Vec<String>> =
        asked.paths.iter().map(|path| resolve(&folder.join(path))).collect();
    let asks = asked.command.clone().unwrap_or_else(|| asked.paths.join(", "));
    let asks = asks.chars().take(MAX_SHOWN).collect();
    let request = Request {
        agent: session.agent.clone(),
        tags: session.tags.clone(),
        project: resolve(&session.cwd)?,
        paths: paths?,
        ..asked
    };
    Some((request, asks))
}
