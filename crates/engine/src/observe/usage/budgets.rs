//! How much of the configured budgets is used.

use std::collections::{BTreeMap, HashMap};

use dogwatch_base::log::Logged as _;
use dogwatch_core::usage::{BudgetRule, BudgetScope, BudgetStanding, Cost, PriceTable};
use dogwatch_store::{Session, Store, UsageCache};
use jiff::Zoned;

use super::{Owners, day, project_of, read_all};
use crate::{Context, Error, config};

/// The conversation that an agent's hook speaks of, with its session.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub session: &'a str,
    pub conversation: &'a str,
}

/// All budgets with their subjects, those that are used up first. Empty if none is configured; nothing is read then.
pub fn standings(
    context: &Context,
    store: &Store,
    named: Option<Named<'_>>,
    now: &Zoned,
) -> Result<Vec<BudgetStanding>, Error> {
    let config = config::read(context)?;
    let rules = config.budgets();
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let prices = config.prices();
    let mut cache = UsageCache::open(&context.state)?;
    read_all(context, &mut cache)?;
    cache.take_links(store)?;
    if let Some(named) = named {
        cache.link(named.conversation, named.session)?;
    }
    let mut all = Vec::new();
    for rule in &rules {
        all.extend(of_rule(rule, &cache, store, &prices, now)?);
    }
    for one in &mut all {
        one.is_lifted = store.is_lifted(&one.key)?;
    }
    all.sort_by_key(|one| !one.is_used_up);
    Ok(all)
}

fn of_rule(
    rule: &BudgetRule,
    cache: &UsageCache,
    store: &Store,
    prices: &PriceTable,
    now: &Zoned,
) -> Result<Vec<BudgetStanding>, Error> {
    let first = rule.first_slot(now);
    let (models, threads) = (cache.models()?, cache.threads()?);
    let owners = Owners::read(cache, store, super::By::Session)?;
    let mut projects = HashMap::new();
    let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
    let mut subjects: HashMap<i64, Option<String>> = HashMap::new();
    for bucket in cache.buckets(Some(first))? {
        let subject = subjects.entry(bucket.thread).or_insert_with(|| {
            let thread = threads.get(&bucket.thread)?;
            let project = project_of(&thread.cwd, &mut projects);
            if rule.project.as_ref().is_some_and(|only| *only != project) {
                return None;
            }
            match rule.per {
                BudgetScope::Session => {
                    Some(owners.sessions.get(&thread.conversation)?.id.to_string())
                }
                BudgetScope::Project => Some(project),
                BudgetScope::Day => Some(day(first, now.time_zone())),
            }
        });
        let Some(subject) = subject.clone() else { continue };
        let name = models.get(&bucket.model).map_or("unknown", String::as_str);
        let rates = prices.rates(name, bucket.slot, bucket.length);
        costs.entry(subject).or_default().add(&bucket, name, rates.as_ref());
    }
    let names: HashMap<&str, &str> =
        owners.sessions.values().map(|session| (&*session.id, &*session.name)).collect();
    let standing = |(subject, cost): (String, Cost)| {
        let mut standing = rule.standing(&subject, first, cost);
        if let Some(name) = names.get(&*subject) {
            (*name).clone_into(&mut standing.name);
        }
        standing
    };
    Ok(costs.into_iter().map(standing).collect())
}

/// Whether a budget is about a session.
pub fn is_about(standing: &BudgetStanding, session: &Session) -> bool {
    match standing.per {
        BudgetScope::Session => *session.id == *standing.subject,
        BudgetScope::Project => {
            let cwd = session.cwd.display().to_string();
            project_of(&cwd, &mut HashMap::new()) == standing.subject
        }
        BudgetScope::Day => true,
    }
}

/// The budget that holds a session's prompts, if one does. Trouble with finding out holds nothing.
pub fn holding(context: &Context, store: &Store, session: &Session) -> Option<BudgetStanding> {
    let all = standings(context, store, None, &Zoned::now()).logged("read the budgets")?;
    all.into_iter().find(|one| one.is_used_up && one.holds() && is_about(one, session))
}
