//! Looks at sessions for the sake of notifications, and sends what is due: once for a session's runner (`dogwatch notify follow`), and again
//! and again beside a watcher.

use std::fmt;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::launch::PROMPT_FILE;
use dogwatch_core::notice::Occasion;
use dogwatch_core::notify::pace::Looked;
use dogwatch_core::notify::session::{self, StatusEvent};
use dogwatch_core::notify::{About, Facts, On, repeat};
use dogwatch_core::record::{Cause, Exit};
use dogwatch_core::status::{Basis, Status};
use dogwatch_protocol::notice::StatusNotice;
use dogwatch_store::{NotifyWhat, Stage, Store, Which};
use dogwatch_tmux::{Command, PaneId};
use jiff::Timestamp;

use crate::notify::channels;
use crate::notify::outbox::{self, News, Rules};
use crate::observe::processes;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// How often to check whether a working session is stuck.
const STUCK: Duration = Duration::from_mins(1);
/// Words of a command line that resume a conversation.
const RESUME: [&str; 4] = ["--resume", "resume", "--session", "--continue"];
/// A try that fails is over by then, and the next one is due.
const RETRY: Duration = Duration::from_secs(12);

/// How long notifications of others may wait for those who are nearer to them.
const OTHERS: Duration = Duration::from_mins(1);

/// Looks once at a session, and at those whose runner was killed; writes down what people want to know, says when to look again, and sends what is
/// due.
pub fn follow(
    context: &Context,
    session: &str,
    told: Option<u64>,
    say: impl FnOnce(&dyn fmt::Display),
) -> Result<(), Error> {
    let rules = Rules::read(context)?;
    let now = Timestamp::now();
    let opened = StatusReader::new(context);
    if opened.is_err() {
        tell_end_unseen(context, &rules, session);
    }
    let mut reader = opened?;
    let mut targets = vec![session.to_owned()];
    if rules.are_about_sessions() {
        targets.extend(abandoned(context, &reader.store, &rules)?);
    }
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let found: Vec<SessionStatus> =
        reader.each(&targets, now)?.into_iter().filter_map(|one| one.logged("look")).collect();
    let mut store = reader.store;
    let told = add_all(context, &mut store, &rules, &found, told);
    let own = found.iter().find(|one| one.seen.session.id.as_str() == session);
    let looked = looked(&store, &rules, own, Timestamp::now());
    say(&Looked { told, ..looked }.line());
    if own.is_some_and(|one| one.verdict.status.is_over()) {
        outbox::flush_last(context, &mut store, session);
    } else {
        outbox::flush(context, &mut store, &rules);
    }
    Ok(())
}

/// Tells of a crash by the runner's record alone: without room on its disk the database cannot even be read. What a filter would ask for is
/// not known.
fn tell_end_unseen(context: &Context, rules: &Rules, session: &str) {
    let Some(ended) = context.state.session(session).ended() else { return };
    if ended.exit == Exit::Code(0) || ended.cause != Cause::Itself || ended.by.is_some() {
        return;
    }
    let folder = context.state.session(session);
    let pane: Option<PaneId> =
        folder.started().and_then(|started| started.pane).and_then(|pane| pane.parse().ok());
    let name = pane.and_then(|pane| {
        let shown_in = Command::about_pane(pane, "#{session_name}");
        let reply = context.tmux.running_only().run_one(shown_in).logged("ask tmux")?;
        Some(String::from_utf8_lossy(reply.bytes()).trim().to_owned())
    });
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| session.to_owned());
    let status = Status::Crashed { exit: Some(ended.exit) };
    let (title, text) = session::words(&name, &status, Basis::Asserted);
    let mut notice = channels::notice(Occasion::Crashed, title, text, &status);
    notice.session = Some(name.clone());
    let about = Some(About { id: session.to_owned(), name, ..About::default() });
    let occasion = Occasion::Crashed;
    let facts = Facts { occasion, about, dialog: None, hold: Duration::ZERO };
    outbox::send_untracked(context, rules, &News { notice, facts, what: NotifyWhat::Key(session) });
}

/// Sessions that should run, and whose runner is gone without a record: nothing else would notice.
fn abandoned(context: &Context, store: &Store, rules: &Rules) -> Result<Vec<String>, Error> {
    let now = Timestamp::now();
    let sessions = store.sessions(&context.socket, Which::current(now))?;
    let is_abandoned = |session: &dogwatch_store::Session| match &session.stage {
        Stage::Running(started) => !processes::is_alive(started.runner),
        // A command that only reads may have found it, and no runner looked since.
        Stage::Lost { found, .. } => {
            let last = store.last_event_detail(&session.id).logged("read notifications").flatten();
            session::is_lost_news(*found, now, rules.since, last.as_deref())
        }
        _ => false,
    };
    let found = sessions.into_iter().filter(|session| is_abandoned(session));
    Ok(found.map(|session| session.id.to_string()).collect())
}

/// Writes down what people want to know of these sessions. What was sent without being written down is returned, and not sent again if it
/// is `told`.
pub fn add_all(
    context: &Context,
    store: &mut Store,
    rules: &Rules,
    statuses: &[SessionStatus],
    told: Option<u64>,
) -> Option<u64> {
    let mut untracked = None;
    for one in statuses {
        let ended = one.seen.session.ended();
        let by_itself =
            ended.is_none_or(|ended| ended.cause == Cause::Itself && ended.by.is_none());
        let now = Timestamp::now();
        if let Some(event) = session::event(&one.verdict, by_itself, now) {
            if event.occasion == Occasion::Done && is_of_before(context, store, one) {
                continue;
            }
            let id = one.seen.session.id.as_str();
            let lately = now.checked_sub(repeat::WINDOW).unwrap_or(now);
            let times = store.times_of_event(id, &event.detail, lately);
            let hold = repeat::hold(&event, times.logged("read notifications").unwrap_or(0));
            let news = news(one, &event, hold);
            untracked = outbox::add(context, store, rules, &news, told).or(untracked);
        }
    }
    untracked
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

/// When to look at the session again.
fn looked(store: &Store, rules: &Rules, own: Option<&SessionStatus>, now: Timestamp) -> Looked {
    let Some(own) = own else { return Looked { is_busy: false, next: None, told: None } };
    let status = &own.verdict.status;
    let is_busy =
        matches!(status, Status::Starting | Status::Working { .. } | Status::Unknown { .. });
    let id = own.seen.session.id.as_str();
    let wait = |due: Timestamp| Duration::try_from(due.duration_since(now)).unwrap_or_default();
    let due = store.next_delivery(Some(id)).logged("read notifications").flatten();
    let due = due.map(wait).map(|wait| {
        // What is due now is sent by this process; the look after that finds whether it has to be sent again.
        if wait < Duration::from_secs(1) { RETRY } else { wait + Duration::from_millis(50) }
    });
    // What an ended session left, or none had: whoever looks first sends it.
    let others = store.next_delivery(None).logged("read notifications").flatten();
    let others = others.map(wait).filter(|wait| !wait.is_zero()).map(|wait| wait + OTHERS);
    let wants_stuck = rules.rules.iter().any(|rule| rule.on.contains(&On::Stuck));
    let stuck = (is_busy && wants_stuck).then_some(STUCK);
    Looked { is_busy, next: [due, others, stuck].into_iter().flatten().min(), told: None }
}

/// Writes down what people want to know of these sessions, and sends what is due. Returns after how long the next is.
pub fn notify_of(
    context: &Context,
    statuses: &[SessionStatus],
    now: Timestamp,
) -> Result<Option<Duration>, Error> {
    let rules = Rules::read(context)?;
    let mut store = context.store()?;
    add_all(context, &mut store, &rules, statuses, None);
    outbox::flush(context, &mut store, &rules);
    let next = store.next_delivery(None)?;
    Ok(next.map(|next| {
        let wait = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        wait.max(Duration::from_millis(500))
    }))
}
