use dogwatch_core::answer::BadChoice;
use dogwatch_core::delivery::safe_text::BadText;

use super::kind::{BAD_ARGUMENT, codes};

/// Why a message cannot be delivered, or a dialog answered.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("no message {id:?}")]
    NoSuchMessage { id: String },
    #[error("message {id} is already being delivered or finished")]
    TooLate { id: String },
    #[error("cancelled before the message was sent")]
    Cancelled,
    #[error("--notify-me works only inside a session of dogwatch: there is no session to notify")]
    NoOwnSession,
    #[error(
        "the supervisor does not get to {name}; nothing was pressed (`dogwatch supervisor` shows it)"
    )]
    Busy { name: String },
    #[error(
        "the supervisor was killed while it answered {name}, and the dialog has closed since; `dogwatch capture {name}` shows the screen"
    )]
    AnswerCutShort { name: String },
    #[error(
        "set aside: supervisors died while they were at it, so it is not tried again (`dogwatch doctor` shows it)"
    )]
    SetAside,
    #[error("a key must be a UUID")]
    BadKey,
    #[error("the request cannot be read, or is of a newer version")]
    DamagedRequest,
    #[error("{name} has no open dialog; its state is {state}")]
    NoDialog { name: String, state: &'static str },
    #[error("{name} has another dialog open than the one given by --dialog{}", if question.is_empty() { String::new() } else { format!(": {question}") })]
    OtherDialog { name: String, question: String },
    #[error(
        "a budget holds {name}: {used} of {limit} used; `dogwatch budget lift {name}` lets prompts through"
    )]
    Held { name: String, used: String, limit: String },
    #[error(transparent)]
    BadText(#[from] BadText),
    #[error("{name} runs a plain command, which cannot receive messages")]
    PlainCommand { name: String },
    #[error(transparent)]
    BadChoice(#[from] BadChoice),
    #[error(
        "{name} does not show which option is selected; enlarge its pane or use `dogwatch attach`"
    )]
    SelectionHidden { name: String },
    #[error("the selection did not reach the option; nothing was chosen")]
    SelectionStuck,
}

codes! { MessageError:
    Self::NoSuchMessage { .. } => NotFound "no_such_message";
    Self::NoOwnSession => Usage "no_own_session";
    Self::TooLate { .. } => Conflict "too_late";
    Self::Cancelled => Conflict "cancelled";
    Self::Busy { .. } => Conflict "busy";
    Self::NoDialog { .. } => Conflict "no_dialog";
    Self::OtherDialog { .. } => Conflict "other_dialog";
    Self::Held { .. } => Conflict "budget_used_up";
    Self::BadText(_) | Self::PlainCommand { .. } | Self::BadChoice(_) | Self::BadKey => Usage BAD_ARGUMENT;
    Self::SetAside => Failed "set_aside";
    Self::SelectionHidden { .. }
        | Self::SelectionStuck
        | Self::AnswerCutShort { .. }
        | Self::DamagedRequest => Failed "not_answered";
}
