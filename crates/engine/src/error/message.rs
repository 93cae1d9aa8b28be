use super::kind::codes;

/// Why a message cannot be delivered, or a dialog answered.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("no message {id:?}")]
    NoSuchMessage { id: String },
    #[error("message {id} is already being delivered or finished")]
    TooLate { id: String },
    #[error("another process is typing into {name}")]
    Busy { name: String },
    #[error("{name} has no open dialog; its state is {state}")]
    NoDialog { name: String, state: &'static str },
    #[error("{name} has another dialog open than the one given by --dialog{}", if question.is_empty() { String::new() } else { format!(": {question}") })]
    OtherDialog { name: String, question: String },
}

codes! { MessageError:
    Self::NoSuchMessage { .. } => NotFound "no_such_message";
    Self::TooLate { .. } => Conflict "too_late";
    Self::Busy { .. } => Conflict "busy";
    Self::NoDialog { .. } => Conflict "no_dialog";
    Self::OtherDialog { .. } => Conflict "other_dialog";
}
