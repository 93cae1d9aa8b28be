//! Sessions of Claude Code that run in its background service: dogwatch did not start them, and they have no pane and no
//! screen. Each has a state file and a process; what it says of itself is its status.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::background::{self, Background};
use dogwatch_core::record::Started;
use dogwatch_protocol::id::{Origin, SessionId};
use dogwatch_store::{Session, Stage};
use jiff::Timestamp;

use crate::Context;
use crate::observe::{files, proc_files, processes};

const AGENT: &str = "claude";
/// Stands where other ids have their pane.
const NO_PANE: &str = "%bg";
/// More than any state file has.
const MAX_STATE_FILE: u64 = 1024 * 1024;
/// State files looked at. Those of ended processes may stay behind.
const MOST_FILES: usize = 1_000;

/// The living background sessions of the user that are none of these.
pub fn sessions<'s>(context: &Context, known: impl Iterator<Item = &'s Session>) -> Vec<Session> {
    let Some(folder) = context.home.as_ref().map(|home| home.join(".claude/sessions")) else {
        return Vec::new();
    };
    let Some(entries) = fs::read_dir(&folder).logged_unless_missing("list a folder") else {
        return Vec::new();
    };
    let taken: HashSet<i32> =
        known.filter_map(|session| Some(session.started()?.agent.pid)).collect();
    // Most are of sessions that are known, by the name of the file already.
    let is_new = |pid: i32| !taken.contains(&pid);
    let paths = entries.flatten().map(|entry| entry.path());
    let paths = paths.filter(|path| process_of(path).is_some_and(is_new));
    let found = paths.take(MOST_FILES).filter_map(|path| {
        let file = background::claude(&files::read_regular(&path, MAX_STATE_FILE)?)?;
        let is_living = is_new(file.process.pid) && processes::is_alive(file.process);
        is_living.then(|| session(context, file))
    });
    let mut found: Vec<Session> = found.collect();
    found.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
    found
}

/// The process that a state file is about. Others in that folder are keys.
fn process_of(path: &Path) -> Option<i32> {
    let name = path.extension().filter(|ending| *ending == "json").and(path.file_stem())?;
    name.to_str()?.parse().ok()
}

fn session(context: &Context, file: Background) -> Session {
    let Background { process, job, conversation } = file;
    let began = proc_files::began(process).unwrap_or_else(Timestamp::now);
    let folder = proc_files::folder(process.pid).unwrap_or_default();
    Session {
        id: SessionId::unmanaged(NO_PANE, process),
        origin: Origin::Unmanaged { process },
        // No name that a person gave: that may be another session's as well.
        name: format!("bg-{job}"),
        agent: AGENT.to_owned(),
        project: folder.clone(),
        cwd: folder,
        story: None,
        model: None,
        conversation,
        command: proc_files::command_line(process.pid),
        socket: context.socket.clone(),
        created: began,
        pane: None,
        server: None,
        stage: Stage::Running(Started { at: began, runner: process, agent: process, pane: None }),
        archived: false,
        title: None,
        tags: Vec::new(),
        membership: None,
        server_died: None,
    }
}
