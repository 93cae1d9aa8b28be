use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io, thread};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::agent_version;
use dogwatch_core::profile::{self, Profile, ProfileError};
use dogwatch_store::read_regular;

use crate::error::AgentError;
use crate::observe::processes;
use crate::{Context, Error};

/// How long an agent may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than any profile has.
const MAX_PROFILE: u64 = 4 * 1024 * 1024;

/// An agent that could be started, and what was found of it on this machine.
#[derive(Debug, Clone)]
pub struct Found {
    pub profile: Profile,
    pub path: Option<PathBuf>,
    pub version: Option<String>,
}

/// The profile of that name: the user's own if there is one, else the built-in.
pub fn profile(context: &Context, name: &str) -> Result<Profile, Error> {
    if let Some(own) = own_profile(context, name) {
        return Ok(own?);
    }
    profile::builtin(name).ok_or_else(|| {
        Error::Agent(AgentError::UnknownAgent {
            name: name.to_owned(),
            known: names(context).join(", "),
        })
    })
}

/// The program of an agent. Those of the built-in ones are known without reading their profiles.
pub fn program(context: &Context, name: &str) -> Option<String> {
    let program = match own_profile(context, name) {
        Some(own) => own.logged("read an agent's profile")?.program,
        None => profile::builtin_program(name)?.to_owned(),
    };
    (!program.is_empty()).then_some(program)
}

/// Profiles that were read before. One that could not be is tried again.
#[derive(Debug, Default)]
pub struct Profiles(HashMap<String, Arc<Profile>>);

impl Profiles {
    pub fn of(&mut self, context: &Context, name: &str) -> Option<Arc<Profile>> {
        if let Some(known) = self.0.get(name) {
            return Some(Arc::clone(known));
        }
        let profile = Arc::new(profile(context, name).logged("read an agent's profile")?);
        self.0.insert(name.to_owned(), Arc::clone(&profile));
        Some(profile)
    }
}

fn own_profile(context: &Context, name: &str) -> Option<Result<Profile, ProfileError>> {
    // A name is a file name here: nothing that could lead out of the folder.
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)) {
        return None;
    }
    let path = context.profiles.as_ref()?.join(format!("{name}.toml"));
    let shown = path.display().to_string();
    let text = read_regular(&path, MAX_PROFILE)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    let text = match text {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            let message = error.to_string();
            return Some(Err(ProfileError::Syntax { file: shown, message }));
        }
        Ok(text) => text,
    };
    Some(profile::parse(&shown, &text).and_then(|profile| {
        if profile.name == name {
            Ok(profile)
        } else {
            Err(ProfileError::WrongName { file: shown.clone(), name: profile.name })
        }
    }))
}

/// All agents that can be named, built in or the user's own.
pub fn names(context: &Context) -> Vec<String> {
    let mut names: Vec<String> =
        profile::builtin_names().filter(|n| *n != profile::COMMAND).map(Into::into).collect();
    let own = context
        .profiles
        .as_ref()
        .and_then(|dir| fs::read_dir(dir).logged_unless_missing("list a folder"));
    let mut added: Vec<String> = own
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| Some(e.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .filter(|name| !names.contains(name) && name != profile::COMMAND)
        .collect();
    added.sort();
    names.append(&mut added);
    names
}

/// What is there of each agent. Versions are asked side by side, since some take a second to answer.
pub fn survey(context: &Context) -> Vec<(String, Result<Found, Error>)> {
    thread::scope(|scope| {
        let asked: Vec<_> = names(context)
            .into_iter()
            .map(|name| {
                let ask = {
                    let name = name.clone();
                    move || find(context, &name)
                };
                (name, thread::Builder::new().spawn_scoped(scope, ask))
            })
            .collect();
        let found = asked.into_iter().filter_map(|(name, handle)| {
            let found = match handle {
                Ok(handle) => handle.join().ok()?,
                // No thread to be had: one after the other, then.
                Err(_) => find(context, &name),
            };
            Some((name, found))
        });
        found.collect()
    })
}

fn find(context: &Context, name: &str) -> Result<Found, Error> {
    let profile = profile(context, name)?;
    let path = find_program(&profile.program, &context.path, Path::new("/"));
    let version = path.as_ref().and_then(|path| version(path, &profile));
    Ok(Found { profile, path, version })
}

/// What a program says of its version.
pub fn version(path: &Path, profile: &Profile) -> Option<String> {
    version_within(path, profile, PATIENCE)
}

/// The same for who cannot wait that long.
pub fn version_within(path: &Path, profile: &Profile, patience: Duration) -> Option<String> {
    if profile.version_args.is_empty() {
        return None;
    }
    let mut command = Command::new(path);
    command.args(&profile.version_args);
    let output = processes::output_within(command, b"", patience)?;
    version_in(&String::from_utf8_lossy(&output)).map(ToOwned::to_owned)
}

/// The first word that is a version, or else looks like one: it begins with a digit, and has a dot in it if any has. Copilot says how
/// long it took to unpack itself first, and ends its sentence with a full stop.
pub fn version_in(text: &str) -> Option<&str> {
    let words = text.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';']));
    let numbers = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let like_one = || numbers.clone().find(|word| word.contains('.')).or(numbers.clone().next());
    agent_version::find(text).or_else(like_one)
}

/// Looks a program up as a shell would: with a slash it is a path, else the first executable file of
/// that name on the path.
pub fn find_program(program: &str, path: &OsStr, cwd: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        // From where it will run, else from where the caller stands.
        let places = [cwd.join(program), PathBuf::from(program)];
        let absolute =
            places.iter().filter_map(|place| std::path::absolute(place).logged("resolve a path"));
        return absolute.into_iter().find(|path| is_executable(path));
    }
    if program.is_empty() {
        return None;
    }
    std::env::split_paths(path).map(|dir| dir.join(program)).find(|p| is_executable(p))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_what_programs_say() {
        let table = [
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("Package extraction took 7436ms\nGitHub Copilot CLI 1.0.102.\n", Some("1.0.102")),
            ("aider 0.86.2", Some("0.86.2")),
            ("mine 7", Some("7")),
            ("no number", None),
        ];
        for (text, version) in table {
            assert_eq!(version_in(text), version, "{text}");
        }
    }

    #[test]
    fn programs_are_found_as_a_shell_would() {
        let path = OsStr::new("/no/such:/usr/bin:/bin");
        assert!(find_program("sh", path, Path::new("/")).is_some_and(|p| p.ends_with("sh")));
        assert_eq!(find_program("no-such-program", path, Path::new("/")), None);
        assert_eq!(find_program("", path, Path::new("/")), None);
        assert_eq!(find_program("/etc/passwd", path, Path::new("/")), None, "not executable");
        assert_eq!(find_program("/usr", path, Path::new("/")), None, "a folder");
    }
}
