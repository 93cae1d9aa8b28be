//! The actions of team members, each as one edit of the file.

use std::collections::HashSet;

use super::boxes::Boxes;
use super::rows::{AgentRow, PaneRow, PaneStatus};
use super::tasks::{PANE, RESULT, Task, TaskId, TaskStatus};
use super::{FileProblem, SessionFile};

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The pane has this task already.
    Has(Task),
    Got(Task),
    /// No task of its role is pending.
    Nothing,
}

/// The pane has no task to complete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTask {
    #[error("{pane} has no task in progress")]
    None { pane: String },
    #[error("{id} does not belong to {pane}: it is {found}")]
    NotYours { id: TaskId, pane: String, found: String },
    #[error(transparent)]
    File(#[from] FileProblem),
}

/// What is missing before a pane may be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    ReadyToClose,
    ReportBack,
    TaskDone,
    SessionId,
}

impl Missing {
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadyToClose => "not marked ready-to-close",
            Self::ReportBack => "no report received",
            Self::TaskDone => "task not done",
            Self::SessionId => "session id not saved",
        }
    }
}

impl SessionFile {
    /// Adds an agent in a new pane. An earlier pane with the same number is gone.
    pub fn begin(&mut self, agent: &AgentRow) -> Result<(), FileProblem> {
        self.close(&agent.pane)?;
        self.register(agent)
    }

    /// Adds an agent to both tables. Its ticked boxes are kept, unless the pane is new.
    pub fn register(&mut self, agent: &AgentRow) -> Result<(), FileProblem> {
        self.put_agent(agent)?;
        let kept = self.pane(&agent.pane).filter(|row| row.status != PaneStatus::Closed);
        let boxes = kept.as_ref().map_or(Boxes::default(), |row| row.boxes);
        let boxes = Boxes {
            session_id_saved: boxes.session_id_saved || !agent.conversation.is_empty(),
            ..boxes
        };
        let status = kept.map_or(PaneStatus::Active, |row| row.status);
        self.put_pane(&PaneRow { pane: agent.pane.clone(), status, boxes })
    }

    /// Gives a pane the first pending task of its role. `held` are tasks that other panes are known to hold, whatever the file
    /// says: a person may have saved an older text over it.
    pub fn claim(
        &mut self,
        pane: &str,
        role: &str,
        mine: Option<TaskId>,
        held: &HashSet<TaskId>,
    ) -> Result<Claimed, FileProblem> {
        let tasks = self.tasks();
        let is_mine = |task: &&Task| {
            let says_so =
                task.status == Some(TaskStatus::InProgress) && task.pane.as_deref() == Some(pane);
            let was_lost = Some(task.id) == mine && task.status == Some(TaskStatus::Pending);
            (says_so && !held.contains(&task.id)) || was_lost
        };
        if let Some(task) = tasks.iter().find(is_mine) {
            let id = task.id;
            self.assign(id, pane)?;
            return Ok(Claimed::Has(self.task(id).ok_or(FileProblem::NoSuchTask { id })?));
        }
        let is_free = |task: &&Task| {
            task.status == Some(TaskStatus::Pending)
                && task.role == role
                && !held.contains(&task.id)
        };
        let Some(task) = tasks.iter().find(is_free) else { return Ok(Claimed::Nothing) };
        let id = task.id;
        self.assign(id, pane)?;
        Ok(Claimed::Got(self.task(id).ok_or(FileProblem::NoSuchTask { id })?))
    }

    /// Assigns a task to a pane.
    pub fn assign(&mut self, id: TaskId, pane: &str) -> Result<(), FileProblem> {
        self.mark_task(id, TaskStatus::InProgress)?;
        self.note_task(id, RESULT, None)?;
        self.note_task(id, PANE, Some(pane))?;
        self.set_status(pane, "active")?;
        let kept = self.pane(pane).filter(|row| row.status != PaneStatus::Closed);
        let boxes = kept.map_or(Boxes::default(), |row| row.boxes);
        let boxes = Boxes { session_id_saved: boxes.session_id_saved, ..Boxes::default() };
        self.put_pane(&PaneRow { pane: pane.to_owned(), status: PaneStatus::Active, boxes })
    }

    /// Makes a task pending again.
    pub fn release(&mut self, id: TaskId) -> Result<(), FileProblem> {
        self.mark_task(id, TaskStatus::Pending)?;
        self.note_task(id, PANE, None)
    }

    /// The task that a pane may complete: its current one, or one it has completed without reporting it.
    pub fn task_to_complete(
        &self,
        pane: &str,
        wanted: Option<TaskId>,
        mine: Option<TaskId>,
    ) -> Result<Task, NoTask> {
        let none = || NoTask::None { pane: pane.to_owned() };
        let tasks = self.tasks();
        let reported = self.pane(pane).is_some_and(|row| row.boxes.report_back_sent);
        let is_at = |task: &&Task| {
            task.pane.as_deref() == Some(pane)
                && match task.status {
                    Some(TaskStatus::InProgress) => true,
                    Some(TaskStatus::Done) => !reported,
                    _ => false,
                }
        };
        let Some(id) = wanted else {
            // The last one: earlier completed tasks come first in the file.
            let found = tasks
                .iter()
                .find(|task| Some(task.id) == mine)
                .or_else(|| tasks.iter().rfind(is_at));
            return found.cloned().ok_or_else(none);
        };
        let task = tasks.iter().find(|task| task.id == id).ok_or(FileProblem::NoSuchTask { id })?;
        if mine == Some(id) || is_at(&task) {
            return Ok(task.clone());
        }
        let status = task.status.map_or("set aside", TaskStatus::as_str);
        let found = match &task.pane {
            Some(of) => format!("{status}, {of}"),
            None => status.to_owned(),
        };
        Err(NoTask::NotYours { id, pane: pane.to_owned(), found })
    }

    /// Marks a task as done and saves the conversation's id.
    pub fn complete(
        &mut self,
        pane: &str,
        id: TaskId,
        result: &str,
        conversation: &str,
    ) -> Result<(), FileProblem> {
        self.mark_task(id, TaskStatus::Done)?;
        self.note_task(id, PANE, Some(pane))?;
        self.note_task(id, RESULT, Some(result))?;
        if !conversation.is_empty() && self.agent(pane).is_some() {
            let row = AgentRow {
                pane: pane.to_owned(),
                conversation: conversation.to_owned(),
                ..AgentRow::default()
            };
            self.put_agent(&row)?;
        }
        let kept = self.pane(pane).map_or(Boxes::default(), |row| row.boxes);
        let boxes = Boxes {
            task_marked_done: true,
            session_id_saved: kept.session_id_saved || !conversation.is_empty(),
            ..kept
        };
        self.put_pane(&PaneRow { pane: pane.to_owned(), status: PaneStatus::Active, boxes })
    }

    /// Ticks that the spawner was notified.
    pub fn reported(&mut self, pane: &str) -> Result<(), FileProblem> {
        let kept = self.pane(pane);
        let boxes = kept.as_ref().map_or(Boxes::default(), |row| row.boxes);
        let status = kept.map_or(PaneStatus::Active, |row| row.status);
        let boxes = Boxes { report_back_sent: true, ..boxes };
        self.put_pane(&PaneRow { pane: pane.to_owned(), status, boxes })
    }

    /// Marks a pane as ready to close.
    pub fn ready(&mut self, pane: &str) -> Result<(), FileProblem> {
        let boxes = self.pane(pane).map_or(Boxes::default(), |row| row.boxes);
        let boxes = Boxes { ready_to_close_set: true, ..boxes };
        self.set_status(pane, "idle")?;
        self.put_pane(&PaneRow { pane: pane.to_owned(), status: PaneStatus::ReadyToClose, boxes })
    }

    /// Marks a pane as gone. Its open task is pending again.
    pub fn close(&mut self, pane: &str) -> Result<(), FileProblem> {
        let at: Vec<TaskId> = self
            .tasks()
            .into_iter()
            .filter(|task| {
                task.status == Some(TaskStatus::InProgress) && task.pane.as_deref() == Some(pane)
            })
            .map(|task| task.id)
            .collect();
        for id in at {
            self.release(id)?;
        }
        self.set_status(pane, "closed")?;
        match self.pane(pane) {
            Some(row) if row.status != PaneStatus::Closed => {
                self.put_pane(&PaneRow { status: PaneStatus::Closed, ..row })
            }
            _ => Ok(()),
        }
    }

    /// What is missing before a pane may be closed; empty if it may be.
    pub fn in_the_way(&self, pane: &str) -> Vec<Missing> {
        let row = self.pane(pane);
        let boxes = row.as_ref().map_or(Boxes::default(), |row| row.boxes);
        let is_ready = row.is_some_and(|row| row.status == PaneStatus::ReadyToClose);
        let is_at_work = self.tasks().iter().any(|task| {
            task.status == Some(TaskStatus::InProgress) && task.pane.as_deref() == Some(pane)
        });
        [
            (Missing::ReadyToClose, is_ready),
            (Missing::ReportBack, boxes.report_back_sent),
            (Missing::TaskDone, boxes.task_marked_done && !is_at_work),
            (Missing::SessionId, boxes.session_id_saved),
        ]
        .into_iter()
        .filter_map(|(missing, holds)| (!holds).then_some(missing))
        .collect()
    }

    /// Changes an agent's status, if it is listed and not closed.
    fn set_status(&mut self, pane: &str, status: &str) -> Result<(), FileProblem> {
        match self.agent(pane) {
            Some(row) if row.status != "closed" => {
                let status = status.to_owned();
                self.put_agent(&AgentRow { pane: pane.to_owned(), status, ..AgentRow::default() })
            }
            _ => Ok(()),
        }
    }
}
