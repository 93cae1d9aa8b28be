//! The registry at work: held against what is there, once or all the time.

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

/// A registry, and how it is looked after.
#[derive(Debug, Clone)]
pub struct ManagedRegistry<'c> {
    pub context: &'c Context,
    pub file: RegistryFile,
    pub manner: ObserveOptions,
}

/// What came of one comparison.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    pub checked_at: Timestamp,
    pub checked: usize,
    /// What is news.
    pub drifts: Vec<Drift>,
    /// What was told before and is still so.
    pub standing: Vec<Drift>,
    pub written: bool,
    /// Something was left alone because a person had just been at it.
    pub held: bool,
}

impl<'c> ManagedRegistry<'c> {
    pub fn new(context: &'c Context, file: RegistryFile, manner: ObserveOptions) -> Self {
        Self { context, file, manner }
    }

    /// What the file says.
    pub fn read(&self) -> Result<Registry, Error> {
        Ok(self.complete(self.file.read()?))
    }

    pub fn observe(&self, store: &mut Store, registry: &Registry) -> Result<Observed, Error> {
        observe::observe(self.context, store, registry, &self.manner)
    }

    /// Compares once, and puts right what can be, unless it shall only be said.
    pub fn pass(&self, dry_run: bool) -> Result<Pass, Error> {
        let mut store = self.context.store()?;
        let registry = self.read()?;
        let observed = self.look(&mut store, &registry)?;
        let key = self.file.key();
        let now = Timestamp::now();
        let outcome = reconcile(&registry, &observed, &store.told(&key)?, now);
        let (mut drifts, mut written) = (Vec::new(), false);
        if dry_run {
            drifts.clone_from(&outcome.drifts);
        } else if outcome.edits.is_empty() {
            drifts = store.tell_drifts(&key, &outcome, now)?;
        } else {
            // Somebody may have changed it while we looked: it is decided anew on what it says under the lock.
            let decide = |registry: &Registry| {
                let (told, now) = (store.told(&key)?, Timestamp::now());
                let outcome = reconcile(&self.complete(registry.clone()), &observed, &told, now);
                drifts.extend(store.tell_drifts(&key, &outcome, now)?);
                Ok::<_, Error>((outcome.edits, ()))
            };
            (written, ()) = self.file.edit(decide)?;
        }
        let Outcome { standing, checked, held, .. } = outcome;
        Ok(Pass { checked_at: now, checked, drifts, standing, written, held })
    }

    /// A look that saw something: while tmux does not answer nothing is known of anybody, and to have checked none would say
    /// that all is well.
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
