//! The usage of sessions, for `status`: of the conversation that each has now.

use std::collections::HashMap;

use dogwatch_base::log::Logged as _;
use dogwatch_core::usage::{Cost, PriceTable};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::usage::Used;
use dogwatch_store::{Session, UsageCache};

use super::prices;
use super::reading::{self, Unread};
use super::sources::{self, Source};
use crate::observe::conversations;
use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// `status` reads no more than this, so that it is never slow. What is left is read by the next one, or by `usage`.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
const AGENTS: [&str; 3] = ["claude", "codex", "gemini"];

/// What sessions have used, as far as their transcripts are known and read.
pub fn of_sessions(
    context: &Context,
    reader: &StatusReader<'_>,
    sessions: &[&Session],
) -> HashMap<SessionId, Used> {
    let is_read = |session: &&&Session| AGENTS.contains(&&*session.agent);
    let sessions: Vec<&Session> = sessions.iter().filter(is_read).copied().collect();
    if sessions.is_empty() {
        return HashMap::new();
    }
    // Neither a mistake in the configuration nor a cache that cannot be used must keep `status` from its answer.
    let prices = prices(context).logged("read the configuration");
    let prices = prices.unwrap_or_else(|| PriceTable::with(Vec::new()));
    let Some(mut cache) = UsageCache::open(&context.state).logged("open the cache of usage") else {
        return HashMap::new();
    };
    let Some(models) = read_on(&mut cache, reader, &sessions).logged("read transcripts") else {
        return HashMap::new();
    };
    let used = |session: &&Session| {
        let conversation = models.conversations.get(&session.id)?;
        let used = cost(&cache, &models.names, &session.agent, conversation, 0, &prices);
        let used = used.logged("read the cache of usage")?.used();
        Some((session.id.clone(), used))
    };
    cache.in_one_view(|| sessions.iter().filter_map(used).collect())
}

struct Known {
    names: HashMap<i64, String>,
    /// The conversation of each session whose transcript was read to its end.
    conversations: HashMap<SessionId, String>,
}

/// What is to be read for a session before its conversation is known to its end.
struct Plan {
    session: SessionId,
    conversation: String,
    unread: Vec<Unread>,
    is_linked: bool,
}

/// Reads what the transcripts of these sessions have more.
fn read_on(
    cache: &mut UsageCache,
    reader: &StatusReader<'_>,
    sessions: &[&Session],
) -> Result<Known, Error> {
    let plans: Vec<Plan> = cache.in_one_view(|| {
        sessions
            .iter()
            .filter_map(|session| plan(cache, reader, session).transpose())
            .collect::<Result<_, _>>()
    })?;
    let mut most = MOST_BYTES;
    let (mut unread, mut links) = (Vec::new(), Vec::new());
    let mut conversations = HashMap::new();
    for plan in plans {
        let length: u64 = plan.unread.iter().map(Unread::length).sum();
        if length > most {
            continue;
        }
        most -= length;
        unread.extend(plan.unread);
        if !plan.is_linked {
            links.push((plan.conversation.clone(), plan.session.clone()));
        }
        conversations.insert(plan.session, plan.conversation);
    }
    cache.add(&reading::read_files(&unread))?;
    for (conversation, session) in links {
        cache.link(&conversation, &session)?;
    }
    Ok(Known { names: cache.models()?, conversations })
}

fn plan(
    cache: &UsageCache,
    reader: &StatusReader<'_>,
    session: &Session,
) -> Result<Option<Plan>, Error> {
    let plan = |conversation: String, unread, is_linked| Plan {
        session: session.id.clone(),
        conversation,
        unread,
        is_linked,
    };
    let read = reader.memory(&session.id).and_then(|memory| memory.transcript_read());
    let path = read.map(ToOwned::to_owned).or_else(|| reader.transcript(session));
    let Some(path) = path else {
        if !session.is_over() {
            return Ok(None);
        }
        // One that has ended: what was read of it before.
        let known = match &session.conversation {
            Some(conversation) => vec![conversation.clone()],
            None => cache.conversations_of(&session.id)?,
        };
        let [only] = known.as_slice() else { return Ok(None) };
        let is_known = !cache.buckets_of(&session.agent, only, 0)?.is_empty();
        return Ok(is_known.then(|| plan(only.clone(), Vec::new(), true)));
    };
    let stem = || path.file_stem().and_then(|stem| stem.to_str()).map(ToOwned::to_owned);
    let conversation = match &*session.agent {
        "claude" => stem(),
        "codex" => conversations::id_of(&path),
        _ => session.conversation.clone(),
    };
    let (Some(conversation), Some(source)) = (conversation, Source::of(&path, &session.agent))
    else {
        return Ok(None);
    };
    let mut all = vec![source];
    if session.agent == "claude" {
        sources::subagents(&path, &mut all);
    }
    let is_linked = cache.is_linked(&conversation, &session.id)?;
    Ok(Some(plan(conversation, reading::unread(cache, all)?, is_linked)))
}

/// What a conversation has used since a quarter of an hour.
pub(super) fn cost(
    cache: &UsageCache,
    models: &HashMap<i64, String>,
    agent: &str,
    conversation: &str,
    since: i64,
    prices: &PriceTable,
) -> Result<Cost, Error> {
    let mut cost = Cost::default();
    for bucket in cache.buckets_of(agent, conversation, since)? {
        let name = models.get(&bucket.model).map_or("unknown", String::as_str);
        cost.add(&bucket, name, prices.rates(name, bucket.slot, bucket.length).as_ref());
    }
    Ok(cost)
}
