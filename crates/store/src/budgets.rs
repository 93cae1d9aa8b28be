//! Budgets that are used up: which were reported, and which were lifted.

use dogwatch_core::event::kind;
use dogwatch_core::usage::BudgetStanding;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{Store, StoreError, journal};

impl Store {
    /// Whether a person has lifted a budget.
    pub fn is_lifted(&self, key: &str) -> Result<bool, StoreError> {
        let sql = "SELECT lifted IS NOT NULL FROM budgets WHERE key = ?";
        self.read(|c| {
            let found = c.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional();
            found.map(|lifted| lifted.unwrap_or(false))
        })
    }

    /// Reports that a budget is used up, unless that was done before: one process does. `session` is the one that used it up.
    pub fn report_budget(
        &mut self,
        session: &str,
        standing: &BudgetStanding,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let sql = "INSERT OR IGNORE INTO budgets (key, reported) VALUES (?, ?)";
            let is_new =
                tx.prepare_cached(sql)?.execute(params![standing.key, at.as_millisecond()])? > 0;
            if is_new {
                journal::append(tx, at, session, kind::BUDGET, standing)?;
            }
            Ok(is_new)
        })
    }

    /// Lifts a budget: it holds nothing any more.
    pub fn lift_budget(
        &mut self,
        standing: &BudgetStanding,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let sql = "INSERT INTO budgets (key, reported, lifted) VALUES (?1, ?2, ?2) \
                       ON CONFLICT (key) DO UPDATE SET lifted = ?2";
            tx.prepare_cached(sql)?.execute(params![standing.key, at.as_millisecond()])?;
            journal::append(tx, at, "", kind::BUDGET, standing)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use dogwatch_core::usage::{BudgetAction, BudgetScope};

    fn standing(key: &str) -> BudgetStanding {
        BudgetStanding {
            key: key.to_owned(),
            per: BudgetScope::Day,
            subject: "2026-11-16".to_owned(),
            name: "2026-11-16".to_owned(),
            action: BudgetAction::Hold,
            limit_usd: Some(1.0),
            limit_tokens: None,
            used_usd: Some(2.0),
            used_tokens: 7,
            cost_is_lower_bound: false,
            used_words: "$2.00".to_owned(),
            limit_words: "$1".to_owned(),
            is_used_up: true,
            is_lifted: false,
        }
    }

    #[test]
    fn a_budget_is_reported_once_and_lifted() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let report = || {
            let mut store = Store::open(&dir).unwrap();
            store.report_budget("s", &standing("k"), now).unwrap()
        };
        let first: usize = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(report)).collect();
            all.into_iter().map(|one| usize::from(one.join().unwrap())).sum()
        });
        assert_eq!(first, 1, "one of four processes reports it");
        let mut store = Store::open(&dir).unwrap();
        let events = store.journal("s").unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(
            (events[0].event.kind.as_str(), &events[0].event.data["used_usd"]),
            ("budget", &2.0.into())
        );
        assert!(!store.is_lifted("k").unwrap());
        store.lift_budget(&standing("k"), now).unwrap();
        assert!(store.is_lifted("k").unwrap() && !store.is_lifted("other").unwrap());
        assert!(!store.report_budget("s", &standing("k"), now).unwrap());
    }
}
