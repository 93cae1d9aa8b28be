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

fn claude(agent: ProcessIdent, home: Option<PathBuf>) -> OwnWord {
    // By the agent's own environment: it need not be ours.
    let [config, own_home] = processes::variables(agent.pid, ["CLAUDE_CONFIG_DIR", "HOME"]);
    let in_home = |home: PathBuf| home.join(".claude");
    let Some(config) = config.or(own_home.map(in_home)).or(home.map(in_home)) else {
        return OwnWord::Silent;
    };
    let path = config.join("sessions").join(format!("{}.json", agent.pid));
    match files::read_regular(&path, MAX_STATE_FILE) {
        Some(bytes) => own_word::claude(&bytes, agent),
        None => OwnWord::Silent,
    }
}
