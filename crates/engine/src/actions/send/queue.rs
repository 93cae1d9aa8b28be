//! What goes with a message.

use dogwatch_core::delivery::When;
use dogwatch_store::Message;

use super::Terms;

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
