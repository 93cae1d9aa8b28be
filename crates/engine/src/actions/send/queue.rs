//! What goes with a message, and the right to type into a session.

use std::fs::File;
use std::io;

use dogwatch_core::delivery::When;
use dogwatch_store::{Message, lock_file};

use super::Terms;
use crate::{Context, Error};

/// The terms for those who only show them. Whoever delivers asks [`damage`] first.
pub(crate) fn terms(message: &Message) -> Terms {
    let unknown = Terms { when: When::Idle, until: None, changes: Vec::new(), guard: None };
    serde_json::from_value(message.terms.clone()).unwrap_or(unknown)
}

/// Why the terms of a message cannot be read. It is not delivered then: what it must wait for, or be guarded by, is not known.
pub(super) fn damage(message: &Message) -> Option<String> {
    let read: Result<Terms, _> = serde_json::from_value(message.terms.clone());
    read.err().map(|error| {
        format!("its stored terms are damaged, or of a newer version ({error}); send it again")
    })
}

/// The right to type into a session; `None` while another process has it.
pub fn lock(context: &Context, session: &str) -> Result<Option<File>, Error> {
    let path = context.state.typing_lock(session)?;
    match lock_file::try_lock(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(Error::io(format!("lock {}", path.display()))(error)),
    }
}
