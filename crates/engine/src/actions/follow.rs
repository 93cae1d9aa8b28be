//! From statuses to notifications: writes down what people want to know, and sends what is due.

use std::collections::BTreeSet;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::launch::PROMPT_FILE;
use dogwatch_core::notice::Occasion;
use dogwatch_core::notify::session::{self, StatusEvent};
use dogwatch_core::notify::{Facts, repeat};
use dogwatch_core::record::Cause;
use dogwatch_core::status::Status;
use dogwatch_protocol::notice::StatusNotice;
use dogwatch_store::{NotifyWhat, Store};
use jiff::Timestamp;

use crate::notify::channels;
use crate::notify::outbox::{self, News, Rules};
use crate::observe::status::SessionStatus;
use crate::{Context, Error};

/// Words of a command line that resume a conversation.
const RESUME: [&str; 4] = ["--resume", "resume", "--session", "--continue"];

/// Writes down what people want to know of these sessions. What was sent without being written down is added to `told`, and not sent again
/// if it is there.
fn add_all(
    context: &Context,
    store: &mut Store,
    rules: &Rules,
    statuses: &[SessionStatus],
    told: &mut BTreeSet<u64>,
) {
    for (one, event) in events(statuses) {
        if event.occasion == Occasion::Done && is_of_before(context, store, one) {
            continue;
        }
        let now = Timestamp::now();
        let id = one.seen.session.id.as_str();
        let lately = now.checked_sub(repeat::WINDOW).unwrap_or(now);
        let times = store.times_of_event(id, &event.detail, lately);
        let hold = repeat::hold(&event, times.logged("read notifications").unwrap_or(0));
        outbox::add(context, store, rules, &news(one, &event, hold), told);
    }
}

/// What people may want to know of these.
fn events(statuses: &[SessionStatus]) -> impl Iterator<Item = (&SessionStatus, StatusEvent)> {
    // Of those that went with their server, people are told once, of all of them.
    let is_alone = |one: &&SessionStatus| one.seen.life.server_died.is_none();
    statuses.iter().filter(is_alone).filter_map(|one| {
        let ended = one.seen.session.ended();
        let by_itself =
            ended.is_none_or(|ended| ended.cause == Cause::Itself && ended.by.is_none());
        Some((one, session::event(&one.verdict, by_itself, Timestamp::now())?))
    })
}

/// Whether the turn that is over is one of before: a conversation that was resumed shows its end.
fn is_of_before(context: &Context, store: &Store, one: &SessionStatus) -> bool {
    let session = &one.seen.session;
    let is_resumed = session.command.iter().any(|word| RESUME.contains(&word.as_str()));
    let has_prompt = || context.state.session(&session.id).path().join(PROMPT_FILE).exists();
    is_resumed
        && matches!(one.verdict.status, Status::Idle { .. })
        && !has_prompt()
        && store.has_worked(&session.id).logged("read signals") == Some(false)
}

fn news<'a>(one: &SessionStatus, event: &'a StatusEvent, hold: Duration) -> News<'a> {
    let about = outbox::about(&one.seen.session);
    let verdict = &one.verdict;
    let (title, text) = session::words(&about.name, &verdict.status, verdict.basis);
    let data = StatusNotice {
        id: one.seen.session.id.clone(),
        name: about.name.clone(),
        agent: about.agent.clone(),
        project: about.project.clone(),
        tags: about.tags.clone(),
        basis: verdict.basis,
        since: verdict.since,
        status: verdict.status.clone(),
    };
    let mut notice = channels::notice(event.occasion, title, text, &data);
    notice.session = Some(about.name.clone());
    let facts = Facts { occasion: event.occasion, about: Some(about), dialog: event.dialog, hold };
    News { notice, facts, what: NotifyWhat::Status { detail: &event.detail, since: verdict.since } }
}

/// Writes down what people want to know of these sessions. What cannot be written down is sent at once, and its number added to `told`.
pub fn write_down(
    context: &Context,
    statuses: &[SessionStatus],
    told: &mut BTreeSet<u64>,
) -> Result<(), Error> {
    let rules = Rules::read(context)?;
    let opened = context.store();
    if opened.is_err() {
        // Without room on its disk the database cannot even be opened.
        for (one, event) in events(statuses) {
            outbox::send_once(context, &rules, &news(one, &event, Duration::ZERO), told);
        }
    }
    add_all(context, &mut opened?, &rules, statuses, told);
    Ok(())
}

/// Sends what is due on a channel.
pub fn send_on(context: &Context, channel: &str) -> Result<(), Error> {
    let rules = Rules::read(context)?;
    outbox::flush(context, &mut context.store()?, &rules, channel);
    Ok(())
}

/// The channels on which something is due.
pub fn due_channels(context: &Context) -> Result<Vec<String>, Error> {
    Ok(outbox::due(&context.store()?))
}

/// After how long the next is due that is not being sent.
pub fn next_due(context: &Context) -> Result<Option<Duration>, Error> {
    let next = context.store()?.next_delivery(None)?;
    Ok(next.map(|next| {
        let wait = Duration::try_from(next.duration_since(Timestamp::now())).unwrap_or_default();
        wait.max(Duration::from_millis(500))
    }))
}
