use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use jiff::Timestamp;
use serde_json::Value;

use super::{created, is_id, modified};
use crate::observe::files;

/// The first lines of a conversation say which it is; prompts may be long.
const HEAD: u64 = 256 * 1024;

/// Where the conversation of a folder is; without the folder, where it would be in any.
pub(super) fn usual(root: &Path, id: &str, cwd: Option<&str>) -> PathBuf {
    let folder = cwd.map_or_else(|| "*".to_owned(), key);
    root.join("projects").join(folder).join(format!("{id}.jsonl"))
}

/// Every conversation there is, by its id.
pub(super) fn all(root: &Path) -> HashMap<String, PathBuf> {
    let projects = fs::read_dir(root.join("projects")).into_iter().flatten().flatten();
    projects.flat_map(|project| conversations(&project.path())).collect()
}

pub(super) fn in_folder(root: &Path, folder: &str, since: Timestamp) -> Vec<(String, Timestamp)> {
    let project = root.join("projects").join(key(folder));
    let mut found = Vec::new();
    for (stem, path) in conversations(&project) {
        let Some(at) = modified(&path).filter(|at| *at >= since) else { continue };
        let (id, cwd) = head(&path);
        // Two folders may share a key.
        if cwd.is_some_and(|cwd| !is_same_folder(&cwd, folder)) {
            continue;
        }
        // The file's name is what it is resumed by; what it says counts if there is such a file.
        let said = id.filter(|id| project.join(format!("{id}.jsonl")).is_file());
        found.push((said.unwrap_or(stem), at));
    }
    found
}

pub(super) fn begun_in(root: &Path, folder: &str, since: Timestamp) -> Vec<PathBuf> {
    let files = conversations(&root.join("projects").join(key(folder))).into_iter();
    let begun =
        files.map(|(_, path)| path).filter(|path| created(path).is_some_and(|at| at >= since));
    begun.filter(|path| head(path).1.is_none_or(|cwd| is_same_folder(&cwd, folder))).collect()
}

/// What else belongs to a conversation: its subagents and the output of its tools.
pub(super) fn beside(conversation: &Path) -> Vec<PathBuf> {
    let folder = conversation.with_extension("");
    folder.is_dir().then_some(folder).into_iter().collect()
}

fn conversations(project: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(project).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let stem = entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned();
            is_id(&stem).then(|| (stem, entry.path()))
        })
        .collect()
}

/// The id and the folder that the first lines tell of.
fn head(path: &Path) -> (Option<String>, Option<String>) {
    let bytes = files::read_range(path, 0, HEAD).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').take(20);
    let values: Vec<Value> =
        lines.filter_map(|line| serde_json::from_slice(line).logged("read JSON")).collect();
    let first = |key: &str| values.iter().find_map(|v| Some(v.get(key)?.as_str()?.to_owned()));
    (first("sessionId"), first("cwd"))
}

fn is_same_folder(one: &str, other: &str) -> bool {
    one == other || Path::new(one).canonicalize().is_ok_and(|real| real == Path::new(other))
}

/// A folder as claude writes it in a name: a dash for whatever is no letter or digit.
fn key(folder: &str) -> String {
    let mut key = String::with_capacity(folder.len());
    for c in folder.chars() {
        if c.is_ascii_alphanumeric() {
            key.push(c);
        } else {
            // It counts in UTF-16.
            key.extend(std::iter::repeat_n('-', c.len_utf16()));
        }
    }
    key
}
