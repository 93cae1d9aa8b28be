//! Which conversation belongs to which session: drift classes C, D, G and K.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::Value;

use super::drift::fields;
use super::model::CLAUDE;
use super::observed::{Artifact, Conversation, SeenPane};
use super::reconcile::Pass;
use super::{Drift, Edit, Entry, Kind, Status};

/// Tolerance between file systems and clocks.
const SLACK: SignedDuration = SignedDuration::from_secs(2);

pub(super) fn check(pass: &mut Pass<'_>) {
    report_shared(pass);
    let mut claims = claims(pass);
    let entries = pass.checkable.clone();
    for (name, entry) in &entries {
        match entry.conversation() {
            Some(id) => {
                report_stale(pass, name, entry, id);
                report_changed(pass, name, entry, id);
            }
            None if entry.status != Status::Other => {
                if let Some(id) = conversation_of(pass, &entries, name, entry, &claims) {
                    fill_in(pass, name, entry, &id);
                    claims.insert(id, (*name).to_owned());
                }
            }
            None => {}
        }
    }
}

/// The owner of each conversation according to the whole file, also by entries that are not checked now.
fn claims(pass: &Pass<'_>) -> BTreeMap<String, String> {
    let of = |(name, entry): (&String, &Entry)| {
        let identities = entry.identities.values().chain(&entry.own_id).cloned();
        identities.map(|id| (id, name.clone())).collect::<Vec<_>>()
    };
    pass.registry.sessions.iter().flat_map(of).collect()
}

/// The conversation of a session that has none recorded, if it is certain.
fn conversation_of(
    pass: &mut Pass<'_>,
    entries: &[(&str, &Entry)],
    name: &str,
    entry: &Entry,
    claims: &BTreeMap<String, String>,
) -> Option<String> {
    let observed = pass.observed;
    let pane = pass.alive.get(name).copied();
    let said = pane.and_then(|pane| pane.conversation.as_ref());
    if let Some(id) = said.or_else(|| observed.remembered.get(name)) {
        // Until its first message it has an id, but nothing to resume.
        let exists = matches!(observed.artifacts.get(id), Some(Artifact::Found(_)));
        return match claims.get(id) {
            _ if !exists => None,
            None => Some(id.clone()),
            Some(other) => {
                pass.found.push(shared(id, &[other, name]));
                None
            }
        };
    }
    let pane = pane?;
    let folder = folder(pass, entry, pane);
    // With two candidates it is ambiguous, so neither is taken.
    let rivals = entries.iter().filter(|(other, rival)| {
        let alive = pass.alive.get(other);
        *other != name
            && rival.agent == entry.agent
            && rival.conversation().is_none()
            && alive.is_some_and(|pane| self::folder(pass, rival, pane) == folder)
    });
    if rivals.count() > 0 {
        return None;
    }
    let said_by_others: BTreeSet<&String> = observed
        .sessions
        .values()
        .flat_map(|s| &s.panes)
        .filter_map(|p| p.conversation.as_ref())
        .collect();
    let fits = |found: &&Conversation| {
        found.agent == entry.agent
            && Some(found.folder.as_str()) == folder
            && !claims.contains_key(&found.id)
            && !said_by_others.contains(&found.id)
            && entry.begun().is_none_or(|begun| found.modified.duration_since(begun) >= -SLACK)
    };
    let newest = observed.conversations.iter().filter(fits).max_by_key(|found| found.modified);
    newest.map(|found| found.id.clone())
}

fn folder<'a>(pass: &Pass<'a>, entry: &'a Entry, pane: &'a SeenPane) -> Option<&'a str> {
    match entry.cwd.as_ref().and_then(|cwd| pass.observed.folders.get(cwd)) {
        Some(Some(real)) => Some(real),
        _ => Some(pane.cwd.as_str()).filter(|cwd| !cwd.is_empty()),
    }
}

fn fill_in(pass: &mut Pass<'_>, name: &str, entry: &Entry, id: &str) {
    let mut fields = vec![format!("agent_identities.{}.session_id", entry.agent)];
    if entry.agent == CLAUDE {
        fields.insert(0, "claude_session_id_own".to_owned());
    }
    let with = |value: Value| -> Value {
        fields
            .iter()
            .map(|field| (field.clone(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let message = format!("{name}: conversation id found: {id}");
    let drift = Drift::new(Kind::IdAppeared, name, id, message)
        .changing(with(Value::Null), with(id.into()));
    pass.edits.extend(fields.iter().map(|field| Edit::field(name, field, id)));
    pass.found.push(drift);
}

fn report_stale(pass: &mut Pass<'_>, name: &str, entry: &Entry, id: &str) {
    match pass.observed.artifacts.get(id) {
        Some(Artifact::Found(_)) => {}
        Some(Artifact::Missing(path)) => {
            let message =
                format!("{name}: the conversation {id} is not on disk: {path}; the id is kept");
            let about = fields([("agent", entry.agent.as_str().into()), ("session_id", id.into())]);
            pass.found.push(Drift::new(Kind::IdStale, name, id, message).about(about));
        }
        None => {
            let name = pass.registry.sessions.get_key_value(name).map(|(name, _)| name.as_str());
            pass.unsure.extend(name);
        }
    }
}

/// The agent reports another conversation than the file has.
fn report_changed(pass: &mut Pass<'_>, name: &str, entry: &Entry, id: &str) {
    let said = pass.alive.get(name).and_then(|pane| pane.conversation.as_deref());
    let Some(said) = said.filter(|said| *said != id) else { return };
    if !matches!(pass.observed.artifacts.get(said), Some(Artifact::Found(_))) {
        return;
    }
    let message = format!("{name}: now in another conversation: {said}; the registry has {id}");
    let about = fields([("agent", entry.agent.as_str().into()), ("session_id", id.into())]);
    let drift = Drift::new(Kind::IdChanged, name, said, message)
        .about(about)
        .hinted("write the id to resume into the registry");
    pass.found.push(drift);
}

/// One conversation that several running sessions claim.
fn report_shared(pass: &mut Pass<'_>) {
    let mut holders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, entry) in &pass.checkable {
        if let (Status::Running, Some(id)) = (&entry.status, entry.conversation()) {
            holders.entry(id).or_default().push(name);
        }
    }
    let shared = holders.into_iter().filter(|(_, names)| names.len() > 1);
    let drifts: Vec<Drift> = shared.map(|(id, names)| self::shared(id, &names)).collect();
    pass.found.extend(drifts);
}

fn shared(id: &str, names: &[&str]) -> Drift {
    let mark = format!("{id} {}", names.join(" "));
    let message =
        format!("{}: the conversation {id} is claimed by {}", names[0], names.join(" and "));
    let mut drift = Drift::new(Kind::IdShared, names[0], &mark, message)
        .about(fields([("session_id", id.into())]))
        .hinted("end one of them, or start it with its own conversation");
    drift.sessions = names.iter().map(|name| (*name).to_owned()).collect();
    drift
}
