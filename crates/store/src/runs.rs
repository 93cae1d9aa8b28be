//! Runs of workflows and their journals. A journal is append-only, and the state of a run is computed from it.

use dogwatch_protocol::event_data::{RunFact, RunPlanned};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::workflow::{Dated, Fact, Plan};
use dogwatch_protocol::id::RunId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::Value;

use crate::{Store, StoreError, journal};

#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    pub id: &'a str,
    pub project: &'a Path,
    pub workflow: &'a str,
    pub definition: &'a str,
    pub plan: &'a Plan,
    pub settings: &'a Value,
    pub begun: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct KeptRun {
    pub id: RunId,
    pub project: PathBuf,
    pub workflow: String,
    pub definition: String,
    pub plan: Plan,
    pub settings: Value,
    pub begun: Timestamp,
    pub over: Option<Timestamp>,
}

/// The result of appending facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The journal has this length now.
    At(u64),
    /// Another process appended since: read that first.
    Outdated,
}

impl Store {
    /// Begins a run. If the project has an open one, nothing changes, and its id is returned.
    pub fn begin_run(&mut self, new: &NewRun<'_>) -> Result<Option<String>, StoreError> {
        self.transaction(|tx| {
            let open = tx
                .prepare_cached("SELECT id FROM runs WHERE project = ? AND over IS NULL LIMIT 1")?
                .query_row([new.project.to_string_lossy()], |row| row.get(0))
                .optional()?;
            if open.is_some() {
                return Ok(open);
            }
            tx.execute(
                "INSERT INTO runs (id, project, workflow, definition, plan, settings, begun) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    new.id,
                    new.project.to_string_lossy(),
                    new.workflow,
                    new.definition,
                    serde_json::to_string(new.plan).logged("write JSON").unwrap_or_default(),
                    new.settings.to_string(),
                    new.begun.as_millisecond(),
                ],
            )?;
            let data = RunPlanned {
                run: new.id.into(),
                fact: "planned".to_owned(),
                project: new.project.to_string_lossy().into_owned(),
                workflow: new.workflow.to_owned(),
            };
            journal::append(tx, new.begun, "", kind::RUN, &data).map(|()| None)
        })
    }

    /// Appends facts, if the journal still has the length `known`.
    pub fn append_facts(
        &mut self,
        run: &str,
        known: u64,
        facts: &[Dated],
    ) -> Result<Appended, StoreError> {
        self.transaction(|tx| {
            if count(tx, run)? != known {
                return Ok(Appended::Outdated);
            }
            add(tx, run, known, facts).map(Appended::At)
        })
    }

    /// Appends a fact in any case: a person's request.
    pub fn append_fact(&mut self, run: &str, fact: &Dated) -> Result<u64, StoreError> {
        self.transaction(|tx| {
            let known = count(tx, run)?;
            add(tx, run, known, std::slice::from_ref(fact))
        })
    }

    /// The facts after the first `known`, in order. Fails on one that this dogwatch does not know.
    pub fn facts(&self, run: &str, known: u64) -> Result<Vec<Dated>, StoreError> {
        let rows: Vec<(i64, String)> = self.read(|c| {
            c.prepare_cached(
                "SELECT at, fact FROM run_facts WHERE run = ? AND seq > ? ORDER BY seq",
            )?
            .query_map(params![run, number(known)], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
        })?;
        rows.into_iter()
            .map(|(at, text)| {
                let fact = serde_json::from_str(&text).map_err(|error| StoreError::Corrupt {
                    path: self.path.clone(),
                    message: format!("cannot read an event of run {run}: {error}"),
                })?;
                Ok(Dated { at: Timestamp::from_millisecond(at).unwrap_or_default(), fact })
            })
            .collect()
    }

    pub fn run(&self, id: &str) -> Result<Option<KeptRun>, StoreError> {
        self.read(|c| {
            c.prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE id = ?"))?
                .query_row([id], from_row)
                .optional()
        })
    }

    /// The run of each session that a run has started, by the session's id.
    pub fn runs_of_sessions(&self) -> Result<HashMap<String, String>, StoreError> {
        self.read(|c| {
            let sql = "SELECT json_extract(fact, '$.session'), run FROM run_facts \
                       WHERE json_extract(fact, '$.fact') = 'spawned'";
            c.prepare_cached(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// The runs of a project, or of all, newest first.
    pub fn runs(&self, project: Option<&Path>) -> Result<Vec<KeptRun>, StoreError> {
        let project = project.map(|path| path.to_string_lossy().into_owned());
        self.read(|c| {
            let sql = format!(
                "SELECT {COLUMNS} FROM runs WHERE ?1 IS NULL OR project = ?1 ORDER BY begun DESC, id DESC"
            );
            c.prepare_cached(&sql)?.query_map([project], from_row)?.collect()
        })
    }
}

const COLUMNS: &str = "id, project, workflow, definition, plan, settings, begun, over";

fn count(tx: &Transaction<'_>, run: &str) -> rusqlite::Result<u64> {
    let last: Option<i64> = tx
        .prepare_cached("SELECT max(seq) FROM run_facts WHERE run = ?")?
        .query_row([run], |row| row.get(0))?;
    Ok(last.map_or(0, i64::cast_unsigned))
}

fn add(tx: &Transaction<'_>, run: &str, known: u64, facts: &[Dated]) -> rusqlite::Result<u64> {
    let mut seq = known;
    for dated in facts {
        seq += 1;
        let data = serde_json::to_value(&dated.fact).logged("write JSON").unwrap_or_default();
        tx.prepare_cached("INSERT INTO run_facts (run, seq, at, fact) VALUES (?, ?, ?, ?)")?
            .execute(params![run, number(seq), dated.at.as_millisecond(), data.to_string()])?;
        if matches!(dated.fact, Fact::Completed | Fact::Aborted { .. }) {
            tx.execute(
                "UPDATE runs SET over = ? WHERE id = ?",
                params![dated.at.as_millisecond(), run],
            )?;
        }
        let session = data["session"].as_str().unwrap_or_default().to_owned();
        let data = RunFact { fact: dated.fact.clone(), run: run.into() };
        journal::append(tx, dated.at, &session, kind::RUN, &data)?;
    }
    Ok(seq)
}

fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<KeptRun> {
    let time = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or_default();
    let plan: String = row.get(4)?;
    let plan = serde_json::from_str(&plan).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, error.into())
    })?;
    Ok(KeptRun {
        id: row.get::<_, String>(0)?.into(),
        project: PathBuf::from(row.get::<_, String>(1)?),
        workflow: row.get(2)?,
        definition: row.get(3)?,
        plan,
        settings: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or(Value::Null),
        begun: time(row.get(6)?),
        over: row.get::<_, Option<i64>>(7)?.map(time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use dogwatch_core::workflow::{Item, Job};
    use serde_json::json;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn dated(second: i64, fact: Fact) -> Dated {
        Dated { at: at(second), fact }
    }

    #[test]
    fn an_outdated_writer_must_read_first() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("s")).unwrap();
        let mut store = Store::open(&dir).unwrap();
        let plan =
            Plan { items: vec![Item { id: "1.1".into(), ..Item::default() }], ..Plan::default() };
        let settings = json!({"a": 1});
        let new = NewRun {
            id: "r",
            project: Path::new("/p"),
            workflow: "bmad",
            definition: "text",
            plan: &plan,
            settings: &settings,
            begun: at(0),
        };
        assert_eq!(store.begin_run(&new).unwrap(), None);
        let other = NewRun { id: "r2", ..new.clone() };
        assert_eq!(store.begin_run(&other).unwrap().as_deref(), Some("r"), "one of a project");
        assert_eq!(store.run("r2").unwrap(), None);
        let job = Job::of_item("1.1", "dev");
        let spawned = Fact::Spawned { job: job.clone(), n: 1, session: "s-1".into() };
        let facts = [
            dated(
                1,
                Fact::Begun {
                    item: "1.1".into(),
                    base: None,
                    worktree: None,
                    before: std::collections::BTreeMap::new(),
                },
            ),
            dated(2, spawned),
        ];
        assert_eq!(store.append_facts("r", 0, &facts).unwrap(), Appended::At(2));
        assert_eq!(store.append_facts("r", 0, &facts).unwrap(), Appended::Outdated);
        let pause = dated(3, Fact::Paused { by: "me".into(), why: "lunch".into() });
        assert_eq!(store.append_fact("r", &pause).unwrap(), 3);
        assert_eq!(store.facts("r", 1).unwrap(), [facts[1].clone(), pause]);
        assert_eq!(store.run("r").unwrap().unwrap().plan, plan);
        assert_eq!(store.run("x").unwrap(), None);
        let event = &store.journal("s-1").unwrap()[0].event;
        assert_eq!((event.kind.as_str(), &event.data["fact"]), (kind::RUN, &json!("spawned")));
        store.append_fact("r", &dated(4, Fact::Completed)).unwrap();
        let runs = store.runs(Some(Path::new("/p"))).unwrap();
        assert_eq!((runs.len(), runs[0].over), (1, Some(at(4))));
        assert_eq!(store.runs(Some(Path::new("/q"))).unwrap(), []);
        assert_eq!(store.begin_run(&other).unwrap(), None, "the first is over");
    }

    #[test]
    fn of_two_simultaneous_writers_one_must_read_first() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("s")).unwrap();
        drop(Store::open(&dir).unwrap());
        let added: usize = std::thread::scope(|scope| {
            let add = || {
                let mut store = Store::open(&dir).unwrap();
                let fact = dated(1, Fact::Completed);
                usize::from(store.append_facts("r", 0, &[fact]).unwrap() == Appended::At(1))
            };
            let all: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(added, 1);
    }
}
