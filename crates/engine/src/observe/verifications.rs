//! What `agents verify` found out about the agents on this machine: a file for each agent below the state directory.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::status::Source;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::verification::Verification;
use dogwatch_store::{Session, read_regular, replace};
use jiff::Timestamp;

use crate::{Context, Error};

/// More than any such file has.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How many versions of one agent are remembered.
const MOST_VERSIONS: usize = 20;

/// Remembers a verification, in place of an earlier one of the same program and version.
pub fn keep(context: &Context, verification: &Verification) -> Result<(), Error> {
    let mut all = of_agent(context, &verification.agent);
    all.retain(|other| {
        (&other.program, &other.version) != (&verification.program, &verification.version)
    });
    all.insert(0, verification.clone());
    all.truncate(MOST_VERSIONS);
    let text = serde_json::to_vec(&all)
        .map_err(|error| Error::io("write a verification")(io::Error::other(error)))?;
    let path = context.state.verification(&verification.agent)?;
    Ok(replace(&path, &text)?)
}

/// The verifications of an agent, the newest first.
pub fn of_agent(context: &Context, agent: &str) -> Vec<Verification> {
    let path = context.state.verification_path(agent);
    let bytes = read_regular(&path, MOST_BYTES).logged_unless_missing("read a verification");
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).logged("read JSON")).unwrap_or_default()
}

/// The verification of a program as it is now. One that was changed since then is another version.
pub fn of_program<'v>(all: &'v [Verification], program: &Path) -> Option<&'v Verification> {
    if all.is_empty() {
        return None;
    }
    let program = resolved(program)?;
    all.iter().find(|one| {
        let is_same = resolved(Path::new(&one.program)).as_ref() == Some(&program);
        is_same && changed(&program).is_some_and(|at| at <= one.at)
    })
}

/// Which sources are not believed, for sessions that were asked about before too.
#[derive(Debug, Default)]
pub struct Trust {
    sessions: HashMap<(SessionId, String), Vec<Source>>,
    /// Each agent's file is read once.
    agents: HashMap<String, Vec<Verification>>,
}

impl Trust {
    /// Sources that reported something false when this session's program was verified.
    pub fn distrusted(&mut self, context: &Context, session: &Session) -> &[Source] {
        let Self { sessions, agents } = self;
        let key = (session.id.clone(), session.agent.clone());
        sessions.entry(key).or_insert_with(|| {
            let agent = &session.agent;
            let all = agents.entry(agent.clone()).or_insert_with(|| of_agent(context, agent));
            distrusted(all, session)
        })
    }
}

fn distrusted(all: &[Verification], session: &Session) -> Vec<Source> {
    // An interpreter may stand before the program.
    let mut words = session.command.iter().take(3).filter(|word| word.contains('/'));
    let found = words.find_map(|word| of_program(all, Path::new(word)));
    let sources = found.into_iter().flat_map(Verification::distrusted);
    sources
        .filter_map(|name| Source::ALL.into_iter().find(|source| source.as_str() == name))
        .collect()
}

fn resolved(program: &Path) -> Option<PathBuf> {
    program.canonicalize().logged_unless_missing("resolve a path")
}

fn changed(program: &Path) -> Option<Timestamp> {
    let file = std::fs::metadata(program).logged_unless_missing("look at a file")?;
    Timestamp::try_from(file.modified().logged("look at a file")?).ok()
}
