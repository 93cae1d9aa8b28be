use std::path::PathBuf;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::session_file::SessionFile;
use dogwatch_core::status::Status;
use dogwatch_store::Session;
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use super::rebalance::{Balanced, rebalance, side_of};
use super::{pane_of, window_of};
use crate::actions::kill::{self, Killed};
use crate::actions::send;
use crate::error::{SessionError, TeamError};
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::observe::status::StatusReader;
use crate::observe::{agents, processes};
use crate::team::session_file::TeamFile;
use crate::{Context, Error};

/// How long an agent may take to exit after its exit command.
const LEAVING: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub target: &'a str,
    /// Even if it is not ready.
    pub force: bool,
    /// The pane of the caller, and its session.
    pub own_pane: Option<PaneId>,
    pub own_session: Option<&'a str>,
    /// The session file, if the session does not name one.
    pub file: Option<&'a TeamFile>,
}

#[derive(Debug, Clone)]
pub struct Closed {
    pub pane: String,
    pub role: Option<String>,
    pub how: HowClosed,
    pub file: Option<PathBuf>,
    pub balanced: Option<Balanced>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HowClosed {
    /// It was gone already.
    Gone,
    /// With the agent's own exit command.
    Exit(Killed),
    /// It was killed, or had ended before.
    Ended(Killed),
}

/// Closes a pane of a team: only when it is ready, with the agent's exit command first, and records it. Refuses the caller's own
/// pane.
pub fn close(context: &Context, request: &Request<'_>) -> Result<Closed, Error> {
    let (pane, session) = find(context, request)?;
    if request.own_pane.is_some_and(|own| own.to_string() == pane)
        || session.as_ref().is_some_and(|s| request.own_session == Some(s.id.as_str()))
    {
        return Err(TeamError::OwnPane { pane }.into());
    }
    let membership = session.as_ref().and_then(|session| session.membership.clone());
    let file = session
        .as_ref()
        .and_then(|session| {
            let file = session.membership.as_ref()?.session_file.clone();
            Some(TeamFile::at(&session.project, file))
        })
        .filter(|file| file.path().exists())
        .or_else(|| request.file.cloned());
    let seen = session.map(|session| snapshot::find(context, &session.id)).transpose()?;
    if let Some(seen) = &seen {
        seen.must_be_known()?;
    }
    let pane_id = seen.as_ref().and_then(SessionSnapshot::pane_id);
    let master: Option<PaneId> =
        membership.as_ref().and_then(|membership| membership.master.parse().ok());
    // While the pane still exists.
    let side = master.and_then(|master| {
        Some(side_of(&window_of(context, master).logged("find the window of a pane")?, master))
    });
    let how = match &seen {
        Some(seen) if pane_id.is_some() => {
            if !request.force {
                check(file.as_ref(), &pane)?;
            }
            end(context, seen)?
        }
        Some(seen) => {
            // Kills remaining processes, and archives the session.
            kill::kill(context, seen, false, Timestamp::now())?;
            HowClosed::Gone
        }
        None if window_of(context, pane.parse().unwrap_or(PaneId(u32::MAX))).is_ok() => {
            return Err(SessionError::NotOurs { target: pane }.into());
        }
        None => HowClosed::Gone,
    };
    if let Some(file) = &file {
        file.edit(|text| text.close(&pane).map_err(|problem| file.problem(problem)))?;
    }
    let balanced =
        master.and_then(|master| rebalance(context, master, side).logged("arrange panes"));
    Ok(Closed {
        pane,
        role: membership.map(|membership| membership.role),
        how,
        file: file.map(|file| file.path().to_owned()),
        balanced,
    })
}

/// The pane and its session; also a pane that is gone, if a session is recorded for it.
fn find(context: &Context, request: &Request<'_>) -> Result<(String, Option<Session>), Error> {
    match snapshot::find(context, request.target) {
        Ok(seen) => {
            let pane = seen.session.pane.clone().unwrap_or_default();
            return Ok((pane, Some(seen.session)));
        }
        Err(Error::Session(SessionError::NoSuchSession { .. } | SessionError::NotOurs { .. })) => {}
        Err(error) => return Err(error),
    }
    let pane = pane_of(context, request.target)?;
    let is_listed = request
        .file
        .is_some_and(|file| file.read().is_ok_and(|text| text.pane(&pane.to_string()).is_some()));
    if !is_listed && window_of(context, pane).is_err() {
        return Err(TeamError::NoSuchPane { target: request.target.to_owned() }.into());
    }
    Ok((pane.to_string(), None))
}

/// Whether the member is ready to close.
fn check(file: Option<&TeamFile>, pane: &str) -> Result<(), Error> {
    let missing = match file {
        Some(file) => file.read()?.in_the_way(pane),
        None => SessionFile::new().in_the_way(pane),
    };
    if missing.is_empty() {
        return Ok(());
    }
    Err(TeamError::MayNotClose { pane: pane.to_owned(), missing }.into())
}

/// Ends the agent: with its exit command if it is at its prompt, else or if it stays by killing it.
fn end(context: &Context, seen: &SessionSnapshot) -> Result<HowClosed, Error> {
    let left = leave(context, seen)?;
    // Read again: the exit record is on disk now.
    let seen = snapshot::find(context, &seen.session.id)?;
    let killed = kill::kill(context, &seen, false, Timestamp::now())?;
    Ok(if left { HowClosed::Exit(killed) } else { HowClosed::Ended(killed) })
}

/// Whether the agent exited after its exit command.
fn leave(context: &Context, seen: &SessionSnapshot) -> Result<bool, Error> {
    let session = &seen.session;
    let exit = agents::profile(context, &session.agent)
        .logged("read an agent's profile")
        .and_then(|profile| profile.slash.exit);
    let (Some(exit), Some(runner)) = (exit, seen.living_runner()) else { return Ok(false) };
    let status = StatusReader::new(context)?.one(&session.id, Timestamp::now())?;
    // A busy agent would read the command only after its turn: killing is quicker.
    let is_at_prompt = matches!(
        status.verdict.status,
        Status::Idle { .. } | Status::Error { .. } | Status::Limited { .. }
    );
    if !is_at_prompt {
        return Ok(false);
    }
    let request = send::Request {
        target: &session.id,
        text: &exit,
        slash: true,
        when: When::Idle,
        timeout: Some(LEAVING),
    };
    let Some(receipt) = send::send(context, &request).logged("send a message") else {
        return Ok(false);
    };
    send::cancel(context, &receipt.message.id).logged("cancel a message");
    match receipt.outcome {
        // Unsent text is in the input box, or a dialog opened.
        Outcome::Refused { .. } | Outcome::Queued { .. } | Outcome::TypedNotSubmitted { .. } => {
            Ok(false)
        }
        // An agent that exits cannot confirm the command; its exit is the proof.
        Outcome::Delivered { .. } | Outcome::Failed { .. } => {
            Ok(processes::wait_gone(runner, LEAVING))
        }
    }
}
