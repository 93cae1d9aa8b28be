use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use dogwatch_core::collision::both_edit;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::{SharedFile, StatusRow};
use dogwatch_store::KeptCollision;
use jiff::Timestamp;

use crate::Error;
use crate::observe::status::{SessionStatus, StatusReader};

/// Most lines that are shown to people.
const MOST_LINES: usize = 5;

/// Files that two living sessions edit, at least one of them among those that were asked for.
#[derive(Debug, Default)]
pub struct Collisions {
    all: Vec<Pair>,
}

#[derive(Debug)]
struct Pair {
    /// In the order in which they edited it: id and name.
    sessions: [(SessionId, String); 2],
    path: String,
    at: Timestamp,
}

/// Finds them in what hooks have recorded.
pub fn of_living(reader: &StatusReader<'_>, judged: &[SessionStatus]) -> Result<Collisions, Error> {
    let store = &reader.store;
    let kept = store.collisions()?;
    if kept.is_empty() {
        return Ok(Collisions::default());
    }
    let mut names: HashMap<&str, Option<String>> = judged
        .iter()
        .map(|one| {
            let lives = !one.verdict.status.is_over();
            (one.seen.session.id.as_str(), lives.then(|| one.seen.session.name.clone()))
        })
        .collect();
    let mut all = Vec::new();
    for KeptCollision { session, other, path, at } in &kept {
        if ![session, other].iter().any(|id| names.contains_key(id.as_str())) {
            continue;
        }
        for id in [session, other] {
            if !names.contains_key(id.as_str()) {
                let found = store.by_id(id)?.filter(|one| !one.is_over() && !one.archived);
                names.insert(id.as_str(), found.map(|one| one.name));
            }
        }
        let name = |id: &SessionId| names.get(id.as_str()).cloned().flatten();
        if let (Some(first), Some(second)) = (name(other), name(session)) {
            let sessions = [(other.clone(), first), (session.clone(), second)];
            all.push(Pair { sessions, path: path.to_string_lossy().into_owned(), at: *at });
        }
    }
    Ok(Collisions { all })
}

impl Collisions {
    /// Those of one session.
    pub fn of(&self, id: &SessionId) -> Vec<SharedFile> {
        let shared = |pair: &Pair| {
            let (with, second) = match &pair.sessions {
                [(own, _), (_, other)] if own == id => (other, false),
                [(_, other), (own, _)] if own == id => (other, true),
                _ => return None,
            };
            Some(SharedFile { path: pair.path.clone(), with: with.clone(), at: pair.at, second })
        };
        self.all.iter().filter_map(shared).collect()
    }
}

/// The files that two of these sessions edit, or one of them and another: for people, the newest first.
pub fn lines(sessions: &[StatusRow]) -> Vec<String> {
    let mut all: BTreeSet<(Reverse<Timestamp>, &str, [&str; 2])> = BTreeSet::new();
    for row in sessions {
        let own = row.session.name.as_str();
        for shared in &row.collisions {
            let with = shared.with.as_str();
            let pair = if shared.second { [with, own] } else { [own, with] };
            all.insert((Reverse(shared.at), &shared.path, pair));
        }
    }
    let line =
        |(_, path, [first, second]): &(_, &str, [&str; 2])| both_edit(&[*first], second, path);
    let mut lines: Vec<String> = all.iter().take(MOST_LINES).map(line).collect();
    if all.len() > MOST_LINES {
        lines.push(format!("and {} more (--json)", all.len() - MOST_LINES));
    }
    lines
}
