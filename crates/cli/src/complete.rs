//! Shell completions. The scripts of `dogwatch completions` call dogwatch with [`VARIABLE`] set and the words of the
//! command line; it prints candidates. Completing only reads: it creates no state directory and asks no tmux server.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use dogwatch_core::event::kind;
use dogwatch_core::profile;
use dogwatch_core::status::Status;
use dogwatch_engine::observe::agents;
use dogwatch_engine::{Context, environment as surroundings};
use dogwatch_store::{Candidate, Names, RegistryFile, StateDir};

use crate::args::Args;
use crate::{environment, ui};

const VARIABLE: &str = "DOGWATCH_COMPLETE";
const ROLES: [&str; 10] =
    ["dev", "qa", "review", "architect", "pm", "analyst", "research", "sm", "ux", "tech-writer"];

/// Answers a shell that asks for candidates; `false` if none asks.
pub(crate) fn answered(words: &[OsString]) -> bool {
    let asked = words.get(1).is_some_and(|word| word == "--");
    if !asked || std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let cwd = std::env::current_dir().ok();
    let shell = CompleteEnv::with_factory(command).var(VARIABLE);
    // A shell shows no error text, and there is no other place to print it.
    shell.try_complete(words, cwd.as_deref()).unwrap_or(true)
}

/// The script for a shell.
pub(crate) fn script(shell: &str) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(shell) else { return Ok(script) };
    completer.write_registration(VARIABLE, "dogwatch", "dogwatch", "dogwatch", &mut script)?;
    if shell == "zsh" {
        // In a folder of `fpath` the file is a function, and its first call must complete too.
        script.extend_from_slice(
            b"if [[ ${funcstack[1]} == _dogwatch ]]; then _clap_dynamic_completer_dogwatch \"$@\"; fi\n",
        );
    }
    Ok(script)
}

/// The command line with candidates for its arguments. Only here, so that other calls pay nothing for it.
fn command() -> Command {
    with_candidates(Args::whole(), "")
}

fn with_candidates(command: Command, path: &str) -> Command {
    let parts: Vec<String> =
        command.get_subcommands().map(|part| part.get_name().to_owned()).collect();
    let mut command = command.mut_args(|arg| match offered(path, arg.get_id().as_str()) {
        Some(values) => with_values(arg, values),
        None => arg,
    });
    for name in parts {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(name, |part| with_candidates(part, &path));
    }
    command
}

fn with_values(arg: Arg, values: Values) -> Arg {
    arg.add(ArgValueCandidates::new(move || {
        let shown = |note: String| (!note.is_empty()).then(|| ui::harmless(note).into());
        let candidate = |(value, note)| CompletionCandidate::new(value).help(shown(note));
        list(values).into_iter().map(candidate).collect()
    }))
}

/// Where values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    Agents,
    Escalations,
    EventKinds,
    Jobs,
    /// Sessions that have not ended.
    Living,
    Registered,
    Roles,
    Runs,
    /// Archived sessions.
    Archived,
    Tags,
    /// Sessions, those that have not ended first.
    Sessions,
    States,
}

/// What is offered for an argument of a command.
fn offered(path: &str, arg: &str) -> Option<Values> {
    Some(match (path, arg) {
        (
            "kill" | "attach" | "pane close" | "send" | "answer" | "job submit",
            "session" | "sessions" | "target",
        )
        | (_, "master") => Values::Living,
        ("unarchive", "sessions") => Values::Archived,
        ("delete", "name") | ("resume", "names") => Values::Registered,
        (_, "session" | "sessions")
        | ("messages" | "job ls" | "pane verify" | "team", "target")
        | ("exists" | "adopt", "name") => Values::Sessions,
        ("tag ls" | "status" | "ls" | "spawn" | "tag add" | "tag rm", "tags") => Values::Tags,
        (_, "agent" | "agents" | "fallback") => Values::Agents,
        (_, "run") => Values::Runs,
        ("job show" | "job wait" | "job cancel", "id") => Values::Jobs,
        ("escalations show" | "escalations answer" | "escalations wait", "id") => {
            Values::Escalations
        }
        (_, "role") if path != "create" && path != "adopt" => Values::Roles,
        ("wait" | "status", "states") => Values::States,
        ("events", "kind") => Values::EventKinds,
        _ => return None,
    })
}

fn list(values: Values) -> Vec<Candidate> {
    let plain =
        |words: &[&str]| words.iter().map(|word| ((*word).to_owned(), String::new())).collect();
    match values {
        Values::Roles => return plain(&ROLES),
        Values::States => return plain(&Status::WORDS),
        Values::EventKinds => return plain(&kind::ALL),
        _ => {}
    }
    let Some(context) = context() else {
        let builtin = profile::builtin_names().filter(|name| *name != profile::COMMAND);
        return if values == Values::Agents { plain(&builtin.collect::<Vec<_>>()) } else { vec![] };
    };
    if values == Values::Agents {
        return agents::names(&context).into_iter().map(|name| (name, String::new())).collect();
    }
    if values == Values::Registered {
        let told = surroundings::path_variable("DOGWATCH_REGISTRY");
        let path = told.unwrap_or_else(|| RegistryFile::default_path(&context.state));
        let registry = RegistryFile::new(path).read().unwrap_or_default();
        return registry.sessions.into_iter().map(|(name, entry)| (name, entry.agent)).collect();
    }
    let Some(names) = Names::open(&context.state.database()) else { return vec![] };
    match values {
        Values::Living => names.sessions(&context.socket, false),
        Values::Sessions => {
            let mut all = names.sessions(&context.socket, false);
            all.extend(names.sessions(&context.socket, true));
            all
        }
        Values::Archived => names.archived(&context.socket),
        Values::Tags => names.tags(),
        Values::Runs => names.runs(),
        Values::Jobs => names.jobs(),
        _ => names.escalations(),
    }
}

/// The surroundings, if there is a state directory already.
fn context() -> Option<Context> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let state_dir = told(&words, "--state-dir").map(PathBuf::from);
    let given = state_dir.clone().or_else(|| surroundings::path_variable("DOGWATCH_STATE_DIR"));
    let variable = surroundings::path_variable;
    let root = StateDir::locate(given, variable("XDG_STATE_HOME"), variable("HOME")).ok()?;
    if !root.join("dogwatch.db").exists() {
        return None;
    }
    let socket = told(&words, "--socket");
    environment::context(socket.as_deref().and_then(OsStr::to_str), state_dir).ok()
}

/// The value of an option on the command line that is being completed.
fn told(words: &[OsString], option: &str) -> Option<OsString> {
    let at = words.iter().position(|word| word == option);
    let with_equals = |word: &OsString| {
        word.to_str()?.strip_prefix(option)?.strip_prefix('=').map(OsString::from)
    };
    at.and_then(|at| words.get(at + 1).cloned()).or_else(|| words.iter().find_map(with_equals))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every argument that takes an id or a name has candidates.
    #[test]
    fn arguments_with_candidates() {
        let mut found = Vec::new();
        collect(&command(), "", &mut found);
        for (path, arg) in [
            ("kill", "sessions"),
            ("unarchive", "sessions"),
            ("rename", "session"),
            ("tag add", "tags"),
            ("status", "tags"),
            ("attach", "session"),
            ("send", "target"),
            ("spawn", "agent"),
            ("story resume", "run"),
            ("job wait", "id"),
            ("escalations answer", "id"),
            ("task add", "role"),
        ] {
            assert!(found.contains(&format!("{path} {arg}")), "{path} {arg}\n{found:#?}");
        }
    }

    fn collect(command: &Command, path: &str, found: &mut Vec<String>) {
        for arg in command.get_arguments().filter(|arg| arg.get::<ArgValueCandidates>().is_some()) {
            found.push(format!("{path} {}", arg.get_id()));
        }
        for part in command.get_subcommands() {
            let path = format!("{path} {}", part.get_name()).trim_start().to_owned();
            collect(part, &path, found);
        }
    }

    #[test]
    fn options_of_the_command_line_that_is_completed() {
        let words = ["x", "--", "dogwatch", "--socket", "a", "--state-dir=/b", "kill", ""];
        let words = words.map(OsString::from);
        assert_eq!(told(&words, "--socket"), Some("a".into()));
        assert_eq!(told(&words, "--state-dir"), Some("/b".into()));
        assert_eq!(told(&words, "--json"), None);
    }
}
