//! Changes that people make to sessions of the registry. Each announces itself first, so that a monitor leaves the session alone,
//! then acts, and then updates the file.

use dogwatch_core::registry::{Edit, Entry, PaneRecord, Registry};
use dogwatch_store::Act;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::actions::spawn::Spawned;
use crate::error::RegistryError;
use crate::registry::ManagedRegistry;

/// A started session's pane, as the registry records it.
pub(super) fn pane_of(spawned: &Spawned) -> PaneRecord {
    PaneRecord {
        id: Some(spawned.pane.to_string()),
        pid: Some(spawned.started.agent.pid.into()),
        cmd: Some(spawned.agent.clone()),
    }
}

/// The fields that mark a session as running again, here and now.
pub(super) fn running_again(
    name: &str,
    managed: &ManagedRegistry<'_>,
    pane: &PaneRecord,
    word: &str,
    now: Timestamp,
) -> Vec<Edit> {
    let now = seconds(now);
    let socket = managed.context.socket.to_string_lossy();
    let fields: [(&str, Value); 10] = [
        ("status", "running".into()),
        ("resumed_at", now.to_string().into()),
        ("terminated_at", Value::Null),
        ("termination_mode", Value::Null),
        ("pane.id", pane.id.clone().into()),
        ("pane.pid", pane.pid.into()),
        ("pane.cmd", pane.cmd.clone().into()),
        ("last_visible_status", word.into()),
        ("host", managed.context.host.as_str().into()),
        ("socket", (*socket).into()),
    ];
    fields.into_iter().map(|(field, value)| Edit::field(name, field, value)).collect()
}

/// The fields of an entry that hold its conversation.
pub(super) fn conversation_fields(name: &str, entry: &Entry, id: &Value) -> Vec<Edit> {
    let identity = format!("agent_identities.{}.session_id", entry.agent);
    let own = (entry.agent == "claude").then_some("claude_session_id_own");
    let fields = own.into_iter().chain([identity.as_str()]);
    fields.map(|field| Edit::field(name, field, id.clone())).collect()
}

/// Updates the registry and records who did what; `did` is what the error reports as done nevertheless.
pub(super) fn write_down(
    managed: &ManagedRegistry<'_>,
    name: &str,
    act: (Act, &'static str),
    data: &impl Serialize,
    edits: impl Fn(Option<&Entry>) -> Vec<Edit>,
) -> Result<(), Error> {
    let (act, did) = act;
    let mut noted = false;
    let mut change = || -> Result<(), Error> {
        let mut store = managed.context.store()?;
        let (_, ()) = managed.file.edit(|registry: &Registry| {
            // A concurrent save may repeat this edit; record the act only once.
            if !noted {
                store.acted(&managed.file.key(), name, act, data, Timestamp::now())?;
                noted = true;
            }
            Ok::<_, Error>((edits(registry.sessions.get(name)), ()))
        })?;
        Ok(())
    };
    change().map_err(|source| {
        Error::Registry(RegistryError::NotUpdated {
            name: name.to_owned(),
            did,
            source: Box::new(source),
        })
    })
}

/// How long a command may work on a session; it renews the claim when it is done.
const ANNOUNCED: SignedDuration = SignedDuration::from_secs(30);

/// Announces that a command works on a session, so that a monitor does not report its effects as drift. Fails before anything
/// is changed if the registry cannot be written.
pub(super) fn announce(managed: &ManagedRegistry<'_>, name: &str) -> Result<(), Error> {
    managed.file.must_be_writable()?;
    let until = Timestamp::now() + ANNOUNCED;
    Ok(managed.context.store()?.touch(&managed.file.key(), name, until)?)
}

/// Fails for a session of another host or tmux server.
pub(super) fn must_be_here(
    managed: &ManagedRegistry<'_>,
    name: &str,
    entry: &Entry,
) -> Result<(), Error> {
    let socket = managed.context.socket.to_string_lossy();
    let elsewhere = |said: &Option<String>, here: &str| said.clone().filter(|said| said != here);
    let place = elsewhere(&entry.host, &managed.context.host).map(|host| format!("host {host}"));
    let server = || elsewhere(&entry.socket, &socket).map(|path| format!("tmux server {path}"));
    match place.or_else(server) {
        Some(place) => Err(RegistryError::Elsewhere { name: name.to_owned(), place }.into()),
        None => Ok(()),
    }
}

pub(super) fn seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
