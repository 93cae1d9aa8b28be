//! Sessions: start, list, look, wait, end.

use super::Verb;

pub(crate) const VERBS: &[Verb] = &[];
