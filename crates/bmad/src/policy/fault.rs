//! Errors in a policy, with the messages that callers print.

/// Not the agent's fault: a person has to correct the policy, or a file that it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFault {
    #[error("unknown top-level policy keys: {}", .0.join(", "))]
    UnknownKeys(Vec<String>),
    #[error("unknown step names: {}", .0.join(", "))]
    UnknownSteps(Vec<String>),
    #[error("unknown step: {0}")]
    UnknownStep(String),
    #[error("{0} must be an object")]
    NotAnObject(String),
    #[error("step contract must be an object: {0}")]
    StepNotAnObject(String),
    #[error("{0} must be an integer")]
    NotAnInteger(String),
    #[error("workflow.sequence must be a string array")]
    Sequence,
    #[error("workflow.sequence references missing step: {0}")]
    SequenceStep(String),
    #[error("invalid verifier for {step}: {verifier}")]
    Verifier { step: String, verifier: String },
    #[error("invalid required assets for {0}")]
    Required(String),
    #[error("runtime.parser.provider must be one of: claude")]
    ParserProvider,
    #[error("runtime.parser.model must be a string")]
    ParserModel,
    #[error("runtime.parser.timeoutSeconds must be a positive integer")]
    ParserTimeout,

    #[error("policy json invalid: {0}")]
    Json(String),
    #[error("policy json must be an object: {0}")]
    JsonNotAnObject(String),
    #[error("policy data file missing: {0}")]
    DataFileMissing(String),
    #[error("policy data path escapes allowed roots: {0}")]
    DataFileOutside(String),
    #[error("missing skillName for {0}")]
    NoSkillName(String),
    #[error("invalid skill name: {0}")]
    SkillName(String),
    #[error("missing required {kind} asset for {step}: {}", .looked_for.join(", "))]
    AssetMissing { kind: String, step: String, looked_for: Vec<String> },
    #[error("missing prompt template for {0}")]
    NoTemplate(String),
    #[error("missing parse schema for {0}")]
    NoSchema(String),
    #[error("policy {what} hash mismatch: {path}")]
    DataFileChanged { what: String, path: String },

    #[error("state file unreadable: {0}")]
    StateFile(String),
    #[error("{by} state file missing: {path}")]
    StateFileGone { by: &'static str, path: String },
    #[error("{what} escapes allowed root: {path}")]
    Outside { what: String, path: String },
    #[error("active-run marker missing stateFile")]
    MarkerWithoutState,
    #[error("active-run marker invalid: {0}")]
    MarkerInvalid(String),
    #[error("state policy metadata incomplete")]
    MetadataIncomplete,
    #[error("state policy metadata contradictory")]
    MetadataContradictory,
    #[error("state policy snapshot missing")]
    NoSnapshot,
    #[error("policy snapshot missing: {0}")]
    SnapshotGone(String),
    #[error("policy snapshot hash mismatch: expected {expected}, got {got}")]
    SnapshotChanged { expected: String, got: String },

    #[error("review contract {key} {fault}")]
    Review { key: &'static str, fault: String },
    #[error("review contract must be an object: {0}")]
    ReviewNotAnObject(String),
    #[error("review contract json invalid: {0}")]
    ReviewJson(String),
    #[error("success.config.{0}")]
    Success(String),
    #[error("cannot read {path}: {why}")]
    Read { path: String, why: String },
    #[error("cannot write {path}: {why}")]
    Write { path: String, why: String },
}
