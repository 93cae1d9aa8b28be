//! Searches titles, prompts, conversations and last screens.
//!
//! The index is a database of its own. Whoever searches adds what is new to it first, within a time; nothing runs in the background.

mod index;
mod sources;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_core::search::expression;
use dogwatch_store::{Found, Question, SearchIndex, SearchSource, Session};
use jiff::Timestamp;

pub use index::Progress;

use crate::notify::outward;
use crate::observe::agents::Profiles;
use crate::{Context, Error};
use index::Indexer;
use sources::Sessions;

/// What to search for, and where.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub text: String,
    pub limit: usize,
    pub agents: Vec<String>,
    /// Only below this folder.
    pub project: Option<PathBuf>,
    pub since: Option<Timestamp>,
    /// How long to add to the index; `None` without an end.
    pub patience: Option<Duration>,
}

/// What stands before and after a match in a snippet.
pub const MARKS: (&str, &str) = ("\u{2}", "\u{3}");

/// A conversation or a session that matches.
#[derive(Debug, Clone)]
pub struct Hit {
    pub found: Found,
    /// The session of dogwatch that had it last.
    pub session: Option<Session>,
    /// The command that shows it, or goes on with it.
    pub open: Option<Vec<String>>,
}

/// The answer.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub hits: Vec<Hit>,
    /// There are more than the limit.
    pub is_more: bool,
    /// What was added to the index before.
    pub progress: Progress,
}

/// Searches, after what is new was added to the index. `told` is called now and then while that lasts.
pub fn search(
    context: &Context,
    request: &Request,
    told: &mut dyn FnMut(&Progress),
) -> Result<Answer, Error> {
    let store = context.store()?;
    let mut index = SearchIndex::open(&context.state)?;
    let sessions = Sessions::read(context, &store)?;
    let progress = refresh(context, &mut index, &sessions, request.patience, told)?;
    let mut answer = Answer { progress, ..Answer::default() };
    let Some(expression) = expression(&request.text) else { return Ok(answer) };
    let fits = |source: &SearchSource| fits(request, source, sessions.of(source));
    // A session and its transcript may both match: twice as many are enough for that.
    let limit = request.limit.saturating_mul(2).max(1);
    let question = Question { expression: &expression, limit, marks: MARKS };
    let (found, is_more) = index.ask(&question, fits)?;
    let mut profiles = Profiles::default();
    let mut of_session: HashMap<String, usize> = HashMap::new();
    for found in found {
        let session = sessions.of(&found.source);
        if let Some(session) = session {
            if let Some(at) = of_session.get(session.id.as_str()) {
                let known: &mut Hit = &mut answer.hits[*at];
                merge(&mut known.found, found);
                continue;
            }
            of_session.insert(session.id.to_string(), answer.hits.len());
        }
        let open = open(context, &mut profiles, &found.source, session);
        answer.hits.push(Hit { found, session: session.cloned(), open });
    }
    answer.is_more = is_more || answer.hits.len() > request.limit;
    answer.hits.truncate(request.limit);
    Ok(answer)
}

/// What a conversation says is of more interest than where else a session has the same words.
fn merge(known: &mut Found, other: Found) {
    let is_of_session = |found: &Found| found.source.path.starts_with("session:");
    let matches = known.matches + other.matches;
    if is_of_session(known) && !is_of_session(&other) && known.said != "title" {
        *known = other;
    }
    known.matches = matches;
}

/// Adds to the index what is new, as far as there is time.
fn refresh(
    context: &Context,
    index: &mut SearchIndex,
    sessions: &Sessions,
    patience: Option<Duration>,
    told: &mut dyn FnMut(&Progress),
) -> Result<Progress, Error> {
    let mut known = index.sources()?;
    let mut work = Vec::new();
    for piece in sources::all(context, sessions) {
        let known = known.remove(&piece.path);
        if !known.as_ref().is_some_and(|known| piece.is_known(known)) {
            work.push((piece, known));
        }
    }
    if work.is_empty() {
        return Ok(Progress::default());
    }
    let Some(_lock) = index::lock(context)? else {
        let bytes = work.iter().map(|(piece, known)| piece.unread(known.as_ref())).sum();
        return Ok(Progress { sources: work.len(), bytes, is_busy: true, ..Progress::default() });
    };
    let until = patience.map(|patience| Instant::now() + patience);
    Indexer { index, until, mask: outward::text }.run(&work, told)
}

/// Removes from the index what is no longer there: transcripts that were removed, and sessions that dogwatch forgot. Returns how
/// many these were.
pub(crate) fn forget_gone(context: &Context, known: &HashSet<String>) -> Result<usize, Error> {
    if !SearchIndex::path(&context.state).exists() {
        return Ok(0);
    }
    let mut index = SearchIndex::open(&context.state)?;
    let is_gone = |source: &SearchSource| match source.path.split_once(':') {
        Some(("session", id)) => !known.contains(id),
        Some(("opencode", _)) => false,
        _ => std::fs::metadata(&source.path)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound),
    };
    let sources = index.sources()?;
    let gone: Vec<i64> = sources.values().filter(|s| is_gone(s)).map(|source| source.id).collect();
    index.forget(&gone)?;
    Ok(gone.len())
}

fn fits(request: &Request, source: &SearchSource, session: Option<&Session>) -> bool {
    let is_since = request.since.is_none_or(|since| source.latest >= since.as_millisecond());
    let is_agents = request.agents.is_empty() || request.agents.contains(&source.agent);
    let is_projects = request.project.as_ref().is_none_or(|root| {
        let is_below = |folder: &Path| folder.starts_with(root);
        source.cwd.as_deref().map(Path::new).is_some_and(is_below)
            || session.is_some_and(|session| is_below(&session.project))
    });
    is_since && is_agents && is_projects
}

/// How to see it: attach to what runs, else resume the conversation, else read the last screen.
fn open(
    context: &Context,
    profiles: &mut Profiles,
    source: &SearchSource,
    session: Option<&Session>,
) -> Option<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<String>>();
    if let Some(session) = session.filter(|session| !session.is_over()) {
        return Some(words(&["dogwatch", "attach", &session.name]));
    }
    let conversation = source.conversation.as_deref();
    let profile = profiles.of(context, &source.agent);
    let can_resume = profile.is_some_and(|profile| !profile.launch.resume.is_empty());
    let cwd = source.cwd.as_deref().filter(|cwd| Path::new(cwd).is_dir());
    if let Some(id) = conversation.filter(|id| can_resume && is_there(source, id)) {
        let mut all = words(&["dogwatch", "spawn", &source.agent, "--resume", id]);
        all.extend(cwd.into_iter().flat_map(|cwd| words(&["--cwd", cwd])));
        return Some(all);
    }
    if let Some(id) = conversation.filter(|_| source.agent == "opencode") {
        let mut all = words(&["dogwatch", "spawn", "opencode"]);
        all.extend(cwd.into_iter().flat_map(|cwd| words(&["--cwd", cwd])));
        all.extend(words(&["--", "--session", id]));
        return Some(all);
    }
    session.map(|session| words(&["dogwatch", "capture", &session.name]))
}

/// Whether the conversation is still on disk, as far as the index knows where.
fn is_there(source: &SearchSource, id: &str) -> bool {
    let is_id = dogwatch_core::id::is_id(id);
    is_id && (source.path.contains(':') || Path::new(&source.path).exists())
}
