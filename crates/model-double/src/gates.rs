//! Named gates at which replies wait until a test lets them go on.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tokio::sync::watch;

use crate::scenario::Gate;

/// All gates. One that was never named is closed.
#[derive(Debug)]
pub(crate) struct Gates(watch::Sender<State>);

#[derive(Debug, Default)]
struct State {
    open: BTreeSet<String>,
    waiting: BTreeMap<String, usize>,
}

/// What the control endpoint tells about the gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateReport {
    pub open: BTreeSet<String>,
    /// How many replies wait at each gate.
    pub waiting: BTreeMap<String, usize>,
}

impl Gates {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(State::default()))
    }

    /// Opens a gate; it stays open until held again.
    pub(crate) fn release(&self, name: &str) {
        self.0.send_modify(|state| {
            state.open.insert(name.to_owned());
        });
    }

    pub(crate) fn hold(&self, name: &str) {
        self.0.send_modify(|state| {
            state.open.remove(name);
        });
    }

    pub(crate) fn report(&self) -> GateReport {
        let state = self.0.borrow();
        GateReport { open: state.open.clone(), waiting: state.waiting.clone() }
    }

    /// Returns when the gate is open, or when it has been closed for too long.
    pub(crate) async fn pass(&self, gate: &Gate) {
        let _waiting = Waiting::at(self, &gate.name);
        let mut states = self.0.subscribe();
        let opened = states.wait_for(|state| state.open.contains(&gate.name));
        // Either way the reply goes on.
        let _ = tokio::time::timeout(gate.max, opened).await;
    }
}

/// A place in the queue, given up even when the client hangs up.
struct Waiting<'a> {
    gates: &'a Gates,
    name: &'a str,
}

impl<'a> Waiting<'a> {
    fn at(gates: &'a Gates, name: &'a str) -> Self {
        gates.0.send_modify(|state| {
            *state.waiting.entry(name.to_owned()).or_default() += 1;
        });
        Self { gates, name }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gates.0.send_modify(|state| {
            if let Some(count) = state.waiting.get_mut(self.name) {
                *count -= 1;
            }
            state.waiting.retain(|_, count| *count > 0);
        });
    }
}
