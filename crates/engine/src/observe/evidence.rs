//! All that can be found out about a session, for the judge of states.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dogwatch_base::log::Logged as _;
use dogwatch_core::launch;
use dogwatch_core::profile::{self, Profile};
use dogwatch_core::status::backlog::{self, Event, GoingBack};
use dogwatch_core::status::evidence::{Before, Evidence, OwnWord, Screen, Turn};
use dogwatch_core::status::hooks;
use dogwatch_core::status::judge::STUCK_WINDOW;
use dogwatch_store::{KeptState, Look, Session, SignalNo, Store};
use jiff::{SignedDuration, Timestamp};

use crate::Context;
use crate::observe::agents::Profiles;
use crate::observe::processes::{self, Pulse};
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::{screens, self_report, transcripts};

/// How often a process that follows sessions records that something moves.
const MOVEMENT_PACE: SignedDuration = SignedDuration::from_secs(5);

/// What was seen of a session's pane.
#[derive(Debug, Clone, Default)]
pub struct PaneSight {
    pub screen: Option<Screen>,
    /// Changes whenever anything on the screen does.
    pub print: u64,
}

/// What a process that follows a session need not find out again. The verdict is the same without it.
#[derive(Debug, Default)]
pub struct Memory {
    profile: Option<Arc<Profile>>,
    told: Told,
    /// A transcript that is likely its own.
    guessed: Option<PathBuf>,
    written: transcripts::Reading,
    /// What was heard ahead of the next verdict.
    ahead: Option<Heard>,
    sight: PaneSight,
    movement: Option<Movement>,
}

/// What does not come from tmux.
#[derive(Debug, Default)]
struct Heard {
    prompted: bool,
    transcript: Turn,
    own_word: OwnWord,
    pulse: Option<Pulse>,
    clock: Option<Timestamp>,
    look: Option<Look>,
    state: Option<KeptState>,
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
    /// Whether it has moved since then.
    is_ahead: bool,
}

impl Memory {
    /// The transcript, as far as the agent has named one.
    pub fn transcript(&self, context: &Context, session: &Session) -> Option<PathBuf> {
        let rules = self.profile.as_ref()?.transcript.as_ref()?;
        transcripts::locate(context, session, rules, self.told.transcript.clone())
            .or_else(|| self.guessed.clone())
    }

    /// The transcript that was read for the last verdict.
    pub fn transcript_read(&self) -> Option<&Path> {
        self.written.path()
    }

    /// Whether it was listened to, ahead of the next verdict.
    pub fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// What was last read off its screen.
    pub fn screen(&self) -> Option<&Screen> {
        self.sight.screen.as_ref()
    }

    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_deref()
    }

    fn hear(&mut self, store: &Store, session: &str) {
        let told = &mut self.told;
        let mut going_back = GoingBack::default();
        let is_enough = |event: &Event| going_back.is_enough(event);
        let news = store
            .events_after(session, told.last, is_enough)
            .logged("read a session's signals")
            .unwrap_or_default();
        let (numbers, events): (Vec<SignalNo>, Vec<Event>) = news.into_iter().unzip();
        let payload = |number: &SignalNo| {
            store.payload(*number).logged("read a session's signals").unwrap_or_default()
        };
        // Nearly every signal names the transcript, so the last one is wanted twice.
        let last = numbers.last().map(payload).unwrap_or_default();
        backlog::fold(&mut told.turn, &events, |place| {
            let is_last = place + 1 == numbers.len();
            let payload = if is_last { last.clone() } else { payload(&numbers[place]) };
            serde_json::from_str(&payload).logged("read JSON").unwrap_or_default()
        });
        let mut before = numbers.iter().rev().skip(1);
        let path = transcripts::path_in(&last)
            .or_else(|| before.find_map(|number| transcripts::path_in(&payload(number))));
        told.transcript = path.or(told.transcript.take());
        told.last = numbers.last().copied().unwrap_or(told.last);
    }

    fn read(&mut self, context: &Context, session: &Session) -> Turn {
        let Some(profile) = self.profile.clone() else { return Turn::default() };
        let Some(rules) = &profile.transcript else { return Turn::default() };
        let told = self.told.transcript.clone();
        let found = transcripts::locate(context, session, rules, told);
        self.guessed = match &found {
            Some(_) => None,
            None => transcripts::guess(context, session, &profile),
        };
        let Some(path) = found.or_else(|| self.guessed.clone()) else { return Turn::default() };
        let mut turn = self.written.turns(&path, rules.dialect).clone();
        if let Some(edge) = turn.edge.as_mut().filter(|_| self.guessed.is_some()) {
            edge.told = false;
        }
        turn
    }

    /// When the screen or the agent's processor time last changed between two looks.
    fn moved(
        &mut self,
        gatherer: &mut Gatherer,
        seen: &SessionSnapshot,
        heard: &Heard,
    ) -> Option<Timestamp> {
        // As stored, so that whoever reads it there says the same.
        let now = Look::as_stored(gatherer.now);
        if seen.life.state.is_over() {
            return heard.look.as_ref().map(|look| look.moved);
        }
        seen.session.started()?;
        let print = format!("{:x}-{:x}", self.sight.print, heard.pulse.unwrap_or_default().used);
        if let Some(last) = &mut self.movement {
            let is_recent =
                (SignedDuration::ZERO..MOVEMENT_PACE).contains(&now.duration_since(last.kept));
            if last.print == print && last.moved <= now {
                // Other processes must not take the last change, which only this one has seen, for a new one.
                if last.is_ahead && !is_recent {
                    let session = seen.session.id.to_string();
                    gatherer.looks.push(Look { session, print, moved: last.moved });
                    (last.kept, last.is_ahead) = (now, false);
                }
                return Some(last.moved);
            }
            if is_recent {
                (last.print, last.moved, last.is_ahead) = (print, now, true);
                return Some(now);
            }
        }
        let (moved, news) = Look::compare(heard.look.as_ref(), &seen.session.id, &print, now);
        gatherer.looks.extend(news);
        self.movement = Some(Movement { print, moved, kept: now, is_ahead: false });
        Some(moved)
    }
}

/// Gathers evidence, of one session or of many.
#[derive(Debug)]
pub struct Gatherer<'a> {
    pub context: &'a Context,
    pub store: &'a Store,
    pub profiles: &'a mut Profiles,
    pub now: Timestamp,
    /// What is to be kept when all is gathered.
    pub looks: Vec<Look>,
    /// Of sessions that have ended nothing is read but how they did.
    pub is_brief: bool,
}

impl Gatherer<'_> {
    /// Gathers the evidence. A source that fails is a source that says nothing: it must not keep the others from being
    /// heard. Without a new sight of the pane, what it showed last still stands. Beside the evidence is the state that
    /// was last written down.
    pub fn gather(
        &mut self,
        memory: &mut Memory,
        seen: &SessionSnapshot,
        sight: Option<PaneSight>,
    ) -> (Evidence, Option<KeptState>) {
        let session = &seen.session;
        let heard = memory.ahead.take().unwrap_or_else(|| self.listen(memory, session));
        if let Some(sight) = sight {
            memory.sight = sight;
        }
        let evidence = Evidence {
            now: self.now,
            life: seen.life.clone(),
            exit: session.ended().map(|e| e.exit),
            cause: session.ended().map(|e| e.cause),
            by: session.ended().and_then(|e| e.by.clone()),
            is_plain: session.agent == profile::COMMAND,
            prompted: heard.prompted,
            stopped: heard.pulse.is_some_and(|pulse| pulse.stopped),
            movement: memory.moved(self, seen, &heard),
            own_word: heard.own_word,
            hooks: hooks::as_of(&memory.told.turn, self.now),
            transcript: heard.transcript,
            knows_conversation: session.conversation.is_some(),
            clock: heard.clock,
            screen: memory.sight.screen.clone(),
            window: STUCK_WINDOW,
            before: before(heard.state.as_ref()),
        };
        (evidence, heard.state)
    }

    /// Does what can be done before the pane was seen, while tmux makes up its answer.
    pub fn listen_ahead(&mut self, memory: &mut Memory, session: &Session) {
        memory.ahead = Some(self.listen(memory, session));
        screens::prepare(&session.agent);
    }

    /// Reads what hooks reported, and what else the agent says.
    fn listen(&mut self, memory: &mut Memory, session: &Session) -> Heard {
        if self.is_brief && session.ended().is_some() {
            let state = self.store.state(&session.id).logged("read a state").flatten();
            return Heard { state, ..Heard::default() };
        }
        if memory.profile.as_ref().is_none_or(|known| known.name != session.agent) {
            // A command has started an agent, or that has ended: what was known of the other does not count.
            *memory = Memory::default();
            memory.profile = self.profiles.of(self.context, &session.agent);
        }
        memory.hear(self.store, &session.id);
        let agent = session.started().map(|s| s.agent);
        let way = memory.profile.as_ref().and_then(|p| p.own_word);
        let folder = self.context.state.session(&session.id);
        Heard {
            prompted: folder.path().join(launch::PROMPT_FILE).exists(),
            clock: self
                .store
                .last_heartbeat(&session.id)
                .logged("read the last heartbeat")
                .flatten(),
            look: self.store.last_look(&session.id).logged("read the last look").flatten(),
            state: self.store.state(&session.id).logged("read a state").flatten(),
            transcript: match session.started() {
                // When others' agents began is known to the second only.
                Some(started) if session.origin.is_managed() => {
                    memory.read(self.context, session).of_one_started(started.at, self.now)
                }
                _ => memory.read(self.context, session),
            },
            own_word: agent.map_or(OwnWord::Mute, |agent| {
                self_report::ask(self.context, &session.id, way, agent)
            }),
            pulse: agent.and_then(|agent| processes::pulse(agent.pid)),
        }
    }
}

/// What it was when last seen.
fn before(kept: Option<&KeptState>) -> Option<Before> {
    let kept = kept?;
    Some(Before {
        status: serde_json::from_value(kept.status.clone()).logged("read JSON")?,
        since: kept.since,
    })
}
