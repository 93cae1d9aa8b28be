//! All that can be found out about a session, for the judge of states.

use std::path::PathBuf;

use dogwatch_core::launch;
use dogwatch_core::life::State;
use dogwatch_core::profile::{self, Profile};
use dogwatch_core::status::evidence::{Before, Evidence, OwnWord, Screen, Turn};
use dogwatch_core::status::hooks;
use dogwatch_core::status::judge::STUCK_WINDOW;
use dogwatch_store::{SignalNo, Store};
use jiff::{SignedDuration, Timestamp};

use crate::Context;
use crate::sense::{agents, own_word, processes, transcripts};
use crate::snapshot::Seen;

/// How often one who looks all the time writes down that something moves.
const MOVEMENT_PACE: SignedDuration = SignedDuration::from_secs(5);

/// What was seen of a session's pane.
#[derive(Debug, Clone, Default)]
pub struct PaneSight {
    pub screen: Option<Screen>,
    /// Changes whenever anything on the screen does.
    pub print: u64,
}

/// What one who looks at a session more than once need not find out again. The verdict is the same without it.
#[derive(Debug, Default)]
pub struct Memory {
    profile: Option<Profile>,
    told: Told,
    written: transcripts::Reading,
    sight: PaneSight,
    movement: Option<Movement>,
}

#[derive(Debug, Default)]
struct Told {
    last: SignalNo,
    turn: Turn,
    transcript: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Movement {
    print: String,
    moved: Timestamp,
    /// When it was last written down.
    kept: Timestamp,
}

impl Memory {
    /// The transcript, as far as the agent has named one.
    pub fn transcript(&self, context: &Context, seen: &Seen) -> Option<PathBuf> {
        let rules = self.profile.as_ref()?.transcript.as_ref()?;
        transcripts::locate(context, seen, rules, self.told.transcript.clone())
    }

    /// What was last read off its screen.
    pub fn screen(&self) -> Option<&Screen> {
        self.sight.screen.as_ref()
    }

    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    fn hear(&mut self, store: &mut Store, session: &str) {
        let told = &mut self.told;
        for (number, signal) in store.signals_after(session, told.last).unwrap_or_default() {
            let payload = serde_json::from_str(&signal.payload).unwrap_or_default();
            let fold = if signal.spooled { hooks::fold_late } else { hooks::fold };
            fold(&mut told.turn, &signal.event, &payload, signal.at);
            told.last = number;
            told.transcript = transcripts::path_in(&payload).or(told.transcript.take());
        }
    }

    fn read(&mut self, context: &Context, seen: &Seen) -> Turn {
        let dialect = self.profile.as_ref().and_then(|p| Some(p.transcript.as_ref()?.dialect));
        match dialect.zip(self.transcript(context, seen)) {
            Some((dialect, path)) => self.written.turns(&path, dialect).clone(),
            None => Turn::default(),
        }
    }

    /// When the screen or the agent's processor time last changed between two looks.
    fn moved(&mut self, store: &mut Store, seen: &Seen, now: Timestamp) -> Option<Timestamp> {
        let session = &seen.session.id;
        if seen.life.state.is_over() {
            return store.last_movement(session).ok().flatten();
        }
        let used = processes::processor_time(seen.session.started.as_ref()?.agent.pid).unwrap_or(0);
        let print = format!("{:x}-{used:x}", self.sight.print);
        if let Some(last) = &mut self.movement {
            if last.print == print && last.moved <= now {
                return Some(last.moved);
            }
            let recently = SignedDuration::ZERO..MOVEMENT_PACE;
            if recently.contains(&now.duration_since(last.kept)) {
                last.print = print;
                last.moved = now;
                return Some(now);
            }
        }
        let moved = store.look(session, &print, now).ok()?.moved;
        self.movement = Some(Movement { print, moved, kept: now });
        Some(moved)
    }
}

/// Gathers the evidence. A source that fails is a source that says nothing: it must not keep the others from being
/// heard. Without a new sight of the pane, what it showed last still stands.
pub fn gather(
    context: &Context,
    store: &mut Store,
    memory: &mut Memory,
    seen: &Seen,
    sight: Option<PaneSight>,
    now: Timestamp,
) -> Evidence {
    let session = &seen.session;
    if memory.profile.is_none() {
        memory.profile = agents::profile(context, &session.agent).ok();
    }
    if let Some(sight) = sight {
        memory.sight = sight;
    }
    memory.hear(store, &session.id);
    let agent = session.started.as_ref().map(|s| s.agent);
    let way = memory.profile.as_ref().and_then(|p| p.own_word);
    Evidence {
        now,
        life: seen.life.clone(),
        exit: session.ended.as_ref().map(|e| e.exit),
        is_plain: session.agent == profile::COMMAND,
        prompted: context.state.session(&session.id).path().join(launch::PROMPT_FILE).exists(),
        stopped: agent.is_some_and(|agent| processes::is_stopped(agent.pid)),
        own_word: agent
            .map_or(OwnWord::Mute, |agent| own_word::ask(context, &session.id, way, agent)),
        hooks: memory.told.turn.clone(),
        transcript: memory.read(context, seen),
        clock: store.last_heartbeat(&session.id).ok().flatten(),
        movement: memory.moved(store, seen, now),
        screen: memory.sight.screen.clone(),
        window: STUCK_WINDOW,
        before: before(store, seen),
    }
}

/// What it was when last seen; of use only where nothing can be seen now.
fn before(store: &Store, seen: &Seen) -> Option<Before> {
    if seen.life.state != State::Unknown {
        return None;
    }
    let kept = store.state(&seen.session.id).ok()??;
    Some(Before { status: serde_json::from_value(kept.status).ok()?, since: kept.since })
}
