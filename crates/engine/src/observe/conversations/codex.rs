use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{created, is_id, modified};
use crate::observe::files;

/// The first line holds the instructions too.
const HEAD: u64 = 1024 * 1024;
/// How long after its start an agent may be given its first prompt.
const DAYS: i64 = 7;
const FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];

/// Its folder is named after the day and its file after the time: only a list tells.
pub(super) fn usual(root: &Path, id: &str) -> PathBuf {
    root.join("sessions/*/*/*").join(format!("rollout-*-{id}.jsonl"))
}

pub(super) fn all(root: &Path) -> HashMap<String, PathBuf> {
    let mut found = HashMap::new();
    for folder in FOLDERS {
        list(&root.join(folder), 4, &mut |path| {
            if let Some(id) = id_of(path) {
                found.insert(id, path.to_owned());
            }
        });
    }
    found
}

pub(super) fn in_folder(root: &Path, folder: &str, since: Timestamp) -> Vec<(String, Timestamp)> {
    let mut found = Vec::new();
    list(&root.join(FOLDERS[0]), 4, &mut |path| {
        let Some(id) = id_of(path) else { return };
        let Some(at) = modified(path).filter(|at| *at >= since) else { return };
        let cwd = cwd(path);
        let real = cwd.as_deref().map(|cwd| Path::new(cwd).canonicalize());
        if cwd.as_deref() == Some(folder)
            || real.is_some_and(|real| real.is_ok_and(|real| real == Path::new(folder)))
        {
            found.push((id, at));
        }
    });
    found
}

/// A file is in the folder of the day on which it was begun, by the clock of the place. There are thousands: only those of
/// the days around that are looked at.
pub(super) fn begun_in(root: &Path, folder: &str, since: Timestamp) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for hours in (-24..=24 * DAYS).step_by(24) {
        let Ok(day) = since.checked_add(SignedDuration::from_hours(hours)) else { continue };
        let day = day.strftime("%Y/%m/%d").to_string();
        list(&root.join(FOLDERS[0]).join(day), 1, &mut |path| {
            let is_new = || created(path).is_some_and(|at| at >= since);
            if id_of(path).is_some() && is_new() && cwd(path).as_deref() == Some(folder) {
                found.push(path.to_owned());
            }
        });
    }
    found
}

/// The id that a file's name ends in.
pub(crate) fn id_of(path: &Path) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    let id =
        stem.strip_prefix("rollout-").and_then(|rest| rest.get(rest.len().checked_sub(36)?..))?;
    is_id(id).then(|| id.to_owned())
}

fn cwd(path: &Path) -> Option<String> {
    let bytes = files::read_range(path, 0, HEAD)?;
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let meta: Value = serde_json::from_slice(line).logged("read JSON")?;
    Some(meta.pointer("/payload/cwd").or_else(|| meta.get("cwd"))?.as_str()?.to_owned())
}

fn list(folder: &Path, depth: usize, seen: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            // Not followed: a link may lead anywhere.
            Ok(kind) if kind.is_dir() && depth > 1 => list(&entry.path(), depth - 1, seen),
            Ok(kind) if kind.is_file() => seen(&entry.path()),
            _ => {}
        }
    }
}
