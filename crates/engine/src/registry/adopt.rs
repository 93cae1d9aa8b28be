use dogwatch_core::registry::{Edit, Entry, InPane, PaneRecord, SeenPane, SeenSession, Status};
use dogwatch_protocol::event_data::SessionAdopted;
use dogwatch_store::Act;
use jiff::Timestamp;

use crate::Error;
use crate::error::{RegistryError, SessionError};
use crate::registry::ManagedRegistry;
use crate::registry::entry_edits::{running_again, seconds, write_down};

/// A running session to register.
#[derive(Debug, Clone)]
pub struct Adoption {
    pub name: String,
    /// The agent, if it cannot be detected.
    pub agent: Option<String>,
    pub workspace: Option<String>,
    pub role: Option<String>,
}

impl Adoption {
    /// The fields that the user gave.
    fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let said = [("agent", &self.agent), ("workspace", &self.workspace), ("role", &self.role)];
        said.into_iter().filter_map(|(field, said)| Some((field, said.as_deref()?)))
    }
}

/// Registers a running session; if it is registered already, changes the fields that the user gave.
pub fn adopt(managed: &ManagedRegistry<'_>, adoption: &Adoption) -> Result<Entry, Error> {
    let name = adoption.name.as_str();
    let mut store = managed.context.store()?;
    let mut registry = managed.read()?;
    let known = registry.sessions.get(name).cloned();
    // So that it is observed whatever its name is.
    registry.sessions.entry(name.to_owned()).or_default();
    let observed = managed.observe(&mut store, &registry)?;
    let seen = observed.sessions.get(name);
    let seen = seen.ok_or_else(|| {
        Error::Session(SessionError::NoSuchSession { target: name.to_owned(), near: None })
    })?;
    let (pane, agent) = chosen(seen, adoption)?;
    let is_running = known.as_ref().is_some_and(|known| known.status == Status::Running);
    if is_running && adoption.given().next().is_none() {
        return Err(RegistryError::Registered { name: name.to_owned() }.into());
    }
    let by_name =
        managed.manner.pattern.read(name, &observed.agents).map(|(workspace, _)| workspace);
    let last_part = pane.cwd.rsplit('/').next().filter(|part| !part.is_empty());
    let workspace = adoption.workspace.as_deref().or(by_name).or(last_part);
    let now = Timestamp::now();
    let entry = Entry {
        agent: agent.clone(),
        workspace: workspace.map(ToOwned::to_owned),
        cwd: Some(pane.cwd.clone()).filter(|cwd| !cwd.is_empty()),
        role: adoption.role.clone(),
        status: Status::Running,
        created_at: Some(seconds(seen.since.unwrap_or(now))),
        pane: record(pane),
        last_visible_status: Some("adopted".into()),
        host: Some(observed.host.clone()),
        socket: Some(observed.socket.clone()),
        ..Entry::default()
    };
    managed.file.must_be_writable()?;
    let data = SessionAdopted {
        agent: agent.clone(),
        workspace: entry.workspace.clone(),
        role: entry.role.clone(),
    };
    write_down(managed, name, (Act::Adopted, "is unchanged"), &data, |there| match there {
        None => vec![Edit::entry(name, entry.to_value())],
        Some(there) => {
            let again = if there.status == Status::Running {
                Vec::new()
            } else {
                running_again(name, managed, &entry.pane, "adopted", now)
            };
            let given = adoption.given().map(|(field, value)| Edit::field(name, field, value));
            again.into_iter().chain(given).collect()
        }
    })?;
    Ok(entry)
}

/// The pane with the agent.
fn chosen<'s>(seen: &'s SeenSession, adoption: &Adoption) -> Result<(&'s SeenPane, String), Error> {
    let living = || seen.panes.iter().filter(|pane| !pane.dead);
    let with_agent = living().find_map(|pane| match &pane.agent {
        InPane::Runs(agent) if adoption.agent.as_ref().is_none_or(|given| given == agent) => {
            Some((pane, agent.clone()))
        }
        _ => None,
    });
    let given = || Some((living().next()?, adoption.agent.clone()?));
    let none = || Error::Registry(RegistryError::NoAgentThere { target: adoption.name.clone() });
    with_agent.or_else(given).ok_or_else(none)
}

fn record(pane: &SeenPane) -> PaneRecord {
    let cmd = Some(pane.cmd.clone()).filter(|cmd| !cmd.is_empty());
    PaneRecord { id: Some(pane.id.clone()), pid: Some(pane.pid), cmd }
}
