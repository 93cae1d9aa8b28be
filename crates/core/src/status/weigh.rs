//! What sources are worth beside each other: whose word is of now, and whose was overtaken.

use std::borrow::Cow;

use jiff::Timestamp;

use super::evidence::{EdgeKind, Evidence, OwnWord, Screen, Shows, Word};
use super::judge::Ruling;
use super::signs::{LAG, newest, open_turn};
use super::{Basis, Status};

/// The evidence with what the title claims, where that may be believed. Whatever writes to the terminal can set
/// the title, agent output included: a title counts only where no other source says anything, and contradicts none.
pub(super) fn title(e: &Evidence) -> Cow<'_, Evidence> {
    let Some(screen) = e.screen.as_ref() else { return Cow::Borrowed(e) };
    let Some(claim) = screen.title.as_ref().filter(|_| is_credible(e, screen)) else {
        return Cow::Borrowed(e);
    };
    let screen = Screen { shows: claim.clone(), is_live: false, title: None, ..screen.clone() };
    Cow::Owned(Evidence { screen: Some(screen), ..e.clone() })
}

fn is_credible(e: &Evidence, screen: &Screen) -> bool {
    if matches!(e.own_word, OwnWord::Says(..)) {
        return false;
    }
    // A dialog or a line of one at work is in sight.
    if matches!(screen.shows, Shows::Dialog(..)) || screen.is_live {
        return false;
    }
    newest(e).is_none_or(|(edge, _)| edge.what == EdgeKind::Began)
}

/// A turn has ended since that word was said, and the screen agrees: claude 2.1.120 goes on saying busy as long as a shell
/// runs in the background.
pub(super) fn has_ended_since(e: &Evidence, word: Timestamp) -> bool {
    ended_after(e, word).is_some_and(|at| e.distance(at) > LAG)
}

/// When a turn ended, if that was after that word, nothing is next in line, and the screen agrees.
fn ended_after(e: &Evidence, word: Timestamp) -> Option<Timestamp> {
    let rests = matches!(
        e.screen.as_ref().map(|s| &s.shows),
        Some(Shows::Prompt { .. } | Shows::Failure(..) | Shows::Limit(..))
    );
    let (edge, _) = newest(e).filter(|_| rests && e.transcript.queued == 0)?;
    (edge.what.is_end() && e.is_later(edge.at, word)).then_some(edge.at)
}

fn hook_ended(e: &Evidence) -> bool {
    e.hooks.edge.as_ref().is_some_and(|edge| edge.what.is_end())
}

/// Nothing is asserted that a source contradicts which speaks of now.
pub(super) fn contradictions(e: &Evidence, ruling: Ruling) -> Ruling {
    // A word of this moment has no time: the screen is late, and not it.
    let settled = ruling.since.is_some_and(|since| e.distance(since) > LAG);
    let screen = e.screen.as_ref();
    let shows = |what: fn(&Shows) -> bool| screen.is_some_and(|screen| what(&screen.shows));
    let is_contradicted = match &ruling.status {
        Status::Idle { .. } => {
            let works = screen.is_some_and(|screen| screen.is_live);
            let failed = shows(|shows| matches!(shows, Shows::Failure(..) | Shows::Limit(..)));
            let says_busy = matches!(e.own_word, OwnWord::Says(Word::Busy, _));
            says_busy || (settled && (works || failed)) || (works && open_turn(e).is_some())
        }
        // A turn that failed leaves its failure in sight until the next one.
        Status::Error { .. } | Status::Limited { .. } => {
            settled && shows(|shows| matches!(shows, Shows::Prompt { .. }))
        }
        Status::Working { .. } => match e.own_word {
            OwnWord::Says(Word::Busy, Some(word)) => ended_after(e, word).is_some(),
            OwnWord::Says(..) => false,
            // A hook said that it was over, and it looks like that.
            _ if hook_ended(e) && shows(|shows| matches!(shows, Shows::Prompt { .. })) => true,
            // Esc before the first word puts the message back into the box, without hook or transcript line.
            _ => screen.is_some_and(|screen| {
                matches!(screen.shows, Shows::Prompt { .. }) && screen.draft.is_some()
            }),
        },
        _ => false,
    };
    match ruling.basis {
        Basis::Asserted if is_contradicted => Ruling { basis: Basis::Inferred, ..ruling },
        _ => ruling,
    }
}
