//! The marker file of the active run.

use std::io;
use std::path::Path;

use crate::format::marker::{Age, Marker, must_go_on};
use dogwatch_base::log::{Logged as _, LoggedIo as _};
use jiff::Timestamp;

use crate::project::files::{self, Readers};
use crate::{Project, marker_path};

/// The text of the marker, `None` if there is none.
pub fn read(project: &Project) -> io::Result<Option<String>> {
    files::read(&project.root, &marker_path(project))
}

pub(crate) fn is_stale(marker: &Marker) -> bool {
    marker.age(Timestamp::now()) == Age::Stale
}

/// Writes a marker. Returns whether it replaced one of another active run.
pub fn create(project: &Project, marker: &Marker) -> io::Result<bool> {
    let path = marker_path(project);
    let _one_at_a_time = files::lock(&project.root, &path)?;
    let before = files::read(&project.root, &path)
        .logged_unless_missing("read a file")
        .flatten()
        .and_then(|text| Marker::read(&text));
    files::replace(&project.root, &path, &marker.text(), Readers::Owner)?;
    Ok(before.is_some_and(|before| {
        before.state_file() != marker.state_file() && before.age(Timestamp::now()) == Age::Live
    }))
}

/// The result of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Updated,
    NoMarker,
    Corrupt,
}

/// Records a heartbeat. A marker that was removed meanwhile is not created again.
pub fn heartbeat(project: &Project, now: &str) -> io::Result<Heard> {
    let path = marker_path(project);
    if !files::exists(&project.root, &path)? {
        return Ok(Heard::NoMarker);
    }
    let _one_at_a_time = files::lock(&project.root, &path)?;
    let Some(text) = files::read(&project.root, &path)? else { return Ok(Heard::NoMarker) };
    let Some(mut marker) = Marker::read(&text) else { return Ok(Heard::Corrupt) };
    marker.set_heartbeat(now);
    files::replace(&project.root, &path, &marker.text(), Readers::Owner)?;
    Ok(Heard::Updated)
}

pub fn remove(project: &Project) -> io::Result<()> {
    let path = marker_path(project);
    if !files::exists(&project.root, &path)? {
        return Ok(());
    }
    let _one_at_a_time = files::lock(&project.root, &path)?;
    files::remove(&project.root, &path).map(drop)
}

/// Stories for which an agent that wants to stop must continue. An unreadable marker blocks no agent.
pub fn stories_left(project: &Project) -> Option<i64> {
    let text = read(project).logged("read the marker of a run").flatten()?;
    must_go_on(&Marker::read(&text)?, Timestamp::now())
}

/// Adds a line to a `.gitignore`. Returns whether it was missing.
pub fn ignore(root: &Path, file: &Path, entry: &str) -> io::Result<bool> {
    let _one_at_a_time = files::lock(root, file)?;
    let before = files::read_to_change(root, file)?.unwrap_or_default();
    if before.lines().any(|line| line.trim() == entry) {
        return Ok(false);
    }
    let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    files::replace(root, file, &format!("{before}{end}{entry}\n"), Readers::Usual)?;
    Ok(true)
}
