//! What each session is doing: one look at everything, judged.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use dogwatch_core::status::{Verdict, judge};
use dogwatch_store::{Session, Store};
use dogwatch_tmux::{CaptureOptions, Command, Glance, PaneDetail, PaneId, Reply, RowQuery};
use jiff::Timestamp;

use crate::sense::evidence::{self, PaneSight};
use crate::sense::screens;
use crate::snapshot::{self, Seen};
use crate::{Context, Error};

/// tmux takes no more than 16 kB of words from one process.
const CAPTURES_PER_PROCESS: usize = 100;

/// A session and the verdict on it.
#[derive(Debug, Clone)]
pub struct Judged {
    pub seen: Seen,
    pub verdict: Verdict,
}

/// All sessions of the context's server that were not put away.
pub fn all(context: &Context, now: Timestamp) -> Result<Vec<Judged>, Error> {
    judge_sessions(context, now, |store| Ok(store.sessions(&context.socket, false)?))
}

/// The session meant by a name, id or pane.
pub fn one(context: &Context, target: &str, now: Timestamp) -> Result<Judged, Error> {
    let judged =
        judge_sessions(context, now, |store| snapshot::candidates(context, store, target))?;
    snapshot::meant(context, judged, |one| &one.seen, target)
}

fn judge_sessions(
    context: &Context,
    now: Timestamp,
    choose: impl FnOnce(&Store) -> Result<Vec<Session>, Error>,
) -> Result<Vec<Judged>, Error> {
    let mut store = context.store()?;
    let mut sessions = choose(&store)?;
    for session in &mut sessions {
        snapshot::complete(context, &mut store, session);
    }
    let sights = Sights::take(context, &sessions);
    let (glance, sights) = match sights {
        Ok((glance, sights)) => (Ok(glance), sights),
        Err(error) => (Err(error), Sights::default()),
    };
    let seen = snapshot::join(context, &mut store, sessions, glance)?;
    let judged = seen.into_iter().map(|seen| {
        let sight = sights.of(&seen);
        let evidence = evidence::gather(context, &mut store, &seen, sight, now);
        Judged { verdict: judge(&evidence), seen }
    });
    Ok(judged.collect())
}

/// What tmux shows of all panes, from as few processes as it takes: one, unless a pane went away that moment.
#[derive(Debug, Default)]
struct Sights {
    panes: Vec<PaneDetail>,
    texts: HashMap<PaneId, Reply>,
}

impl Sights {
    fn take(
        context: &Context,
        sessions: &[Session],
    ) -> Result<(Glance, Self), dogwatch_tmux::Error> {
        let living = sessions.iter().filter(|s| s.ended.is_none() && s.started.is_some());
        let wanted: Vec<PaneId> = living.filter_map(|s| s.pane.as_ref()?.parse().ok()).collect();
        let first = &wanted[..wanted.len().min(CAPTURES_PER_PROCESS)];
        let query = RowQuery::new();
        let mut commands: Vec<Command> = Glance::commands().into();
        commands.push(query.detailed_command());
        let fixed = commands.len();
        commands.extend(first.iter().map(|pane| how().command(*pane)));
        let mut sights = Self::default();
        let replies = match context.tmux.run(&commands) {
            // A pane that is gone ends the chain; those that are there are asked again below.
            Err(dogwatch_tmux::Error::NotFound { .. }) => context.tmux.run(&commands[..fixed])?,
            replies => replies?,
        };
        let glance = Glance::parse(&replies)?;
        let detailed = replies.get(fixed - 1);
        sights.panes =
            detailed.map(|reply| query.parse_detailed(reply)).transpose()?.unwrap_or_default();
        sights.texts = first.iter().copied().zip(replies.into_iter().skip(fixed)).collect();
        sights.capture_rest(context, &wanted)?;
        Ok((glance, sights))
    }

    fn capture_rest(
        &mut self,
        context: &Context,
        wanted: &[PaneId],
    ) -> Result<(), dogwatch_tmux::Error> {
        let is_there = |pane: &PaneId| self.panes.iter().any(|p| p.row.pane_id == *pane);
        let rest: Vec<PaneId> = wanted
            .iter()
            .copied()
            .filter(|pane| !self.texts.contains_key(pane) && is_there(pane))
            .collect();
        let replies = context.tmux.capture_many(&rest, how())?;
        self.texts.extend(rest.into_iter().zip(replies).filter_map(|(p, r)| Some((p, r.ok()?))));
        Ok(())
    }

    fn of(&self, seen: &Seen) -> PaneSight {
        let sight = || {
            let id = seen.pane_id()?;
            let pane = self.panes.iter().find(|pane| pane.row.pane_id == id)?;
            let text = self.texts.get(&id)?.bytes();
            let mut print = DefaultHasher::new();
            (text, &pane.title).hash(&mut print);
            let screen = screens::read(&seen.session.agent, pane, text);
            Some(PaneSight { screen, print: print.finish() })
        };
        sight().unwrap_or_default()
    }
}

fn how() -> CaptureOptions {
    CaptureOptions { lines: None, ansi: true, joined: false }
}
