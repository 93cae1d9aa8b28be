use dogwatch_protocol::error::ErrorDetail;

use super::kind::INTERNAL;
use super::{Error, ErrorKind};

/// The failure of another process, in its words.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Told {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl Told {
    pub(super) fn kind_and_code(&self) -> (ErrorKind, &'static str) {
        (self.kind, self.code)
    }

    pub(super) fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl From<ErrorDetail> for Error {
    fn from(detail: ErrorDetail) -> Self {
        let known = Self::CODES.iter().copied().flatten().find(|(_, code)| *code == detail.code);
        // A code of another version: the message says what it is.
        let (kind, code) = known.copied().unwrap_or((ErrorKind::Failed, INTERNAL));
        Self::Told(Told { kind, code, message: detail.message, hint: detail.hint })
    }
}

impl From<&Error> for ErrorDetail {
    fn from(error: &Error) -> Self {
        Self { code: error.code().to_owned(), message: error.to_string(), hint: error.hint() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::MessageError;

    #[test]
    fn an_error_is_the_same_in_another_process() {
        let error: Error = MessageError::NoDialog { name: "a".to_owned(), state: "idle" }.into();
        let told: Error = ErrorDetail::from(&error).into();
        assert_eq!((told.kind(), told.code()), (error.kind(), error.code()));
        assert_eq!(told.to_string(), error.to_string());
        let newer = ErrorDetail { code: "unheard_of".into(), message: "no".into(), hint: None };
        assert_eq!(Error::from(newer).code(), INTERNAL);
    }
}
