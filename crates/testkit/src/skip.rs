//! Reports tests that did not run. `./test` and `.ci/run` print the list at the end.

use std::fs::File;
use std::io::Write;

/// Set by `./test`, which installs claude, codex, Hermes and the packages of BMAD.
pub const AGENTS: Option<&str> = Some("DOGWATCH_REQUIRE_AGENTS");
/// Set by `./test`, which installs Mosquitto.
pub const MOSQUITTO: Option<&str> = Some("DOGWATCH_REQUIRE_MOSQUITTO");

/// The file with the list; one line each: what, a tab, why.
const LIST: &str = "DOGWATCH_SKIPPED";

/// Records that a test, or a part of it, did not run. Panics instead if the variable `required` is set: then what is missing
/// should have been installed.
#[track_caller]
pub fn skipped(required: Option<&str>, why: &str) {
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    if let Some(variable) = required.filter(|variable| std::env::var_os(variable).is_some()) {
        panic!("{why}, and {variable} is set");
    }
    eprintln!("SKIPPED: {why}");
    if let Some(list) = std::env::var_os(LIST) {
        let line = format!("{test}\t{why}\n");
        // One short append per line, so that lines of several processes do not mix.
        let file = File::options().create(true).append(true).open(list);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("{LIST}: {error}");
        }
    }
}

/// Whether a program is installed; records the skip if not.
#[track_caller]
pub fn has_program(program: &str, required: Option<&str>) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian installs servers outside a user's search path.
    let more = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"];
    let mut folders = std::env::split_paths(&path).chain(more.map(Into::into));
    let is_here = folders.any(|folder| folder.join(program).exists());
    if !is_here {
        skipped(required, &format!("{program} is not installed"));
    }
    is_here
}
