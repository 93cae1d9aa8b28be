//! Runs: policy, state document, marker, stop hook, verifiers, escalation.

use super::Verb;

pub(crate) const VERBS: &[Verb] = &[];
