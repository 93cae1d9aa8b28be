//! Errors as all OpenAI protocols put them.

use serde_json::{Value, json};

use crate::scenario::{ErrorKind, Failure};

pub(super) fn code_and_message(failure: &Failure) -> (&'static str, String) {
    let (code, message) = match failure.kind {
        ErrorKind::RateLimit => ("rate_limit_exceeded", "Rate limit reached for this model."),
        ErrorKind::UsageLimit => ("usage_limit_reached", "The usage limit has been reached"),
        ErrorKind::Overloaded => ("server_is_overloaded", "The server is overloaded."),
        ErrorKind::ServerError => ("server_error", "The server had an error."),
        ErrorKind::PromptTooLong => {
            ("context_length_exceeded", "Your input exceeds the context window of this model.")
        }
        ErrorKind::NoCredit => ("insufficient_quota", "You exceeded your current quota."),
        ErrorKind::Unauthorized => ("invalid_api_key", "Incorrect API key provided."),
        ErrorKind::Forbidden => ("access_denied", "This project has no access to the model."),
    };
    (code, failure.message_or(message))
}

/// The body of an HTTP error.
pub(super) fn document(failure: &Failure, now: u64) -> Value {
    let (code, message) = code_and_message(failure);
    // Clients look for some conditions in `type` and for others in `code`.
    let kind = match failure.kind {
        ErrorKind::UsageLimit => "usage_limit_reached",
        ErrorKind::RateLimit => "rate_limit_error",
        ErrorKind::PromptTooLong | ErrorKind::Unauthorized => "invalid_request_error",
        ErrorKind::NoCredit => "insufficient_quota",
        ErrorKind::Forbidden => "permission_error",
        ErrorKind::Overloaded | ErrorKind::ServerError => "server_error",
    };
    let mut error = json!({ "message": message, "type": kind, "param": null, "code": code });
    if failure.kind == ErrorKind::UsageLimit {
        error["plan_type"] = "plus".into();
        error["resets_in_seconds"] = failure.resets_in().into();
        error["resets_at"] = (now + failure.resets_in()).into();
    }
    json!({ "error": error })
}
