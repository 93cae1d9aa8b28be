use super::kind::codes;

/// Why a question to a person (an escalation) cannot be found or answered.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    #[error("no escalation {target:?}")]
    NoSuchEscalation { target: String },
    #[error("escalation {number} has no option {option:?}; its options: {options}")]
    NoSuchOption { number: i64, option: String, options: String },
    #[error("escalation {number} was settled at {at:.0}: {how}")]
    Settled { number: i64, at: jiff::Timestamp, how: String },
    #[error("the key was used before, for another question (escalation {number})")]
    KeyReused { number: i64 },
}

codes! { QuestionError:
    Self::NoSuchEscalation { .. } => NotFound "no_such_escalation";
    Self::NoSuchOption { .. } => Usage "no_such_option";
    Self::Settled { .. } => Conflict "settled";
    Self::KeyReused { .. } => Conflict "key_reused";
}

impl QuestionError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoSuchEscalation { .. } => {
                "`dogwatch escalations ls --all` lists all escalations".into()
            }
            Self::NoSuchOption { number, .. } => {
                format!("`dogwatch escalations show {number}` shows the options")
            }
            Self::KeyReused { .. } => "use a new key for a new question".into(),
            Self::Settled { .. } => return None,
        })
    }
}
