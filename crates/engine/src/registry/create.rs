use dogwatch_protocol::event_data::SessionCreated;
use std::time::Duration;

use dogwatch_core::registry::{Edit, Entry, Registry, Status};
use dogwatch_store::Act;
use jiff::{Timestamp, Zoned};

use crate::Error;
use crate::actions::job::{self, Submitted};
use crate::actions::spawn::{self, Request, Spawned, What};
use crate::error::RegistryError;
use crate::registry::ManagedRegistry;
use crate::registry::entry_edits::{announce, pane_of, seconds, write_down};

/// A session to start and register.
#[derive(Debug, Clone)]
pub struct Creation {
    /// Without a name, the session gets one by the registry's pattern.
    pub request: Request,
    pub workspace: String,
    pub role: Option<String>,
}

/// Starts a session and registers it.
pub fn create(
    managed: &ManagedRegistry<'_>,
    creation: &Creation,
    now: &Zoned,
) -> Result<Spawned, Error> {
    let mut request = creation.request.clone();
    let What::Agent { name: agent, .. } = &request.what else {
        return Err(RegistryError::OnlyAgents.into());
    };
    let name = request.name.clone();
    let name = name.unwrap_or_else(|| managed.manner.pattern.name(&creation.workspace, agent));
    let name = dogwatch_core::name::SessionName::new(&name)?.to_string();
    request.name = Some(name.clone());
    // Report an unreadable file before anything is started.
    if managed.read()?.sessions.contains_key(&name) {
        return Err(RegistryError::Registered { name }.into());
    }
    announce(managed, &name)?;
    let spawned = spawn::spawn(managed.context, &request, now)?;
    register(managed, creation, &name, &spawned)?;
    Ok(spawned)
}

/// Creates a job for a session of the registry, records its id there, then delivers the prompt. In this order a process that is
/// killed in between leaves a job that is known and can be continued.
pub fn submit_job(
    managed: &ManagedRegistry<'_>,
    spawned: &Spawned,
    prompt: &str,
    timeout: Option<Duration>,
) -> Result<Submitted, Error> {
    let context = managed.context;
    let filed = job::file(context, &spawned.id, prompt)?;
    let name = spawned.name.to_string();
    let field = Edit::field(&name, "delegate_job_id", filed.id.as_str());
    managed.file.edit(|registry: &Registry| {
        let is_there = registry.sessions.contains_key(&name);
        Ok::<_, Error>((is_there.then(|| field.clone()).into_iter().collect(), ()))
    })?;
    let trouble = job::bring(context, &filed, timeout).err().map(|error| error.to_string());
    Ok(Submitted { job: job::settled(context, &filed.id)?, trouble })
}

fn register(
    managed: &ManagedRegistry<'_>,
    creation: &Creation,
    name: &str,
    spawned: &Spawned,
) -> Result<(), Error> {
    let context = managed.context;
    let entry = Entry {
        agent: spawned.agent.clone(),
        workspace: Some(creation.workspace.clone()),
        cwd: Some(spawned.cwd.to_string_lossy().into_owned()),
        role: creation.role.clone(),
        status: Status::Running,
        created_at: Some(seconds(Timestamp::now())),
        pane: pane_of(spawned),
        last_visible_status: Some("created".into()),
        host: Some(context.host.clone()),
        socket: Some(context.socket.to_string_lossy().into_owned()),
        ..Entry::default()
    };
    let data = SessionCreated {
        agent: spawned.agent.clone(),
        id: spawned.id.clone(),
        workspace: creation.workspace.clone(),
        role: creation.role.clone(),
    };
    write_down(managed, name, (Act::Created, "was started"), &data, |there| match there {
        None => vec![Edit::entry(name, entry.to_value())],
        // A monitor registered it first; add what it could not know.
        Some(_) => vec![
            Edit::field(name, "workspace", creation.workspace.as_str()),
            Edit::field(name, "role", creation.role.clone()),
            Edit::field(name, "last_visible_status", "created"),
        ],
    })
}
