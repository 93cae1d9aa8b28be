use std::path::PathBuf;

use dogwatch_core::profile::{self, OwnWordWay};

use crate::Context;
use crate::observe::changes::Interest;
use crate::observe::evidence::Memory;
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::{proc_files, self_report};

/// What kind of news something brings: how soon one should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Voice {
    /// A hook, a record, a state file, an end: said on purpose, and worth a look at once.
    Word,
    /// The transcript grew: it does so all the time while an agent works.
    Transcript,
    /// The screen moved: many times a second while an agent works.
    Output,
}

/// Where news of a living session would come from.
pub fn of(
    context: &Context,
    seen: &SessionSnapshot,
    memory: Option<&Memory>,
) -> Vec<(Interest, Voice)> {
    let session = &seen.session;
    let mut interests = vec![(Interest::File(context.state.news_of(&session.id)), Voice::Word)];
    let Some(started) = session.started() else { return interests };
    // A runner tells of its agent's end, unless it is killed itself.
    interests.push((Interest::End(started.runner), Voice::Word));
    if !seen.is_ours() {
        interests.push((Interest::End(started.agent), Voice::Word));
    }
    if session.agent == profile::COMMAND {
        return interests;
    }
    let Some(memory) = memory else { return interests };
    if memory.profile().and_then(|p| p.own_word) == Some(OwnWordWay::ClaudeStateFile)
        && let Some(file) = self_report::claude_file(started.agent.pid, context.home.clone())
    {
        interests.push((Interest::File(file), Voice::Word));
    }
    if let Some(path) = memory.transcript(context, session) {
        interests.push((Interest::File(path), Voice::Transcript));
    }
    if let Some(terminal) = terminal(seen) {
        interests.push((Interest::Terminal(terminal), Voice::Output));
    }
    interests
}

/// Whether these tell of every change of a session's evidence. Of a command, of an agent that others started, and of one that is asked over
/// the network they do not; nor of a transcript that is not found yet.
pub fn tell_all(
    seen: &SessionSnapshot,
    memory: Option<&Memory>,
    interests: &[(Interest, Voice)],
) -> bool {
    let Some(memory) = memory.filter(|_| seen.is_ours()) else { return false };
    let Some(profile) = memory.profile().filter(|p| p.name != profile::COMMAND) else {
        return false;
    };
    let asks = matches!(profile.own_word, Some(OwnWordWay::OpencodeHttp));
    let has = |wanted: fn(&Interest) -> bool| interests.iter().any(|(one, _)| wanted(one));
    let read = memory.transcript_read().map(|path| Interest::File(path.to_owned()));
    let hears_transcript = profile.transcript.is_none()
        || read.is_some_and(|read| interests.iter().any(|(one, _)| *one == read));
    !asks && hears_transcript && has(|one| matches!(one, Interest::Terminal(_)))
}

/// The pane's own end of its terminal, which its process was started on.
pub(super) fn terminal(seen: &SessionSnapshot) -> Option<PathBuf> {
    proc_files::terminal(seen.pane?.pid)
}
