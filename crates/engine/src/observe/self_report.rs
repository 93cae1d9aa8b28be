use std::path::{Path, PathBuf};

use dogwatch_core::profile::OwnWordWay;
use dogwatch_core::record::ProcessIdent;
use dogwatch_core::status::evidence::OwnWord;
use dogwatch_core::status::self_report::{self, Writer};

use crate::Context;
use crate::observe::{files, opencode, proc_files, processes};

/// More than any state file has.
const MAX_STATE_FILE: u64 = 1024 * 1024;

/// Asks a session's agent what it says of itself.
pub fn ask(
    context: &Context,
    session: &str,
    way: Option<OwnWordWay>,
    agent: ProcessIdent,
) -> OwnWord {
    match way {
        None => OwnWord::Mute,
        Some(OwnWordWay::ClaudeStateFile) => claude_word(agent, context.home.clone()),
        Some(OwnWordWay::OpencodeHttp) => {
            opencode::ask(agent, context.state.session(session).path())
        }
    }
}

fn claude_word(agent: ProcessIdent, home: Option<PathBuf>) -> OwnWord {
    let word = |bytes: Vec<u8>| self_report::claude(&bytes, writer(&bytes, agent));
    // A file that names this very process is its own, wherever it is, and it is nearly always there. To find out where
    // else it may be takes longer than all the rest.
    let usual = home.as_ref().map(|home| state_file(&home.join(".claude"), agent.pid));
    let usual = usual.and_then(|file| files::read_regular(&file, MAX_STATE_FILE)).map(word);
    match usual {
        Some(word @ OwnWord::Says(..)) => word,
        _ => claude(agent, home).map_or(OwnWord::Silent, word),
    }
}

/// The process that may have written a state file. When it began is asked only where the file does not name its start.
fn writer(file: &[u8], process: ProcessIdent) -> Writer {
    let names_start = file.windows(9).any(|bytes| bytes == b"procStart");
    Writer { process, began: if names_start { None } else { proc_files::began(process) } }
}

/// What it says, as it is.
pub fn raw(
    context: &Context,
    session: &str,
    way: OwnWordWay,
    agent: ProcessIdent,
) -> Option<Vec<u8>> {
    match way {
        OwnWordWay::ClaudeStateFile => claude(agent, context.home.clone()),
        OwnWordWay::OpencodeHttp => opencode::raw(agent, context.state.session(session).path()),
    }
}

fn claude(agent: ProcessIdent, home: Option<PathBuf>) -> Option<Vec<u8>> {
    files::read_regular(&claude_file(agent.pid, home)?, MAX_STATE_FILE)
}

/// The conversation that an agent says it is in.
pub fn conversation(
    way: Option<OwnWordWay>,
    agent: ProcessIdent,
    home: Option<PathBuf>,
) -> Option<String> {
    match way? {
        OwnWordWay::ClaudeStateFile => {
            let file = claude(agent, home)?;
            self_report::claude_conversation(&file, writer(&file, agent))
        }
        OwnWordWay::OpencodeHttp => None,
    }
}

/// Where a claude process keeps its state file, by its own environment: that need not be ours.
pub fn claude_file(pid: i32, home: Option<PathBuf>) -> Option<PathBuf> {
    let [config, own_home] = processes::variables(pid, ["CLAUDE_CONFIG_DIR", "HOME"]);
    let in_home = |home: PathBuf| home.join(".claude");
    let config = config.or(own_home.map(in_home)).or(home.map(in_home))?;
    Some(state_file(&config, pid))
}

fn state_file(config: &Path, pid: i32) -> PathBuf {
    config.join("sessions").join(format!("{pid}.json"))
}
