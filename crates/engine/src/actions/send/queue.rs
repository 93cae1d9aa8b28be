//! What goes with a message, and the right to type into a session.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;

use dogwatch_core::delivery::When;
use dogwatch_store::Message;

use super::Terms;
use crate::{Context, Error};

pub(crate) fn terms(message: &Message) -> Terms {
    let unknown = Terms { when: When::Idle, until: None, changes: Vec::new(), guard: None };
    serde_json::from_value(message.terms.clone()).unwrap_or(unknown)
}

/// The right to type into a session; `None` while another process has it.
pub fn lock(context: &Context, session: &str) -> Result<Option<File>, Error> {
    let path = context.state.typing_lock(session)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(Error::io(format!("open {}", path.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => {
            Err(Error::io(format!("lock {}", path.display()))(error))
        }
    }
}
