//! Budgets: reports those that are used up, once each, and lifts them.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::notice::Occasion;
use dogwatch_core::notify::Facts;
use dogwatch_core::usage::{BudgetStanding, held_words, used_up_words};
use dogwatch_store::{NotifyWhat, Session, Store};
use jiff::{Timestamp, Zoned};

use crate::notify::channels;
use crate::notify::outbox::{self, News, Rules};
use crate::observe::asker;
use crate::observe::usage::{Named, is_about, standings};
use crate::{Context, Error};

/// Checks the budgets that a session is subject to, and reports those that are used up. Returns why its prompts are held, if they
/// are.
pub fn check(context: &Context, named: Named<'_>) -> Result<Option<String>, Error> {
    let mut store = context.store()?;
    let all = standings(context, &store, Some(named), &Zoned::now())?;
    if all.is_empty() {
        return Ok(None);
    }
    let Some(session) = store.by_id(named.session)? else { return Ok(None) };
    let mut held = None;
    for one in all.iter().filter(|one| one.is_used_up && is_about(one, &session)) {
        let reported = store.report_budget(&session.id, one, Timestamp::now());
        if reported.logged("report a budget") == Some(true) {
            notify(context, &mut store, &session, one);
        }
        if one.holds() && held.is_none() {
            held = Some(held_words(one));
        }
    }
    Ok(held)
}

/// One process does, the one that reported it.
fn notify(context: &Context, store: &mut Store, session: &Session, one: &BudgetStanding) {
    let Some(rules) = Rules::read(context).logged("read the configuration") else { return };
    let mut notice = channels::notice(Occasion::Budget, used_up_words(one), String::new(), one);
    notice.session = Some(session.name.clone());
    let about = Some(outbox::about(session));
    let facts = Facts { occasion: Occasion::Budget, about, dialog: None, hold: Duration::ZERO };
    let key = format!("budget/{}", one.key);
    outbox::leave(context, store, &rules, &News { notice, facts, what: NotifyWhat::Key(&key) });
    context.state.tell_news(&session.id);
}

/// Lifts the budgets that are used up, of a session or of all, until their period ends or their limit changes. Only a person may.
pub fn lift(context: &Context, target: Option<&str>) -> Result<Vec<BudgetStanding>, Error> {
    asker::only_a_person(context)?;
    let mut store = context.store()?;
    let session = match target {
        Some(target) => Some(crate::observe::snapshot::find(context, target)?.session),
        None => None,
    };
    let mut all = standings(context, &store, None, &Zoned::now())?;
    all.retain(|one| one.is_used_up && one.holds());
    if let Some(session) = &session {
        all.retain(|one| is_about(one, session));
    }
    for one in &mut all {
        one.is_lifted = true;
        store.lift_budget(one, Timestamp::now())?;
    }
    Ok(all)
}
