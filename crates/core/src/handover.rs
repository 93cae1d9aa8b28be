//! An environment on its way from `spawn` to the runner. It may hold API keys, so it stays on disk no longer than somebody
//! can still take it.

use std::time::Duration;

/// How long a runner may take to come for it, whatever happens to its maker.
const LONGEST: Duration = Duration::from_mins(1);

/// What is known of one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its maker lives: it holds a lock.
    pub held: bool,
    /// Its session is in the database. Before that, tmux was not asked for anything.
    pub registered: bool,
    pub server: Server,
    pub age: Duration,
}

/// The tmux server that was to start the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// None runs, or one that was started since: no runner will come.
    Gone,
    /// It runs, and the pane that it made no longer exists.
    PaneGone,
    /// It may yet start the runner, or cannot be asked.
    MayCome,
}

/// Whether nobody can take it any more.
pub fn is_abandoned(facts: &Facts) -> bool {
    !facts.held && (!facts.registered || facts.server != Server::MayCome || facts.age > LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_or_not() {
        let (young, old) = (Duration::from_secs(5), Duration::from_secs(61));
        let table = [
            (true, false, Server::Gone, old, false),
            (true, true, Server::MayCome, old, false),
            (false, false, Server::MayCome, young, true),
            (false, true, Server::MayCome, young, false),
            (false, true, Server::MayCome, old, true),
            (false, true, Server::Gone, young, true),
            (false, true, Server::PaneGone, young, true),
        ];
        for (held, registered, server, age, want) in table {
            let facts = Facts { held, registered, server, age };
            assert_eq!(is_abandoned(&facts), want, "{facts:?}");
        }
    }
}
