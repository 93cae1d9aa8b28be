use dogwatch_protocol::event_data::SessionDeleted;
use std::fs;
use std::path::PathBuf;

use dogwatch_core::registry::{
    Artifact, Edit, Entry, InPane, Observed, Registry, SeenPane, Status, TerminatedBy,
};
use dogwatch_store::Act;
use jiff::Timestamp;
use serde_json::Value;

use crate::Error;
use crate::actions::kill::{self, By};
use crate::error::{RegistryError, SessionError};
use crate::observe::agents;
use crate::observe::conversations::Finder;
use crate::observe::snapshot;
use crate::registry::ManagedRegistry;
use crate::registry::entry_edits::{
    announce, conversation_fields, must_be_here, seconds, write_down,
};

/// The result of deleting a session.
#[derive(Debug, Clone)]
pub struct Deleted {
    pub by: By,
    /// The conversation that can still be resumed.
    pub conversation: Option<String>,
    /// Files of the conversation that were removed.
    pub purged: Vec<PathBuf>,
}

/// Ends a session of the registry and marks it as deleted; keeps its conversation unless `purge` is set.
pub fn delete(managed: &ManagedRegistry<'_>, name: &str, purge: bool) -> Result<Deleted, Error> {
    let context = managed.context;
    let mut store = context.store()?;
    let registry = managed.read()?;
    let entry = registry.sessions.get(name).cloned();
    let entry = entry
        .ok_or_else(|| Error::Registry(RegistryError::NotRegistered { name: name.to_owned() }))?;
    must_be_here(managed, name, &entry)?;
    announce(managed, name)?;
    let observed = managed.observe(&mut store, &registry)?;
    let conversation = conversation(&observed, name, &entry);
    if purge {
        must_be_alone(&registry, name, conversation.as_deref())?;
    }
    let by = end(managed, name, &entry, &observed)?;
    let purged = if purge {
        remove(managed, &entry, &observed, conversation.as_deref())?
    } else {
        Vec::new()
    };
    let kept = conversation.clone().filter(|_| !purge);
    let data = SessionDeleted {
        agent: entry.agent.clone(),
        by,
        conversation: kept.clone(),
        purged: purge,
    };
    write_down(managed, name, (Act::Deleted, "was ended"), &data, |there| {
        let there = there.unwrap_or(&entry);
        let mut edits = vec![
            Edit::field(name, "status", "terminated"),
            Edit::field(name, "termination_mode", TerminatedBy::User.as_str()),
        ];
        if there.status != Status::Terminated || there.terminated_at.is_none() {
            let at = seconds(Timestamp::now()).to_string();
            edits.push(Edit::field(name, "terminated_at", at));
        }
        match &conversation {
            _ if purge => edits.extend(conversation_fields(name, &entry, &Value::Null)),
            Some(id) if there.conversation().is_none() => {
                edits.extend(conversation_fields(name, &entry, &id.as_str().into()));
            }
            _ => {}
        }
        edits
    })?;
    Ok(Deleted { by, conversation: kept, purged })
}

/// The conversation that could be resumed: from the registry, else the agent's own if it has a file.
fn conversation(observed: &Observed, name: &str, entry: &Entry) -> Option<String> {
    if let Some(id) = entry.conversation() {
        return Some(id.to_owned());
    }
    let panes = observed.sessions.get(name).into_iter().flat_map(|seen| &seen.panes);
    let said = panes.filter_map(|pane| pane.conversation.as_ref());
    let mut ids = said.chain(observed.remembered.get(name));
    ids.find(|id| matches!(observed.artifacts.get(*id), Some(Artifact::Found(_)))).cloned()
}

/// Fails if another session uses the conversation.
fn must_be_alone(registry: &Registry, name: &str, id: Option<&str>) -> Result<(), Error> {
    let Some(id) = id else { return Ok(()) };
    let others = registry.sessions.iter().filter(|(other, _)| *other != name);
    match others.into_iter().find(|(_, entry)| entry.conversation() == Some(id)) {
        Some((other, _)) => Err(RegistryError::ConversationShared {
            name: name.to_owned(),
            id: id.to_owned(),
            other: other.clone(),
        }
        .into()),
        None => Ok(()),
    }
}

fn end(
    managed: &ManagedRegistry<'_>,
    name: &str,
    entry: &Entry,
    observed: &Observed,
) -> Result<By, Error> {
    let context = managed.context;
    match snapshot::find(context, name) {
        Ok(seen) => {
            seen.must_be_known()?;
            if seen.life.state.is_over() && seen.pane.is_none() {
                return end_others(managed, name, entry, observed);
            }
            Ok(kill::kill(context, &seen, false, Timestamp::now())?.by)
        }
        Err(Error::Session(SessionError::NotOurs { .. } | SessionError::NoSuchSession { .. })) => {
            end_others(managed, name, entry, observed)
        }
        Err(error) => Err(error),
    }
}

/// Ends an unmanaged agent: closes its pane, and with its last pane the session. Other panes are left alone.
fn end_others(
    managed: &ManagedRegistry<'_>,
    name: &str,
    entry: &Entry,
    observed: &Observed,
) -> Result<By, Error> {
    let panes = observed.sessions.get(name).into_iter().flat_map(|seen| &seen.panes);
    let is_meant = |pane: &&SeenPane| {
        let runs = matches!(&pane.agent, InPane::Runs(agent) if *agent == entry.agent);
        let is_named = entry.pane.id.as_ref() == Some(&pane.id) && entry.pane.pid == Some(pane.pid);
        !pane.dead && (runs || is_named)
    };
    let mut by = By::AlreadyEnded;
    for pane in panes.filter(is_meant) {
        let Ok(id) = pane.id.parse() else { continue };
        by = kill::end_foreign(managed.context, id, &pane.agent)?;
    }
    Ok(by)
}

/// Removes the files that were found while the agent lived: only its process tells where its folders are.
fn remove(
    managed: &ManagedRegistry<'_>,
    entry: &Entry,
    observed: &Observed,
    id: Option<&str>,
) -> Result<Vec<PathBuf>, Error> {
    let Some(Artifact::Found(path)) = id.and_then(|id| observed.artifacts.get(id)) else {
        return Ok(Vec::new());
    };
    let profile = agents::profile(managed.context, &entry.agent)?;
    let files = Finder::files(&profile, PathBuf::from(path));
    for path in &files {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.map_err(Error::io(format!("remove {}", path.display())))?;
    }
    Ok(files)
}
