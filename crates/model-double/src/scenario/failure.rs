//! The ways in which a request can go wrong on purpose.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub kind: ErrorKind,
    /// Replaces the message the kind has by itself.
    pub message: Option<String>,
    /// The `retry-after` header.
    pub retry_after_s: Option<u64>,
    /// For a usage limit: when it ends.
    pub resets_in_s: Option<u64>,
    /// Only so many requests of a step fail, then the step goes on without the failure.
    pub attempts: Option<u32>,
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, message: None, retry_after_s: None, resets_in_s: None, attempts: None }
    }
}

/// What went wrong, in words that each protocol puts in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    RateLimit,
    UsageLimit,
    Overloaded,
    ServerError,
    PromptTooLong,
    NoCredit,
    Unauthorized,
    Forbidden,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// As for errors.
    pub attempts: Option<u32>,
}

impl Failure {
    pub fn retry_after_header(&self) -> Vec<(&'static str, String)> {
        self.retry_after_s.map(|seconds| ("retry-after", seconds.to_string())).into_iter().collect()
    }

    /// The given message, or one that clients are known to recognise.
    pub fn message_or(&self, known: &str) -> String {
        self.message.clone().unwrap_or_else(|| known.to_owned())
    }

    /// Seconds till a usage limit ends.
    pub fn resets_in(&self) -> u64 {
        self.resets_in_s.unwrap_or(3600)
    }
}

impl ErrorKind {
    /// The status that all protocols but Anthropic's use.
    pub fn common_status(self) -> u16 {
        match self {
            Self::RateLimit | Self::UsageLimit => 429,
            Self::Overloaded => 503,
            Self::ServerError => 500,
            Self::PromptTooLong | Self::NoCredit => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
        }
    }
}
