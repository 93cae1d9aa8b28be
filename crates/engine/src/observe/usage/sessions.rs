//! The usage of sessions, for `status`: of the conversation that each has now.

use std::collections::HashMap;

use dogwatch_base::log::Logged as _;
use dogwatch_core::usage::{Cost, PriceTable};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::usage::Used;
use dogwatch_store::{Session, UsageCache};

use super::sources::{self, Source};
use super::{prices, reading};
use crate::observe::conversations;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// `status` reads no more than this, so that it is never slow. What is left is read by the next one, or by `usage`.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
const AGENTS: [&str; 3] = ["claude", "codex", "gemini"];

/// What sessions have used, as far as their transcripts are known and read.
pub fn of_sessions(
    context: &Context,
    reader: &StatusReader<'_>,
    statuses: &[SessionStatus],
) -> HashMap<SessionId, Used> {
    let sessions = statuses.iter().map(|one| &one.seen.session);
    let sessions: Vec<&Session> = sessions.filter(|s| AGENTS.contains(&&*s.agent)).collect();
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
    sessions.iter().filter_map(used).collect()
}

struct Known {
    names: HashMap<i64, String>,
    /// The conversation of each session whose transcript was read to its end.
    conversations: HashMap<SessionId, String>,
}

/// Reads what the transcripts of these sessions have more.
fn read_on(
    cache: &mut UsageCache,
    reader: &StatusReader<'_>,
    sessions: &[&Session],
) -> Result<Known, Error> {
    let mut most = MOST_BYTES;
    let mut conversations = HashMap::new();
    for session in sessions {
        let Some(path) = reader.transcript(session) else {
            if !session.is_over() {
                continue;
            }
            // One that has ended: what was read of it before.
            let known = match &session.conversation {
                Some(conversation) => vec![conversation.clone()],
                None => cache.conversations_of(&session.id)?,
            };
            if let [only] = known.as_slice()
                && !cache.buckets_of(&session.agent, only, 0)?.is_empty()
            {
                conversations.insert(session.id.clone(), only.clone());
            }
            continue;
        };
        let stem = || path.file_stem().and_then(|stem| stem.to_str()).map(ToOwned::to_owned);
        let conversation = match &*session.agent {
            "claude" => stem(),
            "codex" => conversations::id_of(&path),
            _ => session.conversation.clone(),
        };
        let (Some(conversation), Some(source)) = (conversation, Source::of(&path, &session.agent))
        else {
            continue;
        };
        let mut all = vec![source];
        if session.agent == "claude" {
            sources::subagents(&path, &mut all);
        }
        if reading::read_some(cache, all, &mut most)? {
            cache.link(&conversation, &session.id)?;
            conversations.insert(session.id.clone(), conversation);
        }
    }
    Ok(Known { names: cache.models()?, conversations })
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
