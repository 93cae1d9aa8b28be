//! Exit codes of the binary. They are an interface: scripts and agents branch on them.

/// Success.
pub const OK: u8 = 0;
/// The answer is no (`exists`), or something failed that no other code names.
pub const FAILED: u8 = 1;
/// The command line or the configuration is wrong.
pub const USAGE: u8 = 2;
/// There is no such session.
pub const NOT_FOUND: u8 = 3;
/// The name exists, or the current state forbids it.
pub const CONFLICT: u8 = 4;
/// tmux is missing, too old, or does not answer.
pub const TMUX: u8 = 5;
/// The state directory or the store cannot be used: corrupt, newer, full, not ours.
pub const STORE: u8 = 6;
/// The agent is unknown, not installed, or could not be started.
pub const AGENT: u8 = 7;
/// A deadline passed.
pub const TIMEOUT: u8 = 124;
