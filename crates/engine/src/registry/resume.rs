use dogwatch_protocol::event_data::SessionResumed;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use dogwatch_core::liveness::State;
use dogwatch_core::profile;
use dogwatch_core::registry::{
    Artifact, Edit, Entry, Observed, Registry, Status, TerminatedBy, TmuxServer,
};
use dogwatch_store::Act;
use jiff::{Timestamp, Zoned};

use crate::Error;
use crate::actions::spawn::{self, Place, Request, Spawned, What};
use crate::error::{RegistryError, SessionError};
use crate::observe::project;
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::registry::ManagedRegistry;
use crate::registry::entry_edits::{
    announce, conversation_fields, must_be_here, pane_of, running_again, seconds, write_down,
};

/// How to resume sessions.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    pub unattended: bool,
    pub extra_args: Vec<OsString>,
    pub caller_env: Vec<(OsString, OsString)>,
}

/// The registry and the observation from before anything is resumed.
#[derive(Debug)]
pub struct Resumption<'r, 'c> {
    managed: &'r ManagedRegistry<'c>,
    registry: Registry,
    observed: Observed,
    /// Resumed just now: the observation does not have them.
    resumed: BTreeSet<String>,
}

impl<'r, 'c> Resumption<'r, 'c> {
    pub fn new(managed: &'r ManagedRegistry<'c>) -> Result<Self, Error> {
        Self::observing(managed, managed.read()?)
    }

    fn observing(managed: &'r ManagedRegistry<'c>, registry: Registry) -> Result<Self, Error> {
        let mut store = managed.context.store()?;
        let observed = managed.observe(&mut store, &registry)?;
        Ok(Self { managed, registry, observed, resumed: BTreeSet::new() })
    }

    /// The same for all sessions of agents that are lost, with their names. Those that are not in the registry are observed as if they were.
    pub fn of_lost(managed: &'r ManagedRegistry<'c>) -> Result<(Self, Vec<String>), Error> {
        let mut registry = managed.read()?;
        let mut latest: BTreeMap<String, SessionSnapshot> = BTreeMap::new();
        for one in snapshot::look_at_current(managed.context)? {
            // They are listed from the oldest to the newest.
            latest.insert(one.session.name.clone(), one);
        }
        let is_lost = |one: &SessionSnapshot| {
            one.life.state == State::Lost && one.session.agent != profile::COMMAND
        };
        latest.retain(|_, one| is_lost(one));
        for (name, one) in &latest {
            let session = &one.session;
            registry.sessions.entry(name.clone()).or_insert_with(|| Entry {
                agent: session.agent.clone(),
                cwd: Some(session.cwd.to_string_lossy().into_owned()),
                status: Status::Terminated,
                terminated_by: Some(TerminatedBy::Detected),
                created_at: Some(seconds(session.created)),
                host: Some(managed.context.host.clone()),
                socket: Some(managed.context.socket.to_string_lossy().into_owned()),
                ..Entry::default()
            });
        }
        let resumption = Self::observing(managed, registry)?;
        let names = latest.into_keys().filter(|name| !resumption.is_alive(name)).collect();
        Ok((resumption, names))
    }

    /// Sessions that were not stopped on purpose: they ended by themselves or with the host.
    pub fn fallen(&self) -> Vec<String> {
        let is_here = |entry: &Entry| {
            entry.host.as_ref().is_none_or(|host| *host == self.observed.host)
                && entry.socket.as_ref().is_none_or(|socket| *socket == self.observed.socket)
        };
        let fell = |entry: &Entry| match entry.status {
            Status::Terminated => entry.terminated_by == Some(TerminatedBy::Detected),
            Status::Running => true,
            Status::Other => false,
        };
        let sessions = self.registry.sessions.iter();
        sessions
            .filter(|(name, entry)| is_here(entry) && fell(entry) && !self.is_alive(name))
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn is_alive(&self, name: &str) -> bool {
        let seen = self.observed.sessions.get(name);
        seen.is_some_and(|seen| seen.panes.iter().any(|pane| !pane.dead))
    }

    /// Resumes a session in its conversation.
    pub fn resume(&mut self, name: &str, manner: &Manner, now: &Zoned) -> Result<Spawned, Error> {
        let entry = self.registry.sessions.get(name).cloned();
        let entry = entry.ok_or_else(|| {
            Error::Registry(RegistryError::NotRegistered { name: name.to_owned() })
        })?;
        must_be_here(self.managed, name, &entry)?;
        let id = self.conversation(name, &entry)?;
        let context = self.managed.context;
        let cwd = entry.cwd.clone().map(PathBuf::from);
        let cwd = cwd.ok_or_else(|| RegistryError::NoFolder { name: name.to_owned() })?;
        let request = Request {
            what: What::Agent { name: entry.agent.clone(), extra_args: manner.extra_args.clone() },
            prompt: None,
            name: Some(name.to_owned()),
            story: None,
            project: project::root(None, &cwd),
            cwd,
            model: None,
            resume: Some(id.clone()),
            unattended: manner.unattended,
            env: Vec::new(),
            caller_env: manner.caller_env.clone(),
            place: Place::OwnSession,
            tags: Vec::new(),
            membership: None,
            when_limited: None,
            subscriber: None,
        };
        announce(self.managed, name)?;
        let spawned = spawn::spawn(context, &request, now)?;
        let data = SessionResumed {
            agent: spawned.agent.clone(),
            id: spawned.id.clone(),
            conversation: id.clone(),
        };
        write_down(self.managed, name, (Act::Resumed, "was resumed"), &data, |there| {
            let mut edits: Vec<Edit> = match there {
                Some(_) => Vec::new(),
                None => vec![Edit::entry(name, entry.to_value())],
            };
            edits.extend(running_again(
                name,
                self.managed,
                &pane_of(&spawned),
                "resumed",
                Timestamp::now(),
            ));
            if there.is_none_or(|there| there.conversation().is_none()) {
                edits.extend(conversation_fields(name, &entry, &id.as_str().into()));
            }
            edits
        })?;
        self.resumed.insert(name.to_owned());
        Ok(spawned)
    }

    /// The conversation to resume, if that is possible.
    fn conversation(&self, name: &str, entry: &Entry) -> Result<String, Error> {
        let own = name.to_owned();
        if self.observed.server == TmuxServer::Unreachable {
            // Fails with the reason.
            snapshot::look_at_current(self.managed.context)?;
            let reason = "tmux does not answer".to_owned();
            return Err(SessionError::NotReachable { name: own, reason }.into());
        }
        if self.is_alive(name) {
            return Err(RegistryError::StillRuns { name: own }.into());
        }
        let is_there =
            |id: &&String| matches!(self.observed.artifacts.get(*id), Some(Artifact::Found(_)));
        let remembered = || self.observed.remembered.get(name).filter(is_there).map(String::as_str);
        let id = entry.conversation().or_else(remembered);
        let id = id
            .ok_or_else(|| Error::Registry(RegistryError::NoConversation { name: own.clone() }))?
            .to_owned();
        let has_it = |(other, entry): &(&String, &Entry)| {
            let lives = self.is_alive(other) || self.resumed.contains(*other);
            *other != name && lives && entry.conversation() == Some(&id)
        };
        if let Some((other, _)) = self.registry.sessions.iter().find(has_it) {
            return Err(
                RegistryError::ConversationShared { name: own, id, other: other.clone() }.into()
            );
        }
        match self.observed.artifacts.get(&id) {
            Some(Artifact::Missing(path)) => {
                Err(RegistryError::ConversationGone { name: own, id, path: path.clone() }.into())
            }
            Some(Artifact::Found(_)) | None => Ok(id),
        }
    }
}
