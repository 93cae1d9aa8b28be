//! A few characters for tmux's status line, kept current while a command asks for it.

use std::collections::BTreeSet;

use dogwatch_protocol::id::SessionId;

use crate::observe::listing;
use crate::observe::status::SessionStatus;
use crate::watch::Watcher;
use crate::watch::labels::STATUS;

#[derive(Debug, Default)]
pub(super) struct StatusLine {
    shown: Option<String>,
    attached: BTreeSet<SessionId>,
}

impl StatusLine {
    /// Removes what a supervisor that was killed has left. Whoever still wants it asks again.
    pub(super) fn clear_left(watcher: &mut Watcher<'_>) {
        if watcher.has_server() {
            watcher.remove_left_labels();
            watcher.set_global(STATUS, None);
        }
    }

    /// Sets the option if it is wanted and something changed, and removes it when it is wanted no more.
    pub(super) fn keep(&mut self, watcher: &mut Watcher<'_>, is_wanted: bool, is_news: bool) {
        if !is_wanted {
            if self.shown.take().is_some() && watcher.has_server() {
                watcher.set_global(STATUS, None);
            }
            return;
        }
        // A tmux that does not answer now may do so again.
        let Some((_, attached)) = watcher.panes() else { return };
        if self.shown.is_some() && !is_news && attached == self.attached {
            return;
        }
        let is_shown = |one: &SessionStatus| attached.contains(&one.seen.session.id);
        let all: Vec<SessionStatus> = watcher.statuses().cloned().collect();
        let text = listing::in_short(Some(watcher.store()), all.iter().collect(), is_shown);
        self.attached = attached;
        if self.shown.as_ref() != Some(&text) {
            watcher.set_global(STATUS, Some(&text));
            self.shown = Some(text);
        }
    }
}
