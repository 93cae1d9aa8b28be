//! All that can be found out about a session, for the judge of states.

use dogwatch_core::launch;
use dogwatch_core::profile::{self, Profile};
use dogwatch_core::status::evidence::{Evidence, OwnWord, Screen, Turn};
use dogwatch_core::status::hooks;
use dogwatch_core::status::judge::STUCK_WINDOW;
use dogwatch_store::{Signal, Store};
use jiff::Timestamp;

use crate::Context;
use crate::sense::{agents, own_word, processes, transcripts};
use crate::snapshot::Seen;

/// What was seen of a session's pane.
#[derive(Debug, Clone, Default)]
pub struct PaneSight {
    pub screen: Option<Screen>,
    /// Changes whenever anything on the screen does.
    pub print: u64,
}

/// Gathers the evidence. A source that fails is a source that says nothing: it must not keep the others from being
/// heard.
pub fn gather(
    context: &Context,
    store: &mut Store,
    seen: &Seen,
    sight: PaneSight,
    now: Timestamp,
) -> Evidence {
    let session = &seen.session;
    let profile = agents::profile(context, &session.agent).ok();
    let signals = store.signals(&session.id).unwrap_or_default();
    let agent = session.started.as_ref().map(|s| s.agent);
    let way = profile.as_ref().and_then(|p| p.own_word);
    Evidence {
        now,
        life: seen.life.clone(),
        exit: session.ended.as_ref().map(|e| e.exit),
        is_plain: session.agent == profile::COMMAND,
        prompted: context.state.session(&session.id).path().join(launch::PROMPT_FILE).exists(),
        stopped: agent.is_some_and(|agent| processes::is_stopped(agent.pid)),
        own_word: agent.map_or(OwnWord::Mute, |a| own_word::ask(way, a, context.home.clone())),
        hooks: told(&signals),
        transcript: profile
            .as_ref()
            .map(|profile| written(context, seen, profile, &signals))
            .unwrap_or_default(),
        clock: store.last_heartbeat(&session.id).ok().flatten(),
        movement: movement(store, seen, &sight, now),
        screen: sight.screen,
        window: STUCK_WINDOW,
    }
}

fn told(signals: &[Signal]) -> Turn {
    let mut turn = Turn::default();
    for signal in signals {
        let payload = serde_json::from_str(&signal.payload).unwrap_or_default();
        hooks::fold(&mut turn, &signal.event, &payload, signal.at);
    }
    turn
}

fn written(context: &Context, seen: &Seen, profile: &Profile, signals: &[Signal]) -> Turn {
    let read = || {
        let rules = profile.transcript.as_ref()?;
        let path = transcripts::locate(context, seen, rules, signals)?;
        Some(transcripts::turns(&path, rules.dialect))
    };
    read().unwrap_or_default()
}

/// When the screen or the agent's processor time last changed between two looks.
fn movement(
    store: &mut Store,
    seen: &Seen,
    sight: &PaneSight,
    now: Timestamp,
) -> Option<Timestamp> {
    if seen.life.state.is_over() {
        return None;
    }
    let used = processes::processor_time(seen.session.started.as_ref()?.agent.pid).unwrap_or(0);
    let print = format!("{:x}-{used:x}", sight.print);
    store.look(&seen.session.id, &print, now).ok().map(|look| look.moved)
}
