//! Which sessions are alive: drift classes A, B, E, F, H, I and J.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::drift::fields;
use super::model::{PaneRecord, stamp};
use super::observed::{InPane, SeenPane};
use super::reconcile::Pass;
use super::{Drift, Edit, Entry, Kind, Status, TerminatedBy, TmuxServer};

/// From this number on, the loss of all sessions is reported as one drift.
const MANY: usize = 2;

pub(super) fn check(pass: &mut Pass<'_>) {
    let mut gone = Vec::new();
    let mut running = 0;
    for (name, entry) in pass.checkable.clone() {
        let seen = pass.observed.sessions.get(name);
        let pane = seen.and_then(|seen| seen.pane(entry.pane.id.as_deref(), &entry.agent));
        match (&entry.status, pane) {
            (Status::Running, Some(pane)) if !pane.dead => {
                running += 1;
                pass.alive.insert(name, pane);
                check_living(pass, name, entry, pane);
            }
            (Status::Running, pane) => {
                running += 1;
                match renamed(pass, name, entry) {
                    Some(now_called) => report_renamed(pass, name, entry, &now_called),
                    None => gone.push((name, entry, pane.is_some())),
                }
            }
            (Status::Terminated, Some(pane)) if !pane.dead => report_alive(pass, name, pane),
            (Status::Terminated | Status::Other, _) => {}
        }
    }
    if gone.len() >= MANY && gone.len() == running && is_another_server(pass, &gone) {
        report_all_gone(pass, &gone);
    } else {
        for (name, entry, has_dead_pane) in gone {
            report_dead(pass, name, entry, has_dead_pane);
        }
    }
}

/// Whether the tmux server of these sessions is gone.
fn is_another_server(pass: &Pass<'_>, gone: &[(&str, &Entry, bool)]) -> bool {
    match pass.observed.server {
        TmuxServer::None => true,
        TmuxServer::Unreachable => false,
        TmuxServer::Running { since } => {
            gone.iter().all(|(_, entry, _)| entry.begun().is_some_and(|begun| begun < since))
        }
    }
}

fn report_all_gone(pass: &mut Pass<'_>, gone: &[(&str, &Entry, bool)]) {
    let newest = gone.iter().filter_map(|(_, entry, _)| entry.begun()).max();
    for (name, _, _) in gone {
        mark_terminated(pass, name);
    }
    let rebooted = pass.observed.boot.zip(newest).filter(|(boot, newest)| boot > newest);
    let why = match rebooted {
        Some((boot, _)) => format!("the host booted at {}", stamp(boot)),
        None => "their tmux server has ended".to_owned(),
    };
    let message = format!("all {} sessions ended at once: {why}; marked terminated", gone.len());
    let mark = newest.map(stamp).unwrap_or_default();
    let mut drift = Drift::new(Kind::AllGone, "", &mark, message)
        .changing(fields([("status", "running".into())]), terminated_fields(pass.now))
        .hinted("to resume their conversations: dogwatch resume --all");
    drift.sessions = gone.iter().map(|(name, _, _)| (*name).to_owned()).collect();
    pass.found.push(drift);
}

fn report_dead(pass: &mut Pass<'_>, name: &str, entry: &Entry, has_dead_pane: bool) {
    mark_terminated(pass, name);
    let what = if has_dead_pane { "the pane is dead" } else { "the tmux session is gone" };
    let was = last_seen(&entry.pane);
    let message = format!("{name}: {what}{was}; marked terminated");
    let begun = entry.begun().map(stamp).unwrap_or_default();
    let mark = format!("{begun} {}", entry.pane.pid.unwrap_or_default());
    let drift = Drift::new(Kind::Dead, name, &mark, message)
        .changing(fields([("status", "running".into())]), terminated_fields(pass.now));
    pass.found.push(drift);
}

fn last_seen(pane: &PaneRecord) -> String {
    match (pane.pid, &pane.cmd) {
        (Some(pid), Some(cmd)) => format!(" (was process {pid}, {cmd})"),
        (Some(pid), None) => format!(" (was process {pid})"),
        (None, Some(cmd)) => format!(" (was {cmd})"),
        (None, None) => String::new(),
    }
}

fn mark_terminated(pass: &mut Pass<'_>, name: &str) {
    let fields = terminated_fields(pass.now);
    for key in ["status", "terminated_at", "termination_mode"] {
        pass.edits.push(Edit::field(name, key, fields[key].clone()));
    }
}

fn terminated_fields(now: Timestamp) -> serde_json::Value {
    fields([
        ("status", "terminated".into()),
        ("terminated_at", stamp(now).into()),
        ("termination_mode", TerminatedBy::Detected.as_str().into()),
    ])
}

/// A live session with another pane, agent or directory than in the file.
fn check_living(pass: &mut Pass<'_>, name: &str, entry: &Entry, pane: &SeenPane) {
    if entry.pane.id.as_deref() != Some(&pane.id) || entry.pane.pid != Some(pane.pid) {
        let fields: [(&str, serde_json::Value); 3] = [
            ("pane.id", pane.id.as_str().into()),
            ("pane.pid", pane.pid.into()),
            ("pane.cmd", pane.cmd.as_str().into()),
        ];
        pass.edits.extend(fields.map(|(key, value)| Edit::field(name, key, value)));
    }
    if let Some(status) = &pane.status
        && entry.last_visible_status.as_ref() != Some(status)
    {
        pass.edits.push(Edit::field(name, "last_visible_status", status.as_str()));
    }
    check_agent(pass, name, entry, pane);
    check_folder(pass, name, entry, pane);
}

fn check_agent(pass: &mut Pass<'_>, name: &str, entry: &Entry, pane: &SeenPane) {
    if !pass.observed.agents.contains(&entry.agent) {
        return;
    }
    let agent = &entry.agent;
    let instead = match &pane.agent {
        InPane::Unknown => return,
        InPane::Runs(found) if found == agent => return,
        InPane::Runs(found) => format!("{found} is running instead"),
        InPane::NoAgent => format!("{} is running instead", pane.cmd),
    };
    let message = format!("{name}: the pane exists, but {agent} has ended: {instead}");
    let mark = format!("{} {}", pane.id, pane.pid);
    let about = fields([("agent", agent.as_str().into()), ("pane", entry.pane.to_value())]);
    pass.found.push(Drift::new(Kind::AgentGone, name, &mark, message).about(about));
}

fn check_folder(pass: &mut Pass<'_>, name: &str, entry: &Entry, pane: &SeenPane) {
    let Some(cwd) = &entry.cwd else { return };
    let is_its = matches!(&pane.agent, InPane::Runs(agent) if *agent == entry.agent);
    let (mark, what) = match pass.observed.folders.get(cwd) {
        None => return,
        Some(None) => ("", "no longer exists".to_owned()),
        Some(Some(_)) if !is_its || pane.cwd.is_empty() => return,
        Some(Some(real)) => {
            let rest = pane.cwd.strip_prefix(real.as_str());
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || real == "/") {
                return;
            }
            (pane.cwd.as_str(), format!("is not its working directory any more; now {}", pane.cwd))
        }
    };
    let message = format!("{name}: the directory {cwd} {what}");
    let drift = Drift::new(Kind::FolderMoved, name, mark, message)
        .about(fields([("cwd", cwd.as_str().into())]));
    pass.found.push(drift);
}

fn report_alive(pass: &mut Pass<'_>, name: &str, pane: &SeenPane) {
    let message = format!("{name}: terminated in the registry, but running in tmux");
    let mark = format!("{} {}", pane.id, pane.pid);
    let drift = Drift::new(Kind::Alive, name, &mark, message)
        .about(fields([("status", "terminated".into())]))
        .hinted(format!("if that is intended: dogwatch adopt {name}"));
    pass.found.push(drift);
}

/// The new tmux session name of the entry's pane.
fn renamed(pass: &Pass<'_>, name: &str, entry: &Entry) -> Option<String> {
    let (id, pid) = (entry.pane.id.as_ref()?, entry.pane.pid?);
    let is_it = |pane: &SeenPane| pane.id == *id && pane.pid == pid && !pane.dead;
    let others = pass.observed.sessions.iter().filter(|(other, _)| *other != name);
    let unlisted = others.filter(|(other, _)| !pass.registry.sessions.contains_key(*other));
    let mut found = unlisted.filter(|(_, seen)| seen.panes.iter().any(is_it));
    found.next().map(|(other, _)| other.clone())
}

fn report_renamed(pass: &mut Pass<'_>, name: &str, entry: &Entry, now_called: &str) {
    let message = format!("{name}: the tmux session was renamed to {now_called}");
    let drift = Drift::new(Kind::Renamed, name, now_called, message)
        .about(fields([("pane", entry.pane.to_value())]))
        .hinted("rename it back in tmux, or rename it in the registry");
    pass.found.push(drift);
}

/// Registers sessions that belong in the registry by their name, or because dogwatch started them.
pub(super) fn register_unknown(pass: &mut Pass<'_>) {
    let observed = pass.observed;
    let taken: BTreeSet<(&str, i64)> = pass
        .registry
        .sessions
        .values()
        .filter_map(|entry| Some((entry.pane.id.as_deref()?, entry.pane.pid?)))
        .collect();
    for (name, seen) in &observed.sessions {
        if pass.registry.sessions.contains_key(name) {
            continue;
        }
        if pass.is_fresh(name, None) {
            pass.held = true;
            continue;
        }
        let by_name = observed.pattern.read(name, &observed.agents);
        let pane = seen.pane(None, by_name.map_or("", |(_, agent)| agent));
        let Some(pane) = pane.filter(|pane| !pane.dead) else { continue };
        let agent = match (by_name, &pane.agent) {
            (Some((_, agent)), _) => agent,
            (None, InPane::Runs(agent)) if seen.ours => agent,
            _ => continue,
        };
        if taken.contains(&(pane.id.as_str(), pane.pid)) {
            continue;
        }
        let last_part = pane.cwd.rsplit('/').next().filter(|part| !part.is_empty());
        let workspace = by_name.map(|(workspace, _)| workspace).or(last_part);
        let entry = Entry {
            agent: agent.to_owned(),
            workspace: workspace.map(ToOwned::to_owned),
            cwd: Some(pane.cwd.clone()).filter(|cwd| !cwd.is_empty()),
            status: Status::Running,
            created_at: Some(seen.since.unwrap_or(pass.now)),
            pane: record(pane),
            last_visible_status: Some("auto-registered".into()),
            host: Some(observed.host.clone()),
            socket: Some(observed.socket.clone()),
            ..Entry::default()
        };
        let value = entry.to_value();
        let message = format!("{name}: found in tmux but not in the registry; auto-registered");
        let mark = format!("{} {}", pane.id, pane.pid);
        let drift = Drift::new(Kind::Unknown, name, &mark, message)
            .changing(serde_json::Value::Null, value.clone());
        pass.edits.push(Edit::entry(name, value));
        pass.found.push(drift);
    }
}

pub(super) fn record(pane: &SeenPane) -> PaneRecord {
    PaneRecord {
        id: Some(pane.id.clone()),
        pid: Some(pane.pid),
        cmd: Some(pane.cmd.clone()).filter(|cmd| !cmd.is_empty()),
    }
}
