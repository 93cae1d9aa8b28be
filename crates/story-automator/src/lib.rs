//! The drop-in: called as `story-automator`, the binary answers like the helper of that name.
//!
//! Stories, policies and state documents are in `dogwatch-bmad`; sessions come from `dogwatch-engine`, as for every other front end.

mod answers;
mod call;
mod commands;
pub mod decide;
mod project;
pub mod reading;
mod reply;
pub mod session;
pub mod stop_hook;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use call::Call;
use commands::{runs, sessions, stories};
use dogwatch_base::log::{self, Place};
use dogwatch_core::suggest::distance;
use reply::Reply;

/// The name that selects this front end.
pub(crate) const NAME: &str = "story-automator";

/// Commands with which dogwatch calls itself, by the path of the running binary, which may be a copy with the other name. The
/// helper has no such commands.
const OWN: [&str; 2] = ["run", "hook"];

/// One command of the helper, and its handler.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    pub(crate) answer: fn(&Call) -> Reply,
}

/// The arguments after the name, if the binary is called by it: through a link, or as its first word.
pub fn called(arguments: &[OsString]) -> Option<&[OsString]> {
    let (program, rest) = arguments.split_first()?;
    let is_own = rest.first().is_some_and(|word| OWN.iter().any(|own| word == own));
    if Path::new(program).file_stem().is_some_and(|stem| stem == NAME) && !is_own {
        return Some(rest);
    }
    let (first, rest) = rest.split_first()?;
    (first == NAME).then_some(rest)
}

pub fn main(arguments: &[OsString]) -> ExitCode {
    let words: Vec<String> =
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // stdout and stderr belong to the skills.
    if let Some(wanted) = log::wanted()
        && let Ok(state) = dogwatch_engine::environment::state_dir(None)
    {
        log::start(&wanted, Place::Folder(state.log()));
    }
    let reply = answer(&words);
    // A caller that is gone cannot be notified.
    let _ = std::io::stderr().write_all(reply.stderr.as_bytes());
    let _ = std::io::stdout().write_all(reply.stdout.as_bytes());
    ExitCode::from(reply.code)
}

fn answer(words: &[String]) -> Reply {
    let Some((name, rest)) = words.split_first() else {
        return Reply::refused(usage());
    };
    match name.as_str() {
        "--help" | "-h" => return Reply::text(usage()),
        "--version" | "-v" | "version" => {
            return Reply::json(&answers::success(answers::Version { version: "1.15.0" }));
        }
        _ => {}
    }
    match verbs().find(|verb| verb.name == name) {
        Some(verb) => (verb.answer)(&Call::new(verb.name, rest)),
        None => Reply::refused(format!("Unknown command: {name}\n{}{}", near(name), usage())),
    }
}

fn verbs() -> impl Iterator<Item = &'static Verb> {
    sessions::VERBS.iter().chain(stories::VERBS).chain(runs::VERBS)
}

fn usage() -> String {
    let mut text = format!("{NAME} <command> [args]\n\nCommands:\n");
    for verb in verbs() {
        text.push_str("  ");
        text.push_str(verb.name);
        text.push('\n');
    }
    text
}

/// A suggestion for a misspelled name.
fn near(name: &str) -> String {
    let mut close: Vec<(usize, &str)> = verbs()
        .map(|verb| (distance(name, verb.name), verb.name))
        .filter(|&(far, known)| far * 3 <= known.len())
        .collect();
    close.sort_unstable();
    let names: Vec<&str> = close.into_iter().take(3).map(|(_, known)| known).collect();
    if names.is_empty() { String::new() } else { format!("Did you mean: {}?\n", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn called_by_a_link_or_as_the_first_word() {
        let by_link = words(&["/x/story-automator", "version"]);
        assert_eq!(called(&by_link), Some(&words(&["version"])[..]));
        let by_word = words(&["/x/dogwatch", "story-automator", "version"]);
        assert_eq!(called(&by_word), Some(&words(&["version"])[..]));
        let by_itself = words(&["/x/story-automator", "run", "--state-dir", "/y", "id"]);
        assert_eq!(called(&by_itself), None, "a copy of the binary is its own runner too");
        assert_eq!(called(&words(&["/x/dogwatch", "ls", "story-automator"])), None);
    }

    #[test]
    fn a_misspelled_command_gets_a_suggestion() {
        assert_eq!(near("monitor-sesion"), "Did you mean: monitor-session?\n");
        let reply = answer(&["zzzzzz".to_owned()]);
        assert!(reply.stderr.starts_with("Unknown command: zzzzzz\nstory-automator <command>"));
        assert_eq!(reply.code, 1);
    }
}
