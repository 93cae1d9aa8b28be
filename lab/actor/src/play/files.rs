//! Files that a play leaves behind.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;

use super::ending::Trouble;

/// Replaces a file, so that a reader sees the old text or the new one and nothing between.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Trouble> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", process::id()));
    let draft = path.with_file_name(name);
    fs::write(&draft, text)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|source| trouble(path, source))
}

/// Appends one line with one write, so that a reader never sees half of it mixed with another's.
pub(super) fn append_line(path: &Path, text: &str) -> Result<(), Trouble> {
    open_to_append(path)?
        .write_all(format!("{text}\n").as_bytes())
        .map_err(|source| trouble(path, source))
}

pub(super) fn open_to_append(path: &Path) -> Result<File, Trouble> {
    File::options().append(true).create(true).open(path).map_err(|source| trouble(path, source))
}

/// The text of a file; bytes that are no UTF-8 are shown as replacement characters.
pub(super) fn read(path: &Path) -> Result<String, Trouble> {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|source| trouble(path, source))
}

fn trouble(path: &Path, source: io::Error) -> Trouble {
    Trouble::File { path: path.to_owned(), source }
}
