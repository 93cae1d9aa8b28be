//! Observes the registry's sessions in tmux, among processes and on disk. Read-only; screens are read only if the status
//! is wanted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::profile::Profile;
use dogwatch_core::record::ProcessIdent;
use dogwatch_core::registry::{
    Entry, InPane, NamePattern, Observed, Registry, SeenPane, SeenSession, Status, TmuxServer,
};
use dogwatch_store::{Session, Store, Which};
use dogwatch_tmux::{ListedPane, PaneDetail, PaneList, RowQuery};
use jiff::{SignedDuration, Timestamp};

use crate::observe::conversations::Finder;
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::observe::status;
use crate::observe::{agents, conversations, proc_files, self_report, transcripts, unmanaged};
use crate::{Context, Error};

/// Tolerance between clocks and file systems.
const SLACK: SignedDuration = SignedDuration::from_secs(5);

#[derive(Debug, Clone, Default)]
pub struct ObserveOptions {
    pub pattern: NamePattern,
    /// Also the status of each session, for which screens are read.
    pub with_status: bool,
}

/// Observes all sessions of the registry; without tmux if that does not answer.
pub fn observe(
    context: &Context,
    store: &mut Store,
    registry: &Registry,
    manner: &ObserveOptions,
) -> Result<Observed, Error> {
    look(context, store, registry, manner).map(|(observed, _)| observed)
}

/// The same, with tmux's error if it could not be asked.
pub(crate) fn look(
    context: &Context,
    store: &mut Store,
    registry: &Registry,
    manner: &ObserveOptions,
) -> Result<(Observed, Option<dogwatch_tmux::Error>), Error> {
    let mut observed = Observed {
        at: Timestamp::now(),
        host: context.host.clone(),
        socket: context.socket.to_string_lossy().into_owned(),
        boot: sysinfo::System::boot_time()
            .ok()
            .and_then(|at| Timestamp::from_second(at.cast_signed()).ok()),
        agents: agents::names(context),
        pattern: manner.pattern.clone(),
        ..Observed::default()
    };
    let Panes { server, rows, ours, trouble } = Panes::look(context, store)?;
    observed.server = server;
    if observed.server == TmuxServer::Unreachable {
        return Ok((observed, trouble));
    }
    let profiles = profiles(context);
    let mut hands = Hands { context, profiles: &profiles, pids: HashMap::new() };
    observed.sessions = hands.sessions(registry, &observed, &rows, &ours);
    if manner.with_status {
        add_status(context, &mut observed)?;
    }
    remember(context, store, registry, &mut observed);
    look_at_disk(&hands, registry, &mut observed);
    Ok((observed, None))
}

/// The profiles of all agents, by name.
fn profiles(context: &Context) -> BTreeMap<String, Profile> {
    let names = agents::names(context);
    names
        .into_iter()
        .filter_map(|name| {
            Some((name.clone(), agents::profile(context, &name).logged("read an agent's profile")?))
        })
        .collect()
}

/// What tmux and the database report.
struct Panes {
    server: TmuxServer,
    rows: Vec<PaneDetail>,
    ours: Vec<SessionSnapshot>,
    trouble: Option<dogwatch_tmux::Error>,
}

impl Panes {
    /// Lists all panes in one call; the database is read while tmux prepares its answer.
    fn look(context: &Context, store: &mut Store) -> Result<Self, Error> {
        let query = RowQuery::new();
        let commands = [PaneList::server_command(), query.detailed_command()];
        let asked = context.tmux.running_only().start(&commands);
        let sessions = store.sessions(&context.socket, Which::current(Timestamp::now()))?;
        let replies = asked.and_then(dogwatch_tmux::Running::finish);
        let answer = replies.and_then(|replies| {
            let rows = replies.get(1).map(|reply| query.parse_detailed(reply)).transpose()?;
            let rows = rows.unwrap_or_default();
            Ok((PaneList::of_server(replies.first(), listed_panes(&rows))?, rows))
        });
        let ours = snapshot::join(context, store, sessions, answer.as_ref().map(|(list, _)| list))?;
        Ok(match answer {
            Ok((list, rows)) => {
                let since = Timestamp::from_second(list.server_start.cast_signed());
                let server =
                    since.map_or(TmuxServer::Unreachable, |since| TmuxServer::Running { since });
                Self { server, rows, ours, trouble: None }
            }
            Err(error) if error.is_no_server() => {
                Self { server: TmuxServer::None, rows: Vec::new(), ours, trouble: None }
            }
            Err(error) => {
                let (server, trouble) = (TmuxServer::Unreachable, Some(error));
                Self { server, rows: Vec::new(), ours, trouble }
            }
        })
    }
}

fn listed_panes(rows: &[PaneDetail]) -> Vec<ListedPane> {
    let list = |detail: &PaneDetail| ListedPane {
        pane_id: detail.row.pane_id,
        session_no: detail.row.session_no,
        pid: i32::try_from(detail.row.pane_pid).unwrap_or(0),
        dead: detail.row.dead,
        attached: detail.row.session_attached,
    };
    rows.iter().map(list).collect()
}

struct Hands<'a> {
    context: &'a Context,
    profiles: &'a BTreeMap<String, Profile>,
    /// The agents' processes, by the name of their session.
    pids: HashMap<String, i32>,
}

impl Hands<'_> {
    fn sessions(
        &mut self,
        registry: &Registry,
        observed: &Observed,
        rows: &[PaneDetail],
        ours: &[SessionSnapshot],
    ) -> BTreeMap<String, SeenSession> {
        let mut sessions = BTreeMap::new();
        let mut taken = HashSet::new();
        for seen in ours.iter().filter(|seen| !seen.life.state.is_over()) {
            taken.extend(seen.pane_id());
            let pane = self.our_pane(seen, rows);
            let since = Some(seen.session.created);
            let found = SeenSession { ours: true, since, panes: vec![pane] };
            sessions.insert(seen.session.name.clone(), found);
        }
        let named: HashSet<&str> =
            registry.sessions.values().filter_map(|entry| entry.pane.id.as_deref()).collect();
        let is_of_interest = |row: &&PaneDetail| {
            let name = &row.row.session_name;
            !taken.contains(&row.row.pane_id)
                && !sessions.contains_key(name)
                && (registry.sessions.contains_key(name)
                    || observed.pattern.read(name, &observed.agents).is_some()
                    || named.contains(row.row.pane_id.to_string().as_str()))
        };
        let rows: Vec<&PaneDetail> = rows.iter().filter(is_of_interest).collect();
        let found = unmanaged::agents_in(self.context, rows.iter().map(|detail| &detail.row));
        let by_pane: HashMap<&str, &Session> =
            found.iter().filter_map(|session| Some((session.pane.as_deref()?, session))).collect();
        for detail in rows {
            let id = detail.row.pane_id.to_string();
            let agent = by_pane.get(id.as_str()).copied();
            let name = detail.row.session_name.clone();
            if let Some(pid) = agent.and_then(|a| Some(a.started()?.agent.pid)) {
                self.pids.insert(name.clone(), pid);
            }
            let session = sessions.entry(name).or_default();
            session.since = session.since.or(agent.map(|agent| agent.created));
            session.panes.push(self.foreign_pane(detail, id, agent));
        }
        sessions
    }

    fn our_pane(&mut self, seen: &SessionSnapshot, rows: &[PaneDetail]) -> SeenPane {
        let session = &seen.session;
        let id = seen.pane_id();
        let row = rows.iter().find(|row| Some(row.row.pane_id) == id);
        let agent = session.started().map(|started| started.agent);
        if let Some(agent) = agent {
            self.pids.insert(session.name.clone(), agent.pid);
        }
        let profile = self.profiles.get(&session.agent);
        let said = agent.zip(profile).and_then(|(agent, profile)| self.said(profile, agent));
        let folder = agent.and_then(|agent| proc_files::folder(agent.pid));
        SeenPane {
            id: id.map(|id| id.to_string()).or(session.pane.clone()).unwrap_or_default(),
            pid: agent.map_or_else(
                || row.map_or(0, |row| i64::from(row.row.pane_pid)),
                |agent| i64::from(agent.pid),
            ),
            cmd: profile.map_or(session.agent.clone(), |profile| profile.program.clone()),
            cwd: folder.as_deref().unwrap_or(&session.cwd).to_string_lossy().into_owned(),
            dead: false,
            agent: match profile {
                Some(_) => InPane::Runs(session.agent.clone()),
                None => InPane::NoAgent,
            },
            conversation: said.or_else(|| session.conversation.clone()),
            status: None,
        }
    }

    fn foreign_pane(&self, detail: &PaneDetail, id: String, agent: Option<&Session>) -> SeenPane {
        let process = agent.and_then(|agent| Some(agent.started()?.agent));
        let profile = agent.and_then(|agent| self.profiles.get(&agent.agent));
        SeenPane {
            id,
            pid: i64::from(detail.row.pane_pid),
            cmd: detail.current_command.clone(),
            cwd: match agent {
                Some(agent) => agent.cwd.to_string_lossy().into_owned(),
                None => detail.current_path.to_string_lossy().into_owned(),
            },
            dead: detail.row.dead,
            agent: match agent {
                Some(agent) => InPane::Runs(agent.agent.clone()),
                None if cfg!(target_os = "linux") => InPane::NoAgent,
                None => InPane::Unknown,
            },
            conversation: process
                .zip(profile)
                .and_then(|(agent, profile)| self.said(profile, agent)),
            status: None,
        }
    }

    /// The conversation that an agent reports or holds open.
    fn said(&self, profile: &Profile, agent: ProcessIdent) -> Option<String> {
        self_report::conversation(profile.own_word, agent, self.context.home.clone()).or_else(
            || {
                let ending = profile.transcript.as_ref()?.held_open.as_ref()?;
                conversations::id_of(&transcripts::held_open(agent.pid, ending)?)
            },
        )
    }
}

fn add_status(context: &Context, observed: &mut Observed) -> Result<(), Error> {
    let statuses = status::all(context, Timestamp::now())?;
    let words: HashMap<String, &str> = statuses
        .iter()
        .filter_map(|one| Some((one.seen.pane_id()?.to_string(), one.verdict.status.as_str())))
        .collect();
    for pane in observed.sessions.values_mut().flat_map(|session| &mut session.panes) {
        pane.status = words.get(&pane.id).map(|word| (*word).to_owned());
    }
    Ok(())
}

/// The conversations of managed sessions, also of those that are gone.
fn remember(context: &Context, store: &mut Store, registry: &Registry, observed: &mut Observed) {
    for (name, entry) in &registry.sessions {
        let is_said = observed
            .sessions
            .get(name)
            .is_some_and(|seen| seen.panes.iter().any(|pane| pane.conversation.is_some()));
        if entry.conversation().is_some() || entry.status == Status::Other || is_said {
            continue;
        }
        if let Some(id) = conversation_of(context, store, name, entry) {
            observed.remembered.insert(name.clone(), id);
        }
    }
}

/// The last conversation of a managed session of that name, for that entry.
fn conversation_of(
    context: &Context,
    store: &mut Store,
    name: &str,
    entry: &Entry,
) -> Option<String> {
    let sessions = store.named(&context.socket, name).logged("read a session")?;
    let session = sessions.into_iter().find(|session| {
        session.agent == entry.agent
            && entry
                .created_at
                .is_none_or(|at| session.created >= at.saturating_sub(SLACK).unwrap_or(at))
    })?;
    conversations::of_session(store, &session)
}

fn look_at_disk(hands: &Hands<'_>, registry: &Registry, observed: &mut Observed) {
    let mut finder = Finder::new(hands.context);
    for (name, entry) in &registry.sessions {
        if let Some(cwd) = &entry.cwd {
            observed.folders.entry(cwd.clone()).or_insert_with(|| resolved(Path::new(cwd)));
        }
        let Some(profile) = hands.profiles.get(&entry.agent) else { continue };
        let pid = hands.pids.get(name).copied();
        let seen = observed.sessions.get(name).into_iter().flat_map(|session| &session.panes);
        let said: Vec<&String> =
            seen.clone().filter_map(|pane| pane.conversation.as_ref()).collect();
        let ids = entry.conversation().into_iter();
        let ids = ids.chain(said.iter().map(|id| id.as_str()));
        let ids = ids.chain(observed.remembered.get(name).map(String::as_str));
        let cwd = entry.cwd.as_ref().and_then(|cwd| observed.folders[cwd].clone());
        for id in ids {
            if !observed.artifacts.contains_key(id) {
                let artifact = finder.find(profile, id, cwd.as_deref(), pid);
                observed.artifacts.insert(id.to_owned(), artifact);
            }
        }
        let is_silent = said.is_empty() && !observed.remembered.contains_key(name);
        if entry.conversation().is_none() && is_silent {
            let folder = cwd.or_else(|| seen.map(|pane| pane.cwd.clone()).next());
            let since = entry.begun().map(|at| at.saturating_sub(SLACK).unwrap_or(at));
            let found = folder.map(|folder| finder.in_folder(profile, &folder, since, pid));
            observed.conversations.extend(found.into_iter().flatten());
        }
    }
}

fn resolved(path: &Path) -> Option<String> {
    path.canonicalize()
        .logged_unless_missing("resolve a path")
        .map(|real| real.to_string_lossy().into_owned())
}
