use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{is_id, modified};
use crate::observe::files;

/// A line for each folder that it was ever used in.
const MAX_CACHE: u64 = 16 * 1024 * 1024;

pub(super) fn usual(root: &Path, id: &str) -> PathBuf {
    root.join("conversations").join(format!("{id}.db"))
}

/// The last conversation of the folder, as its cache has it, if its database is there.
pub(super) fn in_folder(root: &Path, folder: &str, since: Timestamp) -> Vec<(String, Timestamp)> {
    let cache = root.join("cache/last_conversations.json");
    let Some(bytes) = files::read_regular(&cache, MAX_CACHE) else { return Vec::new() };
    let last: Map<String, Value> =
        serde_json::from_slice(&bytes).logged("read JSON").unwrap_or_default();
    let is_meant = |workspace: &str| {
        let path = workspace.strip_prefix("file://").unwrap_or(workspace);
        let path = Path::new(path);
        path == Path::new(folder) || path.canonicalize().is_ok_and(|real| real == Path::new(folder))
    };
    last.iter()
        .filter(|(workspace, _)| is_meant(workspace))
        .filter_map(|(_, value)| id_in(value))
        .filter_map(|id| Some((id.to_owned(), modified(&usual(root, id))?)))
        .filter(|(_, at)| *at >= since)
        .collect()
}

/// SQLite's own files beside a database.
pub(super) fn beside(database: &Path) -> Vec<PathBuf> {
    let of = |ending: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    ["-wal", "-shm"].map(of).into_iter().filter(|path| path.is_file()).collect()
}

/// The id itself, or an object that has it.
fn id_in(value: &Value) -> Option<&str> {
    let keys = ["conversationId", "conversation_id", "id"];
    let named = || keys.iter().find_map(|key| value.get(key)?.as_str());
    value.as_str().or_else(named).filter(|id| is_id(id))
}
