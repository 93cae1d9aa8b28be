//! Gives a new worktree what git does not: files of the project that are copied or linked, and a setup command.

use std::path::{Path, PathBuf};
use std::process::Command;

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_core::worktree::settings::Settings;
use dogwatch_store::{
    Allowance, MOST_TEXT, ProjectFile, Provided, copy_beneath, link_beneath, replace,
};

use super::repository::{self, Repository};
use super::step;
use crate::error::WorktreeError;
use crate::{Context, Error};

/// More than configuration and small fixtures need; larger things are linked.
const MOST: Allowance = Allowance { bytes: 256 * 1024 * 1024, entries: 20_000 };

/// Copies and links the files. Returns what the caller should know. What git would then see as untracked is added to the
/// repository's own list of ignored files, so that no agent commits it.
pub fn files(home: &Repository, folder: &Path, settings: &Settings) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let mut allowance = MOST;
    let copies = settings.copy.iter().map(|path| ("copy", path));
    for (verb, path) in copies.chain(settings.link.iter().map(|path| ("link", path))) {
        let provided = if verb == "copy" {
            copy_beneath(&home.top, folder, Path::new(path), &mut allowance)
        } else {
            link_beneath(&home.top, folder, Path::new(path))
        };
        match provided {
            Ok(Provided::Done) => {
                if !is_ignored(folder, path)? {
                    exclude(home, Path::new(path))?;
                }
            }
            Ok(Provided::Missing) => notes.push(
                format!("{path} does not exist and was not {verb}ed").replace("copyed", "copied"),
            ),
            Ok(Provided::Exists) => {
                notes.push(format!("{path} is in the worktree already and was left as it is"));
            }
            Err(error) => {
                let (path, problem) = (path.clone(), error.to_string());
                return Err(WorktreeError::NotProvided { verb, path, problem }.into());
            }
        }
        step();
    }
    Ok(notes)
}

fn is_ignored(folder: &Path, path: &str) -> Result<bool, Error> {
    let said = repository::run(folder, &["check-ignore", "-q", "--", path], b"")?;
    // A tracked file is not ignored, and needs no entry either.
    let tracked = repository::run(folder, &["ls-files", "--error-unmatch", "--", path], b"")?;
    Ok(said.is_fine() || tracked.is_fine())
}

/// Adds a path to `info/exclude` of the repository, so that no shared file changes. `path` is relative to the top.
pub fn exclude(repository: &Repository, path: &Path) -> Result<(), Error> {
    let file = repository.common.join("info/exclude");
    let pattern = format!("/{}", escaped(&path.to_string_lossy()));
    let failed = || Error::io(format!("write {}", file.display()));
    let exclude = ProjectFile::below(&repository.common, &file).map_err(failed())?;
    let text = exclude.read(MOST_TEXT).map_err(failed())?.unwrap_or_default();
    if text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == pattern.as_bytes()) {
        return Ok(());
    }
    let gap = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    // Append only: the file is a person's, in any encoding.
    exclude.append(format!("{gap}{pattern}\n").as_bytes()).map_err(failed())
}

/// A path as a pattern that matches nothing else.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for letter in path.chars() {
        if matches!(letter, '*' | '?' | '[' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Where the output of a setup command is kept.
pub fn log_file(context: &Context, session: &str) -> PathBuf {
    context.state.root().join("setup").join(format!("{session}.log"))
}

/// Runs the setup command in the new worktree, and keeps its output.
pub fn setup(
    context: &Context,
    home: &Repository,
    folder: &Path,
    session: &str,
    settings: &Settings,
    env: &[(String, String)],
) -> Result<(), Error> {
    let Some(setup) = &settings.setup else { return Ok(()) };
    let log = log_file(context, session);
    if let Some(parent) = log.parent() {
        std::fs::create_dir_all(parent).map_err(Error::io(format!("make {}", parent.display())))?;
    }
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(setup).current_dir(folder);
    command.envs(env.iter().map(|(name, value)| (name, value)));
    command.env("DOGWATCH_WORKTREE", folder).env("DOGWATCH_PROJECT", &home.top);
    // It is not part of the session that this command may have been called from.
    command.env_remove("DOGWATCH_SESSION").env_remove("DOGWATCH_FAMILY");
    let ended = program::run(command, b"", settings.setup_timeout)
        .map_err(Error::io("run the setup command"))?;
    let output = [ended.stdout.bytes.as_slice(), ended.stderr.bytes.as_slice()].concat();
    replace(&log, &output).logged("keep the output of a setup command");
    step();
    if ended.is_fine() {
        return Ok(());
    }
    let said = match ended.code() {
        None => format!("it took longer than {} s", settings.setup_timeout.as_secs()),
        Some(code) => format!("exit code {code}: {}", ended.complaint()),
    };
    Err(WorktreeError::SetupFailed { said, log }.into())
}
