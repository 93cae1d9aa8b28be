//! Where the project is that a call is about.

use std::path::{Path, PathBuf};

/// `PROJECT_ROOT`, else the current folder, with links resolved.
pub(crate) fn root() -> PathBuf {
    let told = std::env::var_os("PROJECT_ROOT").filter(|value| !value.is_empty());
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let root = told.map_or_else(here, PathBuf::from);
    root.canonicalize().unwrap_or_else(|_| absolute(&root))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
