//! The statusline that we put into Claude Code, for the proof of life that it gives.
//!
//! Ours would hide the user's own, so it runs that one and prints what it prints.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use jiff::Zoned;
use serde_json::Value;

use crate::observe::{files, processes};

/// How long the user's command may take. Claude Code asks again every second.
const PATIENCE: Duration = Duration::from_secs(3);
/// More than any file of settings has.
const MAX_SETTINGS: u64 = 4 * 1024 * 1024;

/// What to show: the user's own statusline if there is one, else the time, model and context used.
pub fn line(user_config: Option<&Path>, payload: &str, now: &Zoned) -> Vec<u8> {
    let facts: Value = serde_json::from_str(payload).logged("read JSON").unwrap_or_default();
    own_command(user_config, &facts)
        .and_then(|command| run(&command, payload))
        .unwrap_or_else(|| plain(&facts, now).into_bytes())
}

/// The user's own command, by Claude Code's order of settings: the project's local ones, the project's, the
/// user's.
fn own_command(user_config: Option<&Path>, facts: &Value) -> Option<String> {
    let project =
        facts["workspace"]["project_dir"].as_str().map(|dir| Path::new(dir).join(".claude"));
    let files: [Option<PathBuf>; 3] = [
        project.as_ref().map(|dir| dir.join("settings.local.json")),
        project.as_ref().map(|dir| dir.join("settings.json")),
        user_config.map(|dir| dir.join("settings.json")),
    ];
    files.into_iter().flatten().find_map(|file| {
        let settings: Value = serde_json::from_slice(&files::read_regular(&file, MAX_SETTINGS)?)
            .logged("read JSON")?;
        Some(settings["statusLine"]["command"].as_str()?.to_owned())
    })
}

fn run(command: &str, payload: &str) -> Option<Vec<u8>> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    processes::output_within(shell, payload.as_bytes(), PATIENCE)
}

fn plain(facts: &Value, now: &Zoned) -> String {
    let mut line = now.strftime("%H:%M:%S").to_string();
    if let Some(model) = facts["model"]["display_name"].as_str() {
        line = format!("{line}  {model}");
    }
    if let Some(used) = facts["context_window"]["used_percentage"].as_f64() {
        line = format!("{line}  context {used:.0} %");
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_or_the_users() {
        let now: Zoned = "2026-11-15T08:13:18[UTC]".parse().unwrap();
        let show = |config: Option<&Path>, payload: &str| {
            String::from_utf8(line(config, payload, &now)).unwrap()
        };
        assert_eq!(show(None, "not json"), "08:13:18\n");
        let facts =
            r#"{"model":{"display_name":"Opus"},"context_window":{"used_percentage":12.4}}"#;
        assert_eq!(show(None, facts), "08:13:18  Opus  context 12 %\n");
        let home = tempfile::tempdir().unwrap();
        let settings = r#"{"statusLine":{"type":"command","command":"printf 'mine '; cat"}}"#;
        std::fs::write(home.path().join("settings.json"), settings).unwrap();
        assert_eq!(show(Some(home.path()), "{}"), "mine {}");
    }
}
