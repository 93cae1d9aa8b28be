use std::time::Duration;

use dogwatch_core::notice::Notice;

use super::Sink;
use crate::notify::process;

/// A program of the user's, with the notification as JSON on stdin.
pub(super) struct Command {
    pub(super) words: Vec<String>,
}

impl Sink for Command {
    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let mut json = serde_json::to_vec(notice).map_err(|error| error.to_string())?;
        // A newline, for programs that append it to a file.
        json.push(b'\n');
        let occasion = [("DOGWATCH_OCCASION", notice.occasion.as_str())];
        run(&self.words, &occasion, &json, limit)
    }
}

/// Runs a program that must succeed; else returns the end of its output.
pub(super) fn run(
    words: &[String],
    env: &[(&str, &str)],
    input: &[u8],
    limit: Duration,
) -> Result<(), String> {
    let ran = process::run(words, env, input, limit)?;
    if ran.status.success() {
        return Ok(());
    }
    let last = ran.stderr.trim().lines().next_back().unwrap_or_default();
    let gap = if last.is_empty() { "" } else { ": " };
    Err(format!("{}{gap}{last}", ran.status))
}
