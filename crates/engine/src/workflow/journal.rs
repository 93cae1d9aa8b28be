//! The journal of a run. The driver holds it; others may append too, such as a person who pauses the run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dogwatch_core::workflow::{self, Dated, Fact, Run};
use dogwatch_store::{Appended, KeptRun, Store};
use jiff::Timestamp;

use crate::{Context, Error};

#[derive(Debug)]
pub(super) struct Journal {
    pub(super) id: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    known: u64,
    facts: Vec<Dated>,
    run: Run,
}

impl Journal {
    /// Reads all facts so far.
    pub(super) fn open(context: &Context, kept: &KeptRun) -> Result<Self, Error> {
        let run = replay(kept, &[])?;
        let inner = Inner { store: context.store()?, known: 0, facts: vec![], run };
        let journal = Self { id: kept.id.to_string(), inner: Mutex::new(inner) };
        journal.refresh()?;
        Ok(journal)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads facts that others appended.
    pub(super) fn refresh(&self) -> Result<(), Error> {
        self.inner().refresh(&self.id)
    }

    pub(super) fn run(&self) -> Run {
        self.inner().run.clone()
    }

    /// The facts after the first `known`.
    pub(super) fn facts_after(&self, known: usize) -> Vec<Dated> {
        self.inner().facts.get(known..).unwrap_or_default().to_vec()
    }

    /// Appends a fact. A fact that is not recorded did not happen, as far as the next driver is concerned.
    pub(super) fn append(&self, fact: Fact) -> Result<(), Error> {
        let mut inner = self.inner();
        rehearsed_death::before();
        // The database stores milliseconds; decide by the same time that a replay will read.
        let now = Timestamp::from_millisecond(Timestamp::now().as_millisecond());
        let dated = Dated { at: now.unwrap_or_default(), fact };
        loop {
            let known = inner.known;
            match inner.store.append_facts(&self.id, known, std::slice::from_ref(&dated))? {
                Appended::At(count) => {
                    inner.known = count;
                    inner.run.take(&dated);
                    inner.facts.push(dated);
                    rehearsed_death::after();
                    return Ok(());
                }
                Appended::Outdated => inner.refresh(&self.id)?,
            }
        }
    }
}

impl Inner {
    fn refresh(&mut self, id: &str) -> Result<(), Error> {
        self.store.check_files()?;
        for dated in self.store.facts(id, self.known)? {
            self.known += 1;
            self.run.take(&dated);
            self.facts.push(dated);
        }
        Ok(())
    }
}

/// The state of a run, computed from its journal.
pub fn replay(kept: &KeptRun, facts: &[Dated]) -> Result<Run, Error> {
    let workflow = workflow::read(&kept.workflow, &kept.definition)?;
    Ok(Run::replay(workflow, kept.plan.clone(), facts))
}

/// Lets tests kill the driver at each write: `DOGWATCH_TEST_DIE_AT=7` right after the seventh, `7-` right before it.
mod rehearsed_death {
    #[cfg(debug_assertions)]
    use std::sync::atomic::{AtomicU32, Ordering};

    #[cfg(debug_assertions)]
    static WRITES: AtomicU32 = AtomicU32::new(0);

    #[cfg(debug_assertions)]
    fn die_at(text: &str) {
        if std::env::var("DOGWATCH_TEST_DIE_AT").is_ok_and(|at| at == text) {
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
    }

    pub(super) fn before() {
        #[cfg(debug_assertions)]
        die_at(&format!("{}-", WRITES.load(Ordering::Relaxed) + 1));
    }

    pub(super) fn after() {
        #[cfg(debug_assertions)]
        die_at(&(WRITES.fetch_add(1, Ordering::Relaxed) + 1).to_string());
    }
}
