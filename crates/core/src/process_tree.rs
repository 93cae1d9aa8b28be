//! Which processes belong to a session.
//!
//! An agent's tools and daemons leave its process group and even its terminal (codex starts an app
//! server in a session of its own, gemini survives its pane). Two things follow them: the line
//! of descent from the runner, and the variable [`TAG`] that every one of them inherits. It is not
//! `DOGWATCH_SESSION`, which windows that a person opens beside the agent have too.
//! A session started from within a session is a house of its own and is left alone, together with
//! the tmux server that carries it.

use std::collections::{HashMap, HashSet};

use dogwatch_protocol::id::is_id;

/// Environment variable with the id of the session that a process belongs to.
pub const TAG: &str = "DOGWATCH_FAMILY";

/// One process, as far as this question goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// Value of [`TAG`] in its environment.
    pub tag: Option<String>,
    /// A tmux server may carry sessions other than ours.
    pub is_tmux: bool,
}

/// Pids of everything the session `tag` started; never the runner itself, never `spare`.
pub fn members(all: &[Process], tag: &str, runner: Option<i32>, spare: &[i32]) -> Vec<i32> {
    let by_pid: HashMap<i32, &Process> = all.iter().map(|p| (p.pid, p)).collect();
    let foreign: HashSet<i32> = all
        .iter()
        .filter(|p| line(p, &by_pid).any(|a| a.tag.as_ref().is_some_and(|t| t != tag)))
        .map(|p| p.pid)
        .collect();
    let carriers: HashSet<i32> = all
        .iter()
        .filter(|p| foreign.contains(&p.pid))
        .flat_map(|p| line(p, &by_pid))
        .filter(|p| p.is_tmux)
        .map(|p| p.pid)
        .collect();
    all.iter()
        .filter(|p| Some(p.pid) != runner && !spare.contains(&p.pid))
        .filter(|p| !foreign.contains(&p.pid) && !carriers.contains(&p.pid))
        .filter(|p| {
            // Not through a server that carries others: what a person runs in it is a person's.
            let mut descent = line(p, &by_pid).take_while(|a| !carriers.contains(&a.pid));
            p.tag.as_deref() == Some(tag) || runner.is_some_and(|r| descent.any(|a| a.pid == r))
        })
        .map(|p| p.pid)
        .collect()
}

/// The session that a process with this command line is the runner of.
pub fn runs_session<S: AsRef<str>>(words: &[S]) -> Option<&str> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words[..] {
        [_, "run", "--state-dir", _, session] => is_id(session).then_some(session),
        _ => None,
    }
}

/// The process and its ancestors, nearest first. Bounded, because a pid may be reused into a circle
/// while the list is being read.
fn line<'a>(
    of: &'a Process,
    by_pid: &'a HashMap<i32, &'a Process>,
) -> impl Iterator<Item = &'a Process> {
    std::iter::successors(Some(of), |p| by_pid.get(&p.parent).copied()).take(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(pid: i32, parent: i32, tag: &str) -> Process {
        Process {
            pid,
            parent,
            tag: (!tag.is_empty()).then(|| tag.to_owned()),
            is_tmux: tag.is_empty() && pid % 100 == 0,
        }
    }

    #[test]
    fn a_runner_is_known_by_its_command_line() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let runner = ["/usr/bin/dogwatch", "run", "--state-dir", "/s", id];
        assert_eq!(runs_session(&runner), Some(id));
        assert_eq!(runs_session(&["dogwatch", "run", "--state-dir", "/s", "../x"]), None);
        assert_eq!(runs_session(&["dogwatch", "run", "--state-dir", "/s"]), None);
        assert_eq!(runs_session(&["cargo", "run", "--release"]), None);
        assert_eq!(runs_session::<&str>(&[]), None);
    }

    #[test]
    fn follows_descent_and_tag() {
        let all = [
            p(1, 0, ""),
            p(100, 1, ""),   // the user's tmux server
            p(10, 100, "A"), // runner of A
            p(11, 10, "A"),  // agent
            p(12, 11, ""),   // its tool, environment emptied
            p(13, 1, "A"),   // its daemon, reparented to init
            p(14, 1, ""),    // somebody else
            p(20, 100, "B"), // runner of another session
            p(21, 20, "B"),
        ];
        assert_eq!(members(&all, "A", Some(10), &[]), [11, 12, 13]);
        assert_eq!(members(&all, "A", Some(10), &[13]), [11, 12]);
        // The runner was killed: descent is broken, the tag still finds what carries it.
        assert_eq!(members(&all, "A", None, &[10]), [11, 13]);
    }

    #[test]
    fn spares_sessions_started_from_within() {
        let all = [
            p(10, 1, "A"),
            p(11, 10, "A"),
            p(200, 10, ""),  // a tmux server the agent started, adopted by the runner
            p(30, 200, "C"), // that server carries a session of its own
            p(31, 30, ""),
            p(32, 200, ""),  // a person's window in the same server
            p(300, 10, ""),  // a tmux server that carries nothing of ours
            p(40, 300, "A"), // started by the agent inside it
        ];
        assert_eq!(members(&all, "A", Some(10), &[]), [11, 300, 40]);
    }

    #[test]
    fn survives_a_circle() {
        let all = [p(5, 6, ""), p(6, 5, "A")];
        assert_eq!(members(&all, "A", None, &[]), [6]);
    }
}
