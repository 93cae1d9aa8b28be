//! Environment variables that hold dogwatch's own secrets. They are withheld from agents, hooks, tmux and all other programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The broker's password.
pub const MQTT_PASSWORD: &str = "DOGWATCH_MQTT_PASSWORD";

/// Whether the variable is one of dogwatch's secrets: `DOGWATCH_MQTT_PASSWORD`, `DOGWATCH_WEBHOOK_TOKEN`.
pub fn is_private(name: &OsStr) -> bool {
    const ENDS: [&[u8]; 4] = [b"_PASSWORD", b"_TOKEN", b"_SECRET", b"_KEY"];
    let name = name.as_bytes();
    name.starts_with(b"DOGWATCH_") && ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_name() {
        for name in [MQTT_PASSWORD, "DOGWATCH_WEBHOOK_TOKEN", "DOGWATCH_X_SECRET", "DOGWATCH_A_KEY"]
        {
            assert!(is_private(OsStr::new(name)), "{name}");
        }
        for name in
            ["DOGWATCH_SESSION", "DOGWATCH_BIN", "GITHUB_TOKEN", "DOGWATCH_TOKENS", "PATH", ""]
        {
            assert!(!is_private(OsStr::new(name)), "{name}");
        }
    }
}
