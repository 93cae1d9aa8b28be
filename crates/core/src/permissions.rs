//! How much an agent may do without asking, and whether it would ask about the folder itself before it begins.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::profile::LaunchRules;

pub use dogwatch_protocol::run::Permissions;

/// Arguments for the agent, apart from those of `--unattended`; none if it does not have this level.
pub fn args(level: Permissions, launch: &LaunchRules) -> Option<Vec<String>> {
    match level {
        Permissions::Ask => launch.ask.clone(),
        Permissions::AcceptEdits => launch.accept_edits.clone(),
        Permissions::Bypass => Some(vec![]),
    }
}

/// Where an agent keeps which folders it is trusted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustWay {
    /// `.claude.json`, by folder; and in `settings.json` that the warning about bypassed permissions was accepted.
    Claude,
    /// `config.toml`, by folder.
    Codex,
}

/// Whether an agent trusts a folder, by its own files. A folder below one that it trusts is trusted; seen with claude 2.1.325
/// and codex 0.166.0, also with bypassed permissions. `None` if the text is none that is known.
pub fn is_trusted(way: TrustWay, text: &str, folder: &Path) -> Option<bool> {
    let trusted: Vec<String> = match way {
        TrustWay::Claude => {
            let state: Value = serde_json::from_str(text).ok()?;
            let projects = state.get("projects").and_then(Value::as_object).cloned();
            let accepted = |of: &Value| of["hasTrustDialogAccepted"] == true;
            let all = projects.unwrap_or_default();
            all.into_iter().filter(|(_, of)| accepted(of)).map(|(path, _)| path).collect()
        }
        TrustWay::Codex => {
            let config: toml::Table = text.parse().ok()?;
            let projects = config.get("projects").and_then(toml::Value::as_table).cloned();
            // One that was refused is asked about no more either.
            let known = |of: &toml::Value| of.get("trust_level").is_some();
            let all = projects.unwrap_or_default();
            all.into_iter().filter(|(_, of)| known(of)).map(|(path, _)| path).collect()
        }
    };
    Some(folder.ancestors().any(|dir| trusted.iter().any(|path| Path::new(path) == dir)))
}

/// Whether claude's warning about bypassed permissions was accepted, by its state and its settings.
pub fn bypass_is_accepted(state: &str, settings: &[String]) -> bool {
    let is = |text: &str, key: &str| {
        serde_json::from_str::<Value>(text).is_ok_and(|value| value[key] == true)
    };
    is(state, "bypassPermissionsModeAccepted")
        || settings.iter().any(|text| is(text, "skipDangerousModePermissionPrompt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_are_written() {
        for level in Permissions::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
        assert_eq!(Permissions::default(), Permissions::Bypass, "as runs of older versions");
    }

    #[test]
    fn every_level_of_the_built_in_agents() {
        let level = |name: &str, level: Permissions| {
            args(level, &crate::profile::builtin(name).unwrap().launch)
        };
        let some = |words: &[&str]| Some(words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(level("claude", Permissions::Ask), some(&["--permission-mode", "default"]));
        assert_eq!(
            level("claude", Permissions::AcceptEdits),
            some(&["--permission-mode", "acceptEdits"])
        );
        assert_eq!(level("claude", Permissions::Bypass), some(&[]));
        assert!(level("codex", Permissions::Ask).unwrap().contains(&"read-only".to_owned()));
        assert_eq!(level("opencode", Permissions::Ask), None);
        assert_eq!(level("agy", Permissions::AcceptEdits), None);
    }

    #[test]
    fn folders_that_are_trusted() {
        let claude = r#"{"projects":{"/a/b":{"hasTrustDialogAccepted":true},"/c":{"hasTrustDialogAccepted":false}}}"#;
        let codex = "[projects.\"/a/b\"]\ntrust_level = \"trusted\"\n[projects.\"/c\"]\n";
        for (folder, want) in
            [("/a/b", true), ("/a/b/sub", true), ("/a", false), ("/a/bc", false), ("/c", false)]
        {
            let folder = Path::new(folder);
            assert_eq!(is_trusted(TrustWay::Claude, claude, folder), Some(want), "{folder:?}");
            assert_eq!(is_trusted(TrustWay::Codex, codex, folder), Some(want), "{folder:?}");
        }
        assert_eq!(is_trusted(TrustWay::Claude, "{}", Path::new("/a")), Some(false));
        assert_eq!(is_trusted(TrustWay::Codex, "", Path::new("/a")), Some(false));
        assert_eq!(is_trusted(TrustWay::Claude, "{", Path::new("/a")), None);
        assert_eq!(is_trusted(TrustWay::Codex, "= 1", Path::new("/a")), None);
    }

    #[test]
    fn the_warning_about_bypassed_permissions() {
        let yes = r#"{"skipDangerousModePermissionPrompt":true}"#.to_owned();
        assert!(bypass_is_accepted("{}", std::slice::from_ref(&yes)));
        assert!(bypass_is_accepted(r#"{"bypassPermissionsModeAccepted":true}"#, &[]));
        assert!(!bypass_is_accepted("{}", &["{}".into(), "[".into()]));
    }
}
