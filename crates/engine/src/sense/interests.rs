use dogwatch_core::profile::OwnWordWay;

use crate::Context;
use crate::sense::changes::Interests;
use crate::sense::{agents, own_word, transcripts};
use crate::status::Judged;

/// Where news of these sessions would come from.
pub fn of(context: &Context, judged: &[Judged]) -> Interests {
    let mut interests = Interests { folders: vec![context.state.news()], processes: Vec::new() };
    for one in judged.iter().filter(|one| !one.seen.life.state.is_over()) {
        let session = &one.seen.session;
        let Some(started) = &session.started else { continue };
        interests.processes.extend([started.runner, started.agent]);
        let Ok(profile) = agents::profile(context, &session.agent) else { continue };
        if profile.own_word == Some(OwnWordWay::ClaudeStateFile) {
            interests
                .folders
                .extend(own_word::claude_folder(started.agent.pid, context.home.clone()));
        }
        let signals = || context.store().ok()?.signals(&session.id).ok();
        if let (Some(rules), Some(signals)) = (&profile.transcript, signals()) {
            let path = transcripts::locate(context, &one.seen, rules, &signals);
            interests.folders.extend(path.and_then(|p| Some(p.parent()?.to_owned())));
        }
    }
    interests.folders.sort();
    interests.folders.dedup();
    interests
}
