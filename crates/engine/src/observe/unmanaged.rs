//! Agents that dogwatch did not start, found by their process in a pane.
//!
//! Such an agent has no runner, no record and no hooks of ours; what it says of itself, its transcript, its screen and its
//! processes are there all the same.

use std::collections::HashSet;
use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_core::profile::{self, Profile};
use dogwatch_core::record::{ProcessIdent, Started};
use dogwatch_protocol::id::{Origin, SessionId};
use dogwatch_store::{Server, Session, Stage};
use dogwatch_tmux::PaneRow;
use jiff::Timestamp;

use crate::Context;
use crate::observe::tmux_snapshot::TmuxSnapshot;
use crate::observe::{agents, proc_files, processes, self_report};

/// How many processes of a foreground job to check: a launcher starts one or two more.
const MOST_PROCESSES: usize = 32;

/// The agents in all panes that are not of these sessions, each as a session of which nothing was written down.
pub fn agents<'s>(
    context: &Context,
    sights: &TmuxSnapshot,
    ours: impl Iterator<Item = &'s Session> + Clone,
) -> Vec<Session> {
    let taken: HashSet<&str> = ours
        .clone()
        .filter(|session| session.ended().is_none())
        .filter_map(|session| session.pane.as_deref())
        .collect();
    let rows = sights.faces.iter().map(|face| &face.row);
    let free = rows.filter(|row| !taken.contains(row.pane_id.to_string().as_str()));
    agents_in(context, free.filter(|row| !has_runner_of(row, ours.clone())))
}

/// Whether the pane's own process is the runner of one of these: that of a new session is there before its pane is
/// written down.
fn has_runner_of<'s>(row: &PaneRow, mut ours: impl Iterator<Item = &'s Session>) -> bool {
    let words = i32::try_from(row.pane_pid).map(proc_files::command_line).unwrap_or_default();
    words.iter().any(|word| word == "run")
        && words.last().is_some_and(|id| ours.any(|session| session.id == *id))
}

/// The agents in these panes.
pub fn agents_in<'r>(context: &Context, rows: impl Iterator<Item = &'r PaneRow>) -> Vec<Session> {
    let mut panes = HashSet::new();
    // A window that is linked to several sessions is listed in each.
    let living = rows.filter(|row| !row.dead && panes.insert(row.pane_id));
    let free: Vec<&PaneRow> = living.collect();
    if free.is_empty() {
        return Vec::new();
    }
    let known = known(context);
    free.into_iter().filter_map(|row| agent_in(context, row, &known)).collect()
}

/// The agents that plain commands of ours have started, and that talk to people: then the session is that agent's. One
/// that answers once and ends is part of the command.
pub fn inside<'a>(context: &Context, sessions: impl Iterator<Item = &'a mut Session>) {
    let mut known = None;
    for session in sessions {
        if session.agent != profile::COMMAND || session.ended().is_some() {
            continue;
        }
        let Some(pid) = session.started().map(|started| started.agent.pid) else { continue };
        let known = known.get_or_insert_with(|| self::known(context));
        let Some(Found { profile, agent, .. }) = running(context, pid, known) else {
            continue;
        };
        if is_headless(&proc_files::command_line(agent.pid), &profile) {
            continue;
        }
        let told = self_report::conversation(profile.own_word, agent, context.home.clone());
        session.conversation = told;
        session.agent = profile.name;
        if let Some(started) = session.started_mut() {
            started.agent = agent;
        }
    }
}

/// Names of agents, and of their programs.
fn known(context: &Context) -> Vec<(String, String)> {
    let names = agents::names(context).into_iter();
    let program = |name: String| agents::program(context, &name).map(|program| (name, program));
    names.filter_map(program).collect()
}

fn is_headless(words: &[String], profile: &Profile) -> bool {
    let options = words.iter().skip(1).take_while(|word| *word != "--");
    options.into_iter().any(|word| profile.launch.headless.contains(word))
}

/// Whether this name, id or pane means the session.
pub fn is_meant(session: &Session, target: &str) -> bool {
    session.id == target || session.pane.as_deref() == Some(target) || session.name == target
}

/// The first process of an agent that dogwatch did not start still lives. It may be known by no name for a moment: while it becomes
/// another program, it has none.
pub fn lives(origin: Origin) -> bool {
    matches!(origin, Origin::Unmanaged { process } if processes::is_alive(process))
}

fn agent_in(context: &Context, row: &PaneRow, known: &[(String, String)]) -> Option<Session> {
    let pane_pid = i32::try_from(row.pane_pid).ok()?;
    let Found { profile, first, agent } = in_foreground(context, pane_pid, known)?;
    let command = proc_files::command_line(agent.pid);
    let name = if is_headless(&command, &profile) { profile::COMMAND } else { &profile.name };
    let began = proc_files::began(agent).unwrap_or_else(Timestamp::now);
    let pane = row.pane_id.to_string();
    Some(Session {
        // The process is part of it: another agent in the same pane is another session. A launcher that starts the
        // agent after a while is not another one.
        id: SessionId::unmanaged(&pane, first),
        origin: Origin::Unmanaged { process: first },
        name: row.session_name.clone(),
        agent: name.to_owned(),
        project: proc_files::folder(agent.pid).unwrap_or_default(),
        cwd: proc_files::folder(agent.pid).unwrap_or_default(),
        story: None,
        model: None,
        conversation: self_report::conversation(profile.own_word, agent, context.home.clone()),
        command,
        socket: context.socket.clone(),
        created: began,
        pane: Some(pane.clone()),
        server: Some(Server {
            pid: i64::from(row.server_pid),
            start: row.server_start.cast_signed(),
        }),
        stage: Stage::Running(Started {
            at: began,
            // There is no runner; the pane's own process stands where it would.
            runner: processes::identify(pane_pid)?,
            agent,
            pane: Some(pane),
        }),
        archived: false,
        title: None,
        tags: Vec::new(),
        membership: None,
        server_died: None,
    })
}

/// An agent's processes.
struct Found {
    profile: Profile,
    /// The outermost of its kind: a launcher, or the agent itself.
    first: ProcessIdent,
    agent: ProcessIdent,
}

/// The agent in the foreground of a pane: below the leader of the job, or beside it, as in `yes | claude`.
fn in_foreground(context: &Context, pane: i32, known: &[(String, String)]) -> Option<Found> {
    let job = proc_files::foreground(pane)?;
    running(context, job, known).or_else(|| {
        let (mut shells, mut looked) = (vec![pane], 0);
        // The leader may have ended before the others.
        while let Some(shell) = shells.pop().filter(|_| looked < MOST_PROCESSES) {
            looked += 1;
            for child in proc_files::children(shell).into_iter().filter(|child| *child != job) {
                if proc_files::group(child) != Some(job) {
                    shells.push(child);
                } else if let Some(found) = running(context, child, known) {
                    return Some(found);
                }
            }
        }
        None
    })
}

/// The agent among a process and those below it: the innermost of its kind, since the outer ones are launchers. Another
/// agent below it is its tool, and so is a headless one of its kind below an interactive one.
fn running(context: &Context, leader: i32, known: &[(String, String)]) -> Option<Found> {
    let (mut found, mut queue, mut looked) = (None::<Found>, vec![leader], 0);
    while let Some(pid) = queue.pop() {
        looked += 1;
        if looked > MOST_PROCESSES {
            break;
        }
        let words = proc_files::command_line(pid);
        let kind = known.iter().find(|(_, program)| is_program(&words, program));
        match (kind, &mut found) {
            (Some((name, _)), None) => {
                let (profile, agent) = (agents::profile(context, name), processes::identify(pid));
                found = profile
                    .logged("read an agent's profile")
                    .zip(agent)
                    .map(|(profile, agent)| Found { profile, first: agent, agent });
            }
            (Some((name, _)), Some(outer)) if *name == outer.profile.name => {
                let headless = [&proc_files::command_line(outer.agent.pid), &words]
                    .map(|words| is_headless(words, &outer.profile));
                if headless == [false, true] {
                    continue;
                }
                outer.agent = processes::identify(pid).unwrap_or(outer.agent);
            }
            // What an agent has started is its tools, and what is beside it is not it.
            (_, Some(_)) => continue,
            (None, None) => {}
        }
        if found.is_some() {
            queue = proc_files::children(pid);
        } else {
            queue.extend(proc_files::children(pid));
        }
    }
    found
}

/// Whether a command line runs that program: by its own name, or as a script of an interpreter.
pub(super) fn is_program(words: &[String], program: &str) -> bool {
    let is_name = |word: &String| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name == program || name.strip_suffix(".js") == Some(program))
    };
    let mut words = words.iter();
    let Some(first) = words.next() else { return false };
    let interpreters = ["node", "bun", "deno", "python", "sh", "bash", "env"];
    // `python3.12` is one as well.
    let bare = first.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    let is_interpreter = interpreters.iter().any(|name| bare.ends_with(name));
    is_name(first) || (is_interpreter && words.find(|w| !w.starts_with('-')).is_some_and(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headless_agents() {
        let table = [
            ("claude", "claude --dangerously-skip-permissions do-it", false),
            ("claude", "claude -p --model haiku x", true),
            ("claude", "claude -- -p", false),
            ("codex", "codex exec -s workspace-write x", true),
            ("codex", "/opt/codex -c a=b exec x", true),
            ("codex", "codex", false),
            ("opencode", "opencode run x", true),
        ];
        for (agent, line, expected) in table {
            let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
            let profile = profile::builtin(agent).unwrap();
            assert_eq!(is_headless(&words, &profile), expected, "{line}");
        }
    }

    #[test]
    fn an_origin_lives_as_long_as_its_process() {
        let me = processes::myself().unwrap();
        let other = ProcessIdent { start: me.start + 1, ..me };
        assert!(lives(Origin::Unmanaged { process: me }));
        assert!(!lives(Origin::Unmanaged { process: other }));
        assert!(!lives(Origin::Managed));
    }

    #[test]
    fn programs_by_their_command_lines() {
        let table = [
            ("claude", "claude", true),
            ("/usr/local/bin/claude --resume", "claude", true),
            ("node /usr/lib/node_modules/.bin/codex -c x", "codex", true),
            ("node --max-old-space-size=99 /opt/gemini", "gemini", true),
            ("/usr/bin/node /opt/codex.js", "codex", true),
            ("/opt/venv/bin/python3.12 /opt/venv/bin/aider --model x", "aider", true),
            ("/home/me/.local/bin/cursor-agent", "cursor-agent", true),
            ("vim claude", "claude", false),
            ("less /usr/bin/claude", "claude", false),
            ("claude-squad", "claude", false),
            ("bash -c claude", "claude", true),
            ("bash", "claude", false),
            ("", "claude", false),
        ];
        for (line, program, expected) in table {
            let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
            assert_eq!(is_program(&words, program), expected, "{line}");
        }
    }
}
