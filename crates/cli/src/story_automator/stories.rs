//! Stories: their keys, files and states; epics, complexity, agents, commits.

use super::Verb;

pub(crate) const VERBS: &[Verb] = &[];
