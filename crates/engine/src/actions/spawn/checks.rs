//! What can be known to be wrong before anything is changed.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::profile::{self, Profile};

use super::{MAX_PROMPT, What};
use crate::error::{AgentError, SessionError};
use crate::observe::agents;
use crate::{Context, Error};

/// The profile, the program that was found for it, and its further arguments.
pub(super) fn program(
    context: &Context,
    what: &What,
    cwd: &Path,
) -> Result<(Profile, PathBuf, Vec<OsString>), Error> {
    let (profile, program, extra_args) = match what {
        What::Agent { name, extra_args } => {
            let profile = agents::profile(context, name)?;
            let program = profile.program.clone();
            (profile, program, extra_args.clone())
        }
        What::Command(words) => {
            let profile = agents::profile(context, profile::COMMAND)?;
            let first = words.first().map(|w| w.to_string_lossy().into_owned()).unwrap_or_default();
            (profile, first, words.iter().skip(1).cloned().collect())
        }
        What::Script(_) => {
            (agents::profile(context, profile::COMMAND)?, "/bin/sh".to_owned(), Vec::new())
        }
    };
    match agents::find_program(&program, &context.path, cwd) {
        Some(path) => Ok((profile, path, extra_args)),
        None if program.contains('/') && cwd.join(&program).exists() => {
            Err(AgentError::NotExecutable { path: cwd.join(program) }.into())
        }
        None => Err(AgentError::ProgramNotFound { program, install: profile.install }.into()),
    }
}

/// Leaves out what an outer agent has set for its own children, and what would mislead the one that is started.
pub(super) fn leave_out_marks(context: &Context, agent: &str, env: &mut Vec<(OsString, OsString)>) {
    // An agent that nobody knows has no such marks.
    let marks = agents::profile(context, agent)
        .map(|p| p.launch.unset)
        .logged("read an agent's profile")
        .unwrap_or_default();
    env.retain(|(key, _)| !marks.iter().any(|mark| key == mark.as_str()));
}

/// A port that nobody listens on, if the agent wants one. It is free again before the agent takes it;
/// should somebody else be faster, the agent says so.
pub(super) fn free_port(profile: &Profile) -> Result<u16, Error> {
    if !profile.launch.args.iter().any(|arg| arg.contains("@port@")) {
        return Ok(0);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|l| l.local_addr()).map_err(Error::io("find a free port"))?;
    Ok(address.port())
}

pub(super) fn cwd(cwd: &Path) -> Result<(), Error> {
    // tmux would quietly start the pane in the home folder.
    if cwd.is_dir() {
        Ok(())
    } else if cwd.exists() {
        Err(SessionError::NotAFolder { path: cwd.to_owned() }.into())
    } else {
        Err(SessionError::NoSuchFolder { path: cwd.to_owned() }.into())
    }
}

pub(super) fn prompt(prompt: Option<&str>) -> Result<(), Error> {
    let problem = match prompt {
        None => return Ok(()),
        Some(text) if text.trim().is_empty() => "is empty".to_owned(),
        Some(text) if text.len() as u64 > MAX_PROMPT => {
            format!("is longer than {MAX_PROMPT} bytes")
        }
        Some(text) => match text.find('\0') {
            Some(at) => format!("contains a NUL byte at {at}"),
            None => return Ok(()),
        },
    };
    Err(SessionError::BadPrompt { problem }.into())
}

/// Some agents take no prompt when they are started, or take a text that begins in a certain way for something else than
/// a message.
pub(super) fn prefix(prompt: Option<&str>, profile: &Profile) -> Result<(), Error> {
    let takes_none = profile.launch.prompt.is_empty() && profile.name != profile::COMMAND;
    if prompt.is_some() && takes_none && profile::is_builtin(&profile.name) {
        let problem = format!(
            "cannot be given to {} at its start; start it without one, then `dogwatch send` it",
            profile.title
        );
        return Err(SessionError::BadPrompt { problem }.into());
    }
    let prompt = prompt.unwrap_or_default().trim_start();
    let refused = &profile.launch.refused_prefixes;
    match refused.iter().find(|prefix| prompt.starts_with(prefix.as_str())) {
        Some(prefix) => Err(SessionError::BadPrompt {
            problem: format!(
                "begins with {prefix:?}, which {} would run as a command",
                profile.title
            ),
        }
        .into()),
        None => Ok(()),
    }
}

pub(super) fn env(env: &[(String, String)]) -> Result<(), Error> {
    let bad = env
        .iter()
        .find(|(key, value)| key.is_empty() || key.contains(['=', '\0']) || value.contains('\0'));
    match bad {
        Some((key, _)) => Err(SessionError::BadVariable { name: key.clone() }.into()),
        None => Ok(()),
    }
}
