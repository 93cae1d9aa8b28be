//! Tokens and costs from the transcripts of all agents. What was read is kept in a cache (`usage.db`), and a transcript is read on
//! from where it was last left.

mod budgets;
mod reading;
mod sessions;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::usage::{Bucket, By, Grouped, Label, PriceTable, SLOT_SECONDS, grouped};
use dogwatch_protocol::usage::{UsageReport, UsageRow};
use dogwatch_store::{KnownThread, Session, Store, UsageCache};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::observe::project;
use crate::{Context, Error, config};

pub use budgets::{Named, holding, is_about, standings};
pub use reading::read_all;
pub use sessions::of_sessions;
pub use sources::subagents_of;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    pub by: By,
    pub since: Option<Timestamp>,
}

/// The usage of all agents. A cache that cannot be used is reported, and not used.
pub fn report(context: &Context, query: Query) -> Result<(UsageReport, Vec<String>), Error> {
    let prices = prices(context)?;
    let mut notes = Vec::new();
    let mut cache = UsageCache::open(&context.state).or_else(|error| {
        notes.push(format!("{error}; all transcripts are read"));
        UsageCache::in_memory()
    })?;
    if let Err(error) = read_all(context, &mut cache) {
        notes.push(format!("{error}; all transcripts are read"));
        cache = UsageCache::in_memory()?;
        read_all(context, &mut cache)?;
    }
    let store = context.store()?;
    cache.take_links(&store).logged("note which session had a conversation");
    Ok((grouped_by(&cache, &store, query, &prices)?, notes))
}

/// The built-in prices with the user's over them.
pub fn prices(context: &Context) -> Result<PriceTable, Error> {
    Ok(config::read(context)?.prices())
}

fn grouped_by(
    cache: &UsageCache,
    store: &Store,
    query: Query,
    prices: &PriceTable,
) -> Result<UsageReport, Error> {
    let Query { by, since } = query;
    let first = since.map(|at| at.as_second().div_euclid(SLOT_SECONDS));
    let buckets = cache.buckets(first)?;
    let (models, threads) = (cache.models()?, cache.threads()?);
    let name = |id: i64| models.get(&id).map_or("unknown", String::as_str);
    let zone = TimeZone::system();
    let mut owners = Owners::default();
    if matches!(by, By::Session | By::Run | By::Tag) {
        owners = Owners::read(cache, store, by)?;
    }
    let mut projects: HashMap<String, String> = HashMap::new();
    let mut known: HashMap<i64, Vec<Label>> = HashMap::new();
    let mut labels_of = |bucket: &Bucket| match by {
        By::Model => vec![Some(name(bucket.model).to_owned())],
        By::Day => vec![Some(day(bucket.slot, &zone))],
        By::Hour => vec![Some(hour(bucket.slot, &zone))],
        By::Agent | By::Project | By::Session | By::Run | By::Tag => {
            let labels = known.entry(bucket.thread).or_insert_with(|| {
                let Some(thread) = threads.get(&bucket.thread) else { return vec![None] };
                match by {
                    By::Agent => vec![Some(thread.agent.clone())],
                    By::Project => vec![Some(project_of(&thread.cwd, &mut projects))],
                    _ => owners.labels(thread, by),
                }
            });
            labels.clone()
        }
    };
    let mut days: HashMap<i64, Vec<Label>> = HashMap::new();
    let labels = |bucket: &Bucket| match by {
        // Time zones are slow, and there are many buckets of each quarter of an hour.
        By::Day | By::Hour => days.entry(bucket.slot).or_insert_with(|| labels_of(bucket)).clone(),
        _ => labels_of(bucket),
    };
    let Grouped { groups, total } = grouped(&buckets, prices, name, labels);
    let mut rows: Vec<UsageRow> = groups
        .into_iter()
        .map(|(key, cost)| UsageRow {
            key,
            used: cost.used(),
            session: None,
            conversation: None,
            agent: None,
            project: None,
        })
        .collect();
    if by == By::Session {
        for row in &mut rows {
            owners.describe(row, &threads, &mut projects);
        }
    }
    if !matches!(by, By::Day | By::Hour) {
        let weight = |row: &UsageRow| (row.used.cost_usd.unwrap_or(0.0), row.used.tokens.total());
        rows.sort_by(|a, b| {
            let ((cost, tokens), (other_cost, other_tokens)) = (weight(a), weight(b));
            other_cost.total_cmp(&cost).then(other_tokens.cmp(&tokens)).then(a.key.cmp(&b.key))
        });
    }
    let (prices_of, total) = (prices.date.clone(), total.used());
    Ok(UsageReport { by, since, prices_of, rows, total })
}

fn at(slot: i64) -> Timestamp {
    Timestamp::from_second(slot.saturating_mul(SLOT_SECONDS)).unwrap_or_default()
}

fn day(slot: i64, zone: &TimeZone) -> String {
    at(slot).to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string()
}

fn hour(slot: i64, zone: &TimeZone) -> String {
    at(slot).to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:00%:z").to_string()
}

fn project_of(cwd: &str, known: &mut HashMap<String, String>) -> String {
    if let Some(found) = known.get(cwd) {
        return found.clone();
    }
    // A folder that is gone is its own project.
    let path = Path::new(cwd);
    let root = if path.is_absolute() { project::root(None, path) } else { PathBuf::from(cwd) };
    let root = if cwd.is_empty() { "unknown".to_owned() } else { root.display().to_string() };
    known.insert(cwd.to_owned(), root.clone());
    root
}

/// Which session, run or tag a conversation belongs to.
#[derive(Debug, Default)]
struct Owners {
    /// By conversation.
    sessions: HashMap<String, Session>,
    /// By session.
    runs: HashMap<String, String>,
    /// By session.
    tags: HashMap<String, Vec<String>>,
}

impl Owners {
    fn read(cache: &UsageCache, store: &Store, by: By) -> Result<Self, Error> {
        let mut owners = Self::default();
        let all = store.every_session()?;
        let links = cache.links()?;
        for session in &all {
            if let Some(conversation) = &session.conversation {
                owners.sessions.insert(conversation.clone(), session.clone());
            }
        }
        let by_id: HashMap<&str, &Session> = all.iter().map(|s| (&*s.id, s)).collect();
        for (conversation, session) in links {
            if let Some(session) = by_id.get(&*session) {
                owners.sessions.insert(conversation, (*session).clone());
            }
        }
        if by == By::Run {
            owners.runs = store.runs_of_sessions()?;
        }
        if by == By::Tag {
            owners.tags = store.all_tags()?;
        }
        Ok(owners)
    }

    fn labels(&self, thread: &KnownThread, by: By) -> Vec<Label> {
        let session = self.sessions.get(&thread.conversation);
        match (by, session) {
            (By::Session, Some(session)) => vec![Some(session.id.to_string())],
            (By::Session, None) => vec![Some(format!("{} {}", thread.agent, thread.conversation))],
            (By::Run, Some(session)) => vec![self.runs.get(&*session.id).cloned()],
            (By::Tag, Some(session)) => {
                let tags = self.tags.get(&*session.id).into_iter().flatten();
                let tags: Vec<Label> = tags.cloned().map(Some).collect();
                if tags.is_empty() { vec![None] } else { tags }
            }
            _ => vec![None],
        }
    }

    /// Replaces the id of a session in its row by what people call it.
    fn describe(
        &self,
        row: &mut UsageRow,
        threads: &HashMap<i64, KnownThread>,
        projects: &mut HashMap<String, String>,
    ) {
        let Some(key) = row.key.clone() else { return };
        let owned = self.sessions.iter().filter(|(_, session)| *session.id == *key);
        let mut conversations: Vec<(&String, &Session)> = owned.collect();
        if let Some((conversation, session)) = conversations.pop() {
            row.key = Some(session.name.clone());
            row.session = Some(session.id.clone());
            row.agent = Some(session.agent.clone());
            row.project = Some(session.project.display().to_string());
            row.conversation = conversations.is_empty().then(|| conversation.clone());
            return;
        }
        let is_it =
            |thread: &&KnownThread| format!("{} {}", thread.agent, thread.conversation) == key;
        if let Some(thread) = threads.values().find(is_it) {
            row.key = Some(thread.conversation.clone());
            row.agent = Some(thread.agent.clone());
            row.conversation = Some(thread.conversation.clone());
            row.project = Some(project_of(&thread.cwd, projects));
        }
    }
}
