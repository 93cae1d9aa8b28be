use std::path::PathBuf;

use dogwatch_core::profile::OwnWordWay;
use dogwatch_core::record::ProcessIdent;
use dogwatch_core::status::evidence::OwnWord;
use dogwatch_core::status::own_word;

use crate::sense::{files, processes};

/// More than any state file has.
const MAX_STATE_FILE: u64 = 1024 * 1024;

/// Asks an agent's process what it says of itself.
pub fn ask(way: Option<OwnWordWay>, agent: ProcessIdent, home: Option<PathBuf>) -> OwnWord {
    match way {
        None => OwnWord::Mute,
        Some(OwnWordWay::ClaudeStateFile) => claude(agent, home),
    }
}

/// What the agent's process has written of itself, as it is.
pub fn raw(way: OwnWordWay, agent: ProcessIdent, home: Option<PathBuf>) -> Option<Vec<u8>> {
    match way {
        OwnWordWay::ClaudeStateFile => {
            files::read_regular(&claude_file(agent.pid, home)?, MAX_STATE_FILE)
        }
    }
}

fn claude(agent: ProcessIdent, home: Option<PathBuf>) -> OwnWord {
    raw(OwnWordWay::ClaudeStateFile, agent, home)
        .map_or(OwnWord::Silent, |bytes| own_word::claude(&bytes, agent))
}

/// The conversation that an agent says it is in.
pub fn conversation(
    way: Option<OwnWordWay>,
    agent: ProcessIdent,
    home: Option<PathBuf>,
) -> Option<String> {
    let OwnWordWay::ClaudeStateFile = way?;
    let file = files::read_regular(&claude_file(agent.pid, home)?, MAX_STATE_FILE)?;
    own_word::claude_conversation(&file, agent)
}

/// Where a claude process keeps its state file, by its own environment: that need not be ours.
pub fn claude_file(pid: i32, home: Option<PathBuf>) -> Option<PathBuf> {
    let [config, own_home] = processes::variables(pid, ["CLAUDE_CONFIG_DIR", "HOME"]);
    let in_home = |home: PathBuf| home.join(".claude");
    let config = config.or(own_home.map(in_home)).or(home.map(in_home))?;
    Some(config.join("sessions").join(format!("{pid}.json")))
}
