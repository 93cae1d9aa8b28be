//! What `status` shows of sessions beside their verdicts: what they are about, and what they have used.

use std::collections::HashMap;

use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::About;
use dogwatch_protocol::usage::Used;
use dogwatch_store::Session;
use jiff::Timestamp;

use crate::Context;
use crate::observe::status::StatusReader;
use crate::observe::{about, usage};

#[derive(Debug, Default)]
pub struct Details {
    pub abouts: HashMap<SessionId, About>,
    pub usages: HashMap<SessionId, Used>,
}

impl Details {
    /// Adds what is missing of these sessions.
    pub(crate) fn complete(
        &mut self,
        context: &Context,
        reader: &mut StatusReader<'_>,
        sessions: &[&Session],
        now: Timestamp,
    ) {
        let is_missing = |session: &&&Session| !self.abouts.contains_key(&session.id);
        let missing: Vec<&Session> = sessions.iter().filter(is_missing).copied().collect();
        if missing.is_empty() {
            return;
        }
        self.abouts.extend(about::of_sessions(context, reader, &missing, now));
        self.usages.extend(usage::of_sessions(context, reader, &missing));
    }
}
