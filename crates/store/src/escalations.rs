//! Questions to people, stored until they are answered. Each is answered once.

use dogwatch_base::log::Logged as _;
use dogwatch_core::escalation::{Action, Choice, Kind, Situation, choices};
use dogwatch_core::event::kind;
use dogwatch_protocol::event_data::{EscalationAnswered, EscalationRaised};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;

use crate::{Store, StoreError, journal};

#[derive(Debug, Clone)]
pub struct NewEscalation<'a> {
    pub id: &'a str,
    /// Identifies the question for the component that asks: raised again, it is the same one.
    pub key: &'a str,
    pub situation: &'a Situation,
    pub raised: Timestamp,
    /// When the default answer applies, and which option it is.
    pub deadline: Option<(Timestamp, u32)>,
    /// Whether to raise it again if it was settled before.
    pub anew: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Escalation {
    /// The number that people use.
    pub number: i64,
    pub id: String,
    pub key: String,
    pub situation: Situation,
    pub kind: Kind,
    /// The possible answers, numbered from 1.
    pub options: Vec<Choice>,
    pub raised: Timestamp,
    pub deadline: Option<Timestamp>,
    pub default_option: Option<u32>,
    pub notified: Option<Timestamp>,
    pub settled: Option<Settled>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub at: Timestamp,
    pub outcome: Settlement,
}

pub use dogwatch_protocol::escalation::Settlement;

#[derive(Debug, Clone, Copy)]
pub struct NewAnswer<'a> {
    pub option: u32,
    pub note: Option<&'a str>,
    pub by: &'a str,
    pub at: Timestamp,
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answering {
    Taken(Escalation),
    /// Settled before, as the escalation says.
    TooLate(Escalation),
    NoSuchOption(Escalation),
    NoSuchEscalation,
}

const COLUMNS: &str = "number, id, key, situation, kind, options, raised, deadline, default_option, told, settled, outcome";
/// The answerer of a question whose deadline passed.
pub const DEADLINE: &str = "deadline";

impl Store {
    /// Raises a question, unless it was raised before; returns whether it is new.
    pub fn raise(&mut self, new: &NewEscalation<'_>) -> Result<(Escalation, bool), StoreError> {
        let situation = new.situation;
        let text =
            |value: serde_json::Result<String>| value.logged("write JSON").unwrap_or_default();
        let options = text(serde_json::to_string(&choices(situation)));
        self.transaction(|tx| {
            let before = newest(tx, new.key)?;
            if let Some(before) = before.filter(|one| one.settled.is_none() || !new.anew) {
                return Ok((before, false));
            }
            tx.execute(
                "INSERT INTO escalations (id, key, situation, kind, options, raised, deadline, default_option) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    new.id,
                    new.key,
                    text(serde_json::to_string(situation)),
                    dogwatch_core::escalation::kind_of(situation).as_str(),
                    options,
                    new.raised.as_millisecond(),
                    new.deadline.map(|(at, _)| at.as_millisecond()),
                    new.deadline.map(|(_, option)| option),
                ],
            )?;
            let kept = by(tx, "number", tx.last_insert_rowid())?;
            let kept = kept.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            let data = EscalationRaised {
                number: kept.number,
                id: kept.id.clone(),
                kind: kept.kind,
                situation: situation.clone(),
                options: kept.options.clone(),
            };
            append(tx, &kept, new.raised, kind::ESCALATION_RAISED, &data)?;
            Ok((kept, true))
        })
    }

    /// Records that people were notified.
    pub fn set_notified(&mut self, id: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let sql = "UPDATE escalations SET told = ? WHERE id = ? AND told IS NULL";
            tx.execute(sql, params![at.as_millisecond(), id]).map(drop)
        })
    }

    /// Answers a question. Only the first answer counts.
    pub fn answer_escalation(
        &mut self,
        id: &str,
        answer: &NewAnswer<'_>,
    ) -> Result<Answering, StoreError> {
        self.transaction(|tx| {
            let Some(found) = by(tx, "id", id)? else { return Ok(Answering::NoSuchEscalation) };
            if found.settled.is_some() {
                return Ok(Answering::TooLate(found));
            }
            // An overdue question was answered by its deadline, even if no process has recorded that yet.
            if let Some(default) = found.overdue(answer.at) {
                return Ok(Answering::TooLate(settle(tx, found, default)?));
            }
            let place = usize::try_from(answer.option).unwrap_or(0).wrapping_sub(1);
            let Some(choice) = found.options.get(place) else {
                return Ok(Answering::NoSuchOption(found));
            };
            let outcome = Settlement::Answered {
                option: answer.option,
                action: choice.action,
                note: answer.note.map(ToOwned::to_owned),
                by: answer.by.to_owned(),
                carried_out: false,
            };
            settle(tx, found, Settled { at: answer.at, outcome }).map(Answering::Taken)
        })
    }

    /// Claims the execution of an answer; false if it was claimed before, or there is no answer. Only one caller gets true.
    pub fn claim_answer(&mut self, id: &str) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let Some(found) = by(tx, "id", id)? else { return Ok(false) };
            let Some(Settled { outcome, .. }) = found.settled else { return Ok(false) };
            let Settlement::Answered { option, action, note, by, carried_out: false } = outcome
            else {
                return Ok(false);
            };
            let outcome = Settlement::Answered { option, action, note, by, carried_out: true };
            let text = serde_json::to_string(&outcome).logged("write JSON").unwrap_or_default();
            tx.execute("UPDATE escalations SET outcome = ? WHERE id = ?", params![text, id])?;
            Ok(true)
        })
    }

    /// Withdraws a question that is no longer needed.
    pub fn withdraw(
        &mut self,
        key: &str,
        because: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let Some(open) = newest(tx, key)?.filter(|one| one.settled.is_none()) else {
                return Ok(false);
            };
            let outcome = Settlement::Withdrawn { because: because.to_owned() };
            settle(tx, open, Settled { at, outcome }).map(|_| true)
        })
    }

    /// Applies the default answer of questions whose deadline has passed.
    pub fn settle_overdue(&mut self, now: Timestamp) -> Result<Vec<Escalation>, StoreError> {
        let overdue = |one: &Escalation| one.overdue(now).is_some();
        if !self.escalations(true)?.iter().any(overdue) {
            return Ok(Vec::new());
        }
        self.transaction(|tx| {
            let mut settled = Vec::new();
            for one in list(tx, true)? {
                if let Some(default) = one.overdue(now) {
                    settled.push(settle(tx, one, default)?);
                }
            }
            Ok(settled)
        })
    }

    /// Removes questions that were settled before that time.
    pub fn forget_settled(&mut self, before: Timestamp) -> Result<(), StoreError> {
        let sql = "DELETE FROM escalations WHERE settled < ?";
        self.transaction(|tx| tx.execute(sql, [before.as_millisecond()]).map(drop))
    }

    /// All of them, oldest first, or those that are open.
    pub fn escalations(&self, open_only: bool) -> Result<Vec<Escalation>, StoreError> {
        self.read(|c| list(c, open_only))
    }

    /// By its number, its id, or a prefix of the id.
    pub fn escalation(&self, target: &str) -> Result<Option<Escalation>, StoreError> {
        if let Ok(number) = target.parse::<i64>() {
            return self.read(|c| by(c, "number", number));
        }
        let sql = format!("SELECT {COLUMNS} FROM escalations WHERE substr(id, 1, ?2) = ?1 LIMIT 2");
        let mut found: Vec<Escalation> = self.read(|c| {
            let length = i64::try_from(target.chars().count()).unwrap_or(0);
            c.prepare_cached(&sql)?.query_map(params![target, length], from_row)?.collect()
        })?;
        let is_meant = target.chars().count() >= 8 && found.len() == 1;
        Ok(is_meant.then(|| found.pop()).flatten())
    }
}

impl Escalation {
    /// The chosen action, if there is one.
    pub fn answer(&self) -> Option<Action> {
        match &self.settled.as_ref()?.outcome {
            Settlement::Answered { action, .. } => Some(*action),
            Settlement::Withdrawn { .. } => None,
        }
    }

    /// The default answer, if the deadline has passed.
    fn overdue(&self, now: Timestamp) -> Option<Settled> {
        let at = self.deadline.filter(|at| *at <= now && self.settled.is_none())?;
        let option = self.default_option?;
        let choice = self.options.get(usize::try_from(option).ok()?.checked_sub(1)?)?;
        let action = choice.action;
        Some(Settled {
            at,
            outcome: Settlement::Answered {
                option,
                action,
                note: None,
                by: DEADLINE.to_owned(),
                carried_out: false,
            },
        })
    }
}

fn settle(tx: &Transaction<'_>, mut one: Escalation, how: Settled) -> rusqlite::Result<Escalation> {
    let outcome = serde_json::to_value(&how.outcome).logged("write JSON").unwrap_or_default();
    tx.execute(
        "UPDATE escalations SET settled = ?, outcome = ? WHERE number = ? AND settled IS NULL",
        params![how.at.as_millisecond(), outcome.to_string(), one.number],
    )?;
    let data =
        EscalationAnswered { number: one.number, id: one.id.clone(), outcome: how.outcome.clone() };
    append(tx, &one, how.at, kind::ESCALATION_ANSWERED, &data)?;
    one.settled = Some(how);
    Ok(one)
}

/// Appends the event of a change, in its transaction.
fn append(
    tx: &Transaction<'_>,
    one: &Escalation,
    at: Timestamp,
    event: &str,
    data: &impl Serialize,
) -> rusqlite::Result<()> {
    let session = one.situation.session.as_deref().unwrap_or_default();
    journal::append(tx, at, session, event, data)
}

fn by(
    c: &rusqlite::Connection,
    column: &str,
    value: impl rusqlite::ToSql,
) -> rusqlite::Result<Option<Escalation>> {
    let sql = format!("SELECT {COLUMNS} FROM escalations WHERE {column} = ?");
    c.prepare_cached(&sql)?.query_row([value], from_row).optional()
}

fn newest(c: &rusqlite::Connection, key: &str) -> rusqlite::Result<Option<Escalation>> {
    let sql =
        format!("SELECT {COLUMNS} FROM escalations WHERE key = ? ORDER BY number DESC LIMIT 1");
    c.prepare_cached(&sql)?.query_row([key], from_row).optional()
}

fn list(c: &rusqlite::Connection, open_only: bool) -> rusqlite::Result<Vec<Escalation>> {
    let sql =
        format!("SELECT {COLUMNS} FROM escalations WHERE NOT ? OR settled IS NULL ORDER BY number");
    c.prepare_cached(&sql)?.query_map([open_only], from_row)?.collect()
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into())
    })
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Escalation> {
    let time = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let kind: String = row.get(4)?;
    let settled = time(row.get(10)?);
    let outcome: Option<String> = row.get(11)?;
    let outcome = outcome.map(|text| json(&text)).transpose()?;
    Ok(Escalation {
        number: row.get(0)?,
        id: row.get(1)?,
        key: row.get(2)?,
        situation: json(&row.get::<_, String>(3)?)?,
        kind: if kind == Kind::Preference.as_str() { Kind::Preference } else { Kind::Critical },
        options: json(&row.get::<_, String>(5)?)?,
        raised: time(row.get(6)?).unwrap_or_default(),
        deadline: time(row.get(7)?),
        default_option: row.get(8)?,
        notified: time(row.get(9)?),
        settled: settled.zip(outcome).map(|(at, outcome)| Settled { at, outcome }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use dogwatch_core::escalation::Trigger;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn situation() -> Situation {
        Situation {
            run: Some("r".into()),
            session: Some("s".into()),
            ..Situation::new(Trigger::CommitFailed, "conflict")
        }
    }

    fn open() -> (tempfile::TempDir, Store) {
        let tmp = tempfile::tempdir().unwrap();
        let store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        (tmp, store)
    }

    fn raise(store: &mut Store, id: &str, key: &str, anew: bool) -> (Escalation, bool) {
        let situation = situation();
        let deadline = Some((at(100), 3));
        store
            .raise(&NewEscalation { id, key, situation: &situation, raised: at(0), deadline, anew })
            .unwrap()
    }

    #[test]
    fn a_question_is_raised_once_and_answered_once() {
        let (_tmp, mut store) = open();
        let (first, is_new) = raise(&mut store, "id-number-1", "k", false);
        assert!(is_new && first.kind == Kind::Critical && first.options.len() == 4);
        let (again, is_new) = raise(&mut store, "id-number-2", "k", true);
        assert!(!is_new && again == first, "it is open");
        let answer = |option, by, second| NewAnswer { option, note: Some("n"), by, at: at(second) };
        let none = store.answer_escalation("id-number-1", &answer(5, "ann", 1)).unwrap();
        assert_eq!(none, Answering::NoSuchOption(first.clone()));
        let none = store.answer_escalation("id-number-1", &answer(0, "ann", 1)).unwrap();
        assert_eq!(none, Answering::NoSuchOption(first.clone()));
        assert_eq!(
            store.answer_escalation("x", &answer(1, "ann", 1)).unwrap(),
            Answering::NoSuchEscalation
        );
        let Answering::Taken(taken) =
            store.answer_escalation("id-number-1", &answer(2, "ann", 2)).unwrap()
        else {
            panic!("it was open")
        };
        assert_eq!(taken.answer(), Some(Action::GoOnUncommitted));
        let late = store.answer_escalation("id-number-1", &answer(1, "bob", 3)).unwrap();
        assert_eq!(late, Answering::TooLate(taken.clone()), "the first counts");
        let (same, is_new) = raise(&mut store, "id-number-3", "k", false);
        assert!(!is_new && same == taken, "after a crash the answer is found");
        let (second, is_new) = raise(&mut store, "id-number-4", "k", true);
        assert!(is_new && second.number > taken.number);
        assert_eq!(store.escalation("id-number-1").unwrap(), Some(taken.clone()));
        assert_eq!(store.escalation(&taken.number.to_string()).unwrap(), Some(taken));
        assert_eq!(store.escalation("id-numbe").unwrap(), None, "two begin so");
        let events: Vec<String> =
            store.journal("s").unwrap().into_iter().map(|e| e.event.kind).collect();
        assert_eq!(events, ["escalation_raised", "escalation_answered", "escalation_raised"]);
    }

    #[test]
    fn a_deadline_answers_and_an_unneeded_question_is_withdrawn() {
        let (_tmp, mut store) = open();
        raise(&mut store, "a", "one", false);
        assert_eq!(store.settle_overdue(at(99)).unwrap(), []);
        let settled = store.settle_overdue(at(101)).unwrap();
        assert_eq!(settled[0].answer(), Some(Action::Pause));
        assert_eq!(settled[0].settled.as_ref().unwrap().at, at(100));
        raise(&mut store, "b", "two", false);
        let late = NewAnswer { option: 1, note: None, by: "ann", at: at(101) };
        let answering = store.answer_escalation("b", &late).unwrap();
        assert!(
            matches!(answering, Answering::TooLate(one) if one.answer() == Some(Action::Pause))
        );
        raise(&mut store, "c", "three", false);
        assert!(store.withdraw("three", "it works now", at(5)).unwrap());
        assert!(!store.withdraw("three", "again", at(6)).unwrap());
        assert_eq!(store.escalations(true).unwrap(), []);
        store.forget_settled(at(101)).unwrap();
        assert_eq!(store.escalations(false).unwrap(), []);
        let (kept, _) = raise(&mut store, "d", "four", true);
        assert_eq!(kept.notified, None);
        store.set_notified("d", at(7)).unwrap();
        store.set_notified("d", at(9)).unwrap();
        assert_eq!(
            store.escalation(&kept.number.to_string()).unwrap().unwrap().notified,
            Some(at(7))
        );
    }

    #[test]
    fn only_one_of_many_simultaneous_answers_is_taken() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("s")).unwrap();
        raise(&mut Store::open(&dir).unwrap(), "a", "k", false);
        let taken: usize = std::thread::scope(|scope| {
            let answer = |option: u32| {
                let mut store = Store::open(&dir).unwrap();
                let by = option.to_string();
                let answer = NewAnswer { option, note: None, by: &by, at: at(1) };
                usize::from(matches!(
                    store.answer_escalation("a", &answer).unwrap(),
                    Answering::Taken(_)
                ))
            };
            let all: Vec<_> = (1..=4).map(|option| scope.spawn(move || answer(option))).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(taken, 1);
    }
}
