//! Reconciles the registry with what is running, once or continuously.

pub mod adopt;
pub mod create;
pub mod delete;
mod entry_edits;
pub mod monitor;
pub mod observe;
pub mod push;
pub mod report;
pub mod resume;

use dogwatch_core::registry::{Drift, Observed, Outcome, Registry, reconcile};
use dogwatch_store::{RegistryFile, Store};
use jiff::Timestamp;

use self::observe::ObserveOptions;
use crate::observe::agents;
use crate::{Context, Error};

/// A registry and its options.
#[derive(Debug, Clone)]
pub struct ManagedRegistry<'c> {
    pub context: &'c Context,
    pub file: RegistryFile,
    pub manner: ObserveOptions,
}

/// The result of one comparison.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    pub checked_at: Timestamp,
    pub checked: usize,
    /// New drift.
    pub drifts: Vec<Drift>,
    /// Drift that was reported before and still exists.
    pub standing: Vec<Drift>,
    pub written: bool,
    /// A session was skipped because a person had just changed it.
    pub held: bool,
}

impl<'c> ManagedRegistry<'c> {
    pub fn new(context: &'c Context, file: RegistryFile, manner: ObserveOptions) -> Self {
        Self { context, file, manner }
    }

    pub fn read(&self) -> Result<Registry, Error> {
        Ok(self.complete(self.file.read()?))
    }

    pub fn observe(&self, store: &mut Store, registry: &Registry) -> Result<Observed, Error> {
        observe::observe(self.context, store, registry, &self.manner)
    }

    /// Compares once, and corrects what it can, unless `dry_run` is set.
    pub fn pass(&self, dry_run: bool) -> Result<Pass, Error> {
        let mut store = self.context.store()?;
        let registry = self.read()?;
        let observed = self.look(&mut store, &registry)?;
        let key = self.file.key();
        let now = Timestamp::now();
        let outcome = reconcile(&registry, &observed, &store.reported(&key)?, now);
        let (mut drifts, mut written) = (Vec::new(), false);
        if dry_run {
            drifts.clone_from(&outcome.drifts);
        } else if outcome.edits.is_empty() {
            drifts = store.record_drifts(&key, &outcome, now)?;
        } else {
            // The file may have changed meanwhile: decide again on what it says under the lock.
            let decide = |registry: &Registry| {
                let (reported, now) = (store.reported(&key)?, Timestamp::now());
                let outcome =
                    reconcile(&self.complete(registry.clone()), &observed, &reported, now);
                drifts.extend(store.record_drifts(&key, &outcome, now)?);
                Ok::<_, Error>((outcome.edits, ()))
            };
            (written, ()) = self.file.edit(decide)?;
        }
        let Outcome { standing, checked, held, .. } = outcome;
        Ok(Pass { checked_at: now, checked, drifts, standing, written, held })
    }

    /// Observes, and fails if tmux does not answer: then nothing is known about any session, and reporting zero checked sessions
    /// would look as if all were well.
    fn look(&self, store: &mut Store, registry: &Registry) -> Result<Observed, Error> {
        match observe::look(self.context, store, registry, &self.manner)? {
            (_, Some(trouble)) => Err(trouble.into()),
            (observed, None) => Ok(observed),
        }
    }

    fn complete(&self, registry: Registry) -> Registry {
        registry.with_agents_by_name(&self.manner.pattern, &agents::names(self.context))
    }
}
