//! `derive-project-slug`: the short name of a project in session names.

use std::path::Path;

use dogwatch_bmad::format::slug::slug;

use crate::answers::{ProjectSlug, success};

use super::{Call, Reply};

/// Of `--project-root` as written, else of the current directory.
pub(super) fn derive(call: &Call) -> Reply {
    if call.asks_for_help() {
        return Reply::line("Usage: derive-project-slug [--project-root PATH]");
    }
    let here = std::env::current_dir().unwrap_or_else(|_| ".".into());
    let given = call.option("--project-root");
    let shown = given.map_or_else(|| here.to_string_lossy().into_owned(), str::to_owned);
    let root = std::path::absolute(here.join(&shown)).unwrap_or_else(|_| here.join(&shown));
    let root = root.canonicalize().unwrap_or(root);
    let slug = slug(&folder_name(&root));
    Reply::json(&success(ProjectSlug { slug, project_root: shown }))
}

fn folder_name(root: &Path) -> String {
    root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
