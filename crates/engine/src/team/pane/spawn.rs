use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::briefing::Briefing;
use dogwatch_core::delivery::{Outcome, Proof, When};
use dogwatch_core::escalation::{Fact, Situation, Trigger};
use dogwatch_core::profile::{self, Profile};
use dogwatch_core::session_file::{AgentRow, FileProblem, Task, TaskId};
use dogwatch_core::status::{Status, detail};
use dogwatch_core::window::Side;
use dogwatch_core::{roles, screen};
use dogwatch_store::{Claim, TeamMembership};
use dogwatch_tmux::{PaneId, WindowView};
use jiff::{Timestamp, Zoned};

use super::rebalance::{self, Balanced, must_have_room, no_room, rebalance, side_of};
use super::{identity, master_of, server_of, window_of};
use crate::actions::kill;
use crate::actions::spawn::{self, Beside, Place, Spawned, What};
use crate::actions::{escalation, send};
use crate::error::{SessionError, TeamError};
use crate::observe::agents;
use crate::observe::snapshot;
use crate::team::session_file::TeamFile;
use crate::team::task;
use crate::watch::wait::{Targets, Waited, wait};
use crate::{Context, Error};
use dogwatch_core::attention::Quorum;

const TRIES: u32 = 3;
/// How long an agent at its prompt may take to accept its task.
const HAND_OVER: Duration = Duration::from_secs(30);

/// An agent for a team.
#[derive(Debug, Clone)]
pub struct Request {
    pub role: String,
    pub what: What,
    pub task: Option<TaskFor>,
    pub file: TeamFile,
    /// The pane that leads the window; the default is the master of the spawner's team.
    pub master: Option<PaneId>,
    /// The pane of the caller, and its session if it is managed.
    pub spawner: Option<PaneId>,
    pub own_session: Option<String>,
    pub side: Option<Side>,
    pub name: Option<String>,
    pub project: PathBuf,
    pub cwd: PathBuf,
    pub model: Option<String>,
    pub unattended: bool,
    pub env: Vec<(String, String)>,
    pub caller_env: Vec<(OsString, OsString)>,
    /// How long the agent may take to reach its prompt.
    pub ready: Duration,
}

/// The task for the agent.
#[derive(Debug, Clone)]
pub enum TaskFor {
    New(String),
    Kept(TaskId),
}

/// A started member with its identity and its task.
#[derive(Debug, Clone)]
pub struct SpawnedPane {
    pub spawned: Spawned,
    pub role: String,
    pub master: PaneId,
    pub spawner: PaneId,
    pub file: PathBuf,
    pub task: Option<TaskId>,
    pub handed: Handed,
    pub balanced: Balanced,
    pub tries: u32,
    pub warnings: Vec<String>,
}

/// How the task was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handed {
    /// As a message, with this proof.
    Message(Proof),
    /// As the prompt at its start.
    Prompt,
}

/// Starts an agent beside its master, waits for its prompt, then gives it its identity and its task; each step begins when
/// the one before is proven. A failed attempt is undone completely and repeated.
pub fn spawn(context: &Context, request: &Request, now: &Zoned) -> Result<SpawnedPane, Error> {
    let role = roles::role(&request.role).map_err(TeamError::from)?;
    let (spawner, master) = leaders(context, request)?;
    if let Some(TaskFor::New(text)) = &request.task {
        task::check(text)?;
    }
    let profile = match &request.what {
        What::Agent { name, .. } => agents::profile(context, name)?,
        What::Command(_) | What::Script(_) => agents::profile(context, profile::COMMAND)?,
    };
    let view = window_of(context, master)?;
    must_have_room(&view, request.side.unwrap_or_else(|| side_of(&view, master)))?;
    // Nothing was changed up to here.
    let file = match &request.task {
        Some(TaskFor::Kept(_)) => request.file.clone(),
        _ => request.file.made()?,
    };
    let request = &Request { file, ..request.clone() };
    let mut job = Job { context, request, now, role, spawner, master, profile, task: None };
    job.task = job.take_task()?;
    let mut reason = String::new();
    for tries in 1..=TRIES {
        match job.attempt() {
            Ok(done) => {
                let _ =
                    escalation::withdraw(context, &job.key(), "an agent has been started since");
                return Ok(SpawnedPane { tries, ..done });
            }
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::Again(why)) => reason = why,
            Err(Failure::Hopeless(why)) => return Err(job.give_up(tries, why)),
        }
    }
    Err(job.give_up(TRIES, reason))
}

/// Why an attempt failed.
enum Failure {
    /// Report this error as it is; a retry would fail in the same way.
    Final(Error),
    /// A retry would fail in the same way.
    Hopeless(String),
    Again(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// The pane that gets the reports, and the master of the window.
fn leaders(context: &Context, request: &Request) -> Result<(PaneId, PaneId), Error> {
    let spawner = request.spawner.or(request.master).ok_or(TeamError::NoMaster)?;
    let window = window_of(context, spawner)?;
    let is_here = |master: &PaneId| window.pane(*master).is_some();
    let master = match request.master.or(own_master(context, request)?.filter(is_here)) {
        Some(master) => master,
        None => master_of(context, spawner)?,
    };
    Ok((spawner, master))
}

/// The master of the caller's team, from the record that was written before the caller's pane existed: its pane may not be
/// recorded yet.
fn own_master(context: &Context, request: &Request) -> Result<Option<PaneId>, Error> {
    let Some(id) = request.own_session.as_deref() else { return Ok(None) };
    let membership = context.store()?.by_id(id)?.and_then(|session| session.membership);
    Ok(membership.and_then(|membership| membership.master.parse().ok()))
}

struct Job<'a> {
    context: &'a Context,
    request: &'a Request,
    now: &'a Zoned,
    role: String,
    spawner: PaneId,
    master: PaneId,
    profile: Profile,
    task: Option<Task>,
}

impl Job<'_> {
    /// Key of its escalation: one role of one team.
    fn key(&self) -> String {
        format!("pane spawn {} {}", self.role, self.request.file.path().display())
    }

    /// Raises an escalation after the last attempt.
    fn give_up(self, tries: u32, reason: String) -> Error {
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        let mut facts = vec![
            fact("role", self.role.clone()),
            fact("agent", self.profile.name.clone()),
            fact("tries", tries.to_string()),
            fact("file", self.request.file.path().display().to_string()),
        ];
        facts.extend(self.task.as_ref().map(|task| fact("task", task.id.to_string())));
        let situation = Situation { facts, ..Situation::new(Trigger::SpawnFailed, reason.clone()) };
        let request = escalation::Request {
            key: &self.key(),
            situation: &situation,
            deadline: None,
            anew: true,
        };
        let raised = escalation::raise(self.context, &request);
        let escalation = raised.logged("raise a question").map(|raised| raised.escalation.number);
        Error::Team(TeamError::PaneNotReady { role: self.role, tries, reason, escalation })
    }

    /// Adds the task to the session file before the agent exists.
    fn take_task(&self) -> Result<Option<Task>, Error> {
        let file = &self.request.file;
        let id = match &self.request.task {
            None => return Ok(None),
            Some(TaskFor::New(text)) => task::add(self.context, file, &self.role, text)?.0,
            Some(TaskFor::Kept(id)) => *id,
        };
        let found = file.read()?.task(id);
        found
            .map(Some)
            .ok_or_else(|| Error::Team(TeamError::NoTask(FileProblem::NoSuchTask { id }.into())))
    }

    fn attempt(&self) -> Result<SpawnedPane, Failure> {
        let view = window_of(self.context, self.master)?;
        let side = self.request.side.unwrap_or_else(|| side_of(&view, self.master));
        // Panes may have been added since the first check.
        must_have_room(&view, side)?;
        let can_be_told = screen::markers(&self.profile.name).is_some();
        let spawned =
            spawn::spawn(self.context, &self.spawn_request(&view, side, can_be_told), self.now)
                .map_err(|error| match error {
                    Error::Session(
                        SessionError::LaunchFailed { .. }
                        | SessionError::StartNotConfirmed { .. }
                        | SessionError::NotStarted { .. },
                    ) => Failure::Again(error.to_string()),
                    // The message of all tmux versions for a pane that is too small to be split.
                    Error::Tmux(dogwatch_tmux::Error::Failed { message, .. })
                        if message.contains("no space for") =>
                    {
                        Failure::Final(no_room(&view, side))
                    }
                    error => Failure::Final(error),
                })?;
        let done = self.settle(&spawned, &view, side, can_be_told);
        done.map(|(handed, balanced, warnings)| SpawnedPane {
            role: self.role.clone(),
            master: self.master,
            spawner: self.spawner,
            file: self.request.file.path().to_owned(),
            task: self.task.as_ref().map(|task| task.id),
            handed,
            balanced,
            tries: 1,
            warnings,
            spawned: spawned.clone(),
        })
        .inspect_err(|_| self.undo(&spawned, side))
    }

    /// Everything after the start of the agent's program.
    fn settle(
        &self,
        spawned: &Spawned,
        view: &WindowView,
        side: Side,
        can_be_told: bool,
    ) -> Result<(Handed, Balanced, Vec<String>), Failure> {
        self.write_down(spawned, view)?;
        let mut warnings = Vec::new();
        if can_be_told {
            self.wait_ready(spawned)?;
            let said =
                identity::introduce(self.context, &spawned.id, &self.role, &self.profile.slash)?;
            warnings.extend(said);
        }
        identity::mark(self.context, spawned.pane, &self.role)?;
        let balanced = rebalance(self.context, self.master, Some(side))?;
        if !balanced.is_proven {
            warnings.push("cannot arrange the panes around the master".to_owned());
        }
        let handed = if can_be_told { self.hand_over(spawned)? } else { Handed::Prompt };
        Ok((handed, balanced, warnings))
    }

    fn spawn_request(&self, view: &WindowView, side: Side, can_be_told: bool) -> spawn::Request {
        let request = self.request;
        let file = request.file.path().to_owned();
        let mut env = request.env.clone();
        env.extend([
            ("DOGWATCH_ROLE".to_owned(), self.role.clone()),
            ("DOGWATCH_SPAWNER_PANE".to_owned(), self.spawner.to_string()),
            ("DOGWATCH_SESSION_FILE".to_owned(), file.to_string_lossy().into_owned()),
        ]);
        // After the last of the other panes, so that the window fills up in order.
        let last = view.panes.iter().rfind(|pane| pane.id != self.master).map(|pane| pane.id);
        spawn::Request {
            what: request.what.clone(),
            prompt: (!can_be_told).then(|| self.briefing(None)),
            name: request.name.clone(),
            story: None,
            project: request.project.clone(),
            cwd: request.cwd.clone(),
            model: request.model.clone(),
            resume: None,
            unattended: request.unattended,
            env,
            caller_env: request.caller_env.clone(),
            place: Place::Beside(Beside {
                pane: last.unwrap_or(self.master),
                before: last.is_none() && !side.is_first(),
                layout: self.layout(view, side, last),
            }),
            tags: Vec::new(),
            membership: Some(TeamMembership {
                role: self.role.clone(),
                master: self.master.to_string(),
                spawner: self.spawner.to_string(),
                session_file: file,
            }),
            when_limited: None,
            subscriber: None,
        }
    }

    /// The layout with the new pane after `last`, if the master is where the layout needs it. tmux ignores the pane numbers in a layout,
    /// so that of the new pane need not be known.
    fn layout(&self, view: &WindowView, side: Side, last: Option<PaneId>) -> Option<String> {
        let mut order: Vec<PaneId> = view.panes.iter().map(|pane| pane.id).collect();
        let at = order.iter().position(|pane| *pane == last.unwrap_or(self.master))?;
        let is_before = last.is_none() && !side.is_first();
        order.insert(if is_before { at } else { at + 1 }, PaneId(0));
        let master = if side.is_first() { view.panes.first() } else { view.panes.last() };
        master.filter(|pane| pane.id == self.master)?;
        rebalance::layout(view, side, &order)
    }

    /// Writes the new pane and the assignment of its task into the session file.
    fn write_down(&self, spawned: &Spawned, view: &WindowView) -> Result<(), Error> {
        let file = &self.request.file;
        let pane = spawned.pane.to_string();
        let rows = self.context.tmux.panes()?;
        let row = rows.into_iter().find(|row| row.pane_id == spawned.pane);
        let agent = AgentRow {
            pane: pane.clone(),
            session: row.map(|row| row.session_name).unwrap_or_default(),
            window: view.id.to_string(),
            role: self.role.clone(),
            status: "starting".to_owned(),
            cwd: self.request.project.display().to_string(),
            name: format!("{}-agent", self.role),
            name_source: "spawner".to_owned(),
            conversation: spawned.conversation.clone().unwrap_or_default(),
        };
        file.edit(|text| {
            text.begin(&agent).map_err(|problem| file.problem(problem))?;
            match &self.task {
                Some(task) => text.assign(task.id, &pane).map_err(|problem| file.problem(problem)),
                None => Ok(()),
            }
        })?;
        if let Some(task) = &self.task {
            let claim = Claim { task: task.id.0, pane, server: server_of(view) };
            self.context.store()?.claim(file.path(), &claim, Timestamp::now())?;
        }
        Ok(())
    }

    /// Waits for the agent's prompt. A dialog would block every further attempt too.
    fn wait_ready(&self, spawned: &Spawned) -> Result<(), Failure> {
        let target = [spawned.id.to_string()];
        let states = ["idle", "waiting", "limited", "error"].map(ToOwned::to_owned);
        let targets = Targets::Named(&target);
        match wait(self.context, targets, &states, Quorum::All, Some(self.request.ready))? {
            Waited::Happened(statuses, _) => {
                match statuses.first().map(|one| &one.verdict.status) {
                    Some(Status::Waiting { r#for, question, .. }) => {
                        let question = question.clone().unwrap_or_default();
                        Err(Failure::Hopeless(format!(
                            "it is waiting for you: {} {question}; answer it once by hand",
                            r#for.as_str()
                        )))
                    }
                    _ => Ok(()),
                }
            }
            Waited::Impossible(one) => {
                Err(Failure::Again(format!("it ended: {}", detail(&one.verdict.status))))
            }
            Waited::TimedOut(statuses) => {
                let state = statuses.first().map_or("unknown", |one| one.verdict.status.as_str());
                let seconds = self.request.ready.as_secs_f32();
                Err(Failure::Again(format!(
                    "it was not at its prompt after {seconds} s; its state is {state}"
                )))
            }
        }
    }

    fn hand_over(&self, spawned: &Spawned) -> Result<Handed, Failure> {
        let text = self.briefing(Some(&spawned.pane.to_string()));
        let receipt = send::send(
            self.context,
            &send::Request {
                target: &spawned.id,
                text: &text,
                slash: false,
                when: When::Idle,
                timeout: Some(HAND_OVER),
            },
        )?;
        match receipt.outcome {
            Outcome::Delivered { proof, .. } => Ok(Handed::Message(proof)),
            other => Err(Failure::Again(format!(
                "its task was not delivered: {}",
                other.because().unwrap_or_default()
            ))),
        }
    }

    fn briefing(&self, pane: Option<&str>) -> String {
        let id = self.task.as_ref().map(|task| task.id.to_string());
        let text = self.task.as_ref().map(|task| task.text.as_str());
        Briefing {
            role: &self.role,
            pane,
            spawner: &self.spawner.to_string(),
            session_file: self.request.file.path(),
            dogwatch: &self.context.dogwatch,
            task: id.as_deref().zip(text),
        }
        .text()
    }

    /// Removes all traces of an attempt, and frees the task for the next one.
    fn undo(&self, spawned: &Spawned, side: Side) {
        let file = &self.request.file;
        if let Some(seen) = snapshot::find(self.context, &spawned.id).logged("find a session") {
            kill::kill(self.context, &seen, true, Timestamp::now()).logged("end a session");
        }
        let pane = spawned.pane.to_string();
        file.edit(|text| text.close(&pane).map_err(|problem| file.problem(problem)))
            .logged("edit the session file");
        if let (Some(task), Ok(mut store)) = (&self.task, self.context.store()) {
            store.end_claim(file.path(), task.id.0, Timestamp::now()).logged("end a claim");
        }
        rebalance(self.context, self.master, Some(side)).logged("arrange panes");
    }
}
