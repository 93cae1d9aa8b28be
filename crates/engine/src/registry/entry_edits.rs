//! What people do to sessions of the registry. Each changes the world first and the file then, and what it is at is written
//! down before, so that whoever looks after the registry meanwhile leaves it alone.

use dogwatch_core::registry::{Edit, Entry, PaneRecord, Registry};
use dogwatch_store::Act;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::actions::spawn::Spawned;
use crate::error::RegistryError;
use crate::registry::ManagedRegistry;

/// A session that was started, as the registry has its pane.
pub(super) fn pane_of(spawned: &Spawned) -> PaneRecord {
    PaneRecord {
        id: Some(spawned.pane.to_string()),
        pid: Some(spawned.started.agent.pid.into()),
        cmd: Some(spawned.agent.clone()),
    }
}

/// The fields that say that a session runs again, here and now.
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

/// Changes the registry and writes down who did what; `did` is what the error says has happened all the same.
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
            // Somebody's save may make us do it again, and it is one act all the same.
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

/// How long a command may be at a session; it says so again when it is done.
const AT_IT: SignedDuration = SignedDuration::from_secs(30);

/// Says that a command is at a session, so that nobody takes what it does for something that happened. What could not be
/// written down afterwards is not begun.
pub(super) fn be_at(managed: &ManagedRegistry<'_>, name: &str) -> Result<(), Error> {
    managed.file.must_be_writable()?;
    let until = Timestamp::now() + AT_IT;
    Ok(managed.context.store()?.touch(&managed.file.key(), name, until)?)
}

/// A session of another host or server is not ours to change.
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
