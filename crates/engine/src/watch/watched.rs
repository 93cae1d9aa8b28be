//! A session that is watched: its last status, and when it is to be read again.

use std::time::Instant;

use dogwatch_base::log::Logged as _;
use dogwatch_core::status::{Role, Source};
use dogwatch_store::Session;
use dogwatch_tmux::{PaneId, PaneRow};

use super::pace;
use crate::observe::changes::Interest;
use crate::observe::interests::Voice;
use crate::observe::status::SessionStatus;
use crate::observe::tmux_snapshot::TmuxSnapshot;

#[derive(Debug)]
pub(super) struct Watched {
    pub(super) status: SessionStatus,
    pub(super) interests: Vec<(Interest, Voice)>,
    pub(super) looked: Instant,
    pub(super) changed: Instant,
    /// When something last told of it.
    pub(super) told: Instant,
    pub(super) due: Option<Due>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) at: Instant,
    pub(super) voice: Voice,
    /// Something told of a change since the last look; else it is only time to look again.
    pub(super) is_told: bool,
}

impl Due {
    pub(super) fn soon(now: Instant) -> Self {
        Self { at: now + pace::AFTERWARDS, voice: Voice::Output, is_told: true }
    }
}

impl Watched {
    pub(super) fn stir(&mut self, voice: Voice, now: Instant) {
        // A source that has reported once is expected to report again.
        let tells = self.status.verdict.reasons.iter().any(|reason| {
            matches!(reason.source, Source::OwnWord | Source::Hook | Source::Transcript)
                && (reason.at.is_some() || reason.role == Role::Decided)
        });
        self.told = now;
        let at = pace::due(voice, tells, self.looked, now);
        self.become_due(Due { at, voice, is_told: true });
    }

    pub(super) fn look_at(&mut self, at: Instant) {
        self.become_due(Due { at, voice: Voice::Output, is_told: false });
    }

    /// What has stirred is looked at now, without the pause that follows a look.
    pub(super) fn hasten(&mut self, now: Instant) {
        if let Some(due) = &mut self.due
            && due.is_told
        {
            due.at = due.at.min(now);
        }
    }

    fn become_due(&mut self, due: Due) {
        self.due = Some(match self.due {
            Some(before) => Due {
                at: before.at.min(due.at),
                voice: before.voice.min(due.voice),
                is_told: before.is_told || due.is_told,
            },
            None => due,
        });
    }
}

/// A session's pane in the snapshot.
pub(super) fn face<'a>(
    watched: &Watched,
    snapshot: Result<&'a TmuxSnapshot, &dogwatch_tmux::Error>,
) -> Option<&'a PaneRow> {
    let id = pane(&watched.status.seen.session)?;
    snapshot.logged("ask tmux")?.faces.iter().map(|face| &face.row).find(|row| row.pane_id == id)
}

pub(super) fn pane(session: &Session) -> Option<PaneId> {
    session.pane.as_deref()?.parse().ok()
}

/// `kill` archives a session as soon as it has ended: that it ended is reported all the same.
pub(super) fn is_to_be_reported(session: &Session) -> bool {
    !session.archived || session.ended().is_some()
}
