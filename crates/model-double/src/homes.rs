//! Clean homes for real agents: the files that lead each straight to its prompt, without
//! dialogs, and the environment that sends it to the double and nowhere else.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents;

/// The whole environment of an agent: nothing is meant to be inherited.
pub type Environment = BTreeMap<String, String>;

/// Where an agent is to live and work.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Becomes `HOME`; created if need be.
    pub home: &'a Path,
    /// The folder the agent is trusted in.
    pub project: &'a Path,
    /// The base address of the double.
    pub url: &'a str,
}

/// An agent whose home can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

/// Any non-empty key will do for the double.
const KEY: &str = "double-needs-no-key";

impl Agent {
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// Writes the agent's files, replacing what is there, and says which environment to use.
    pub fn write_home(self, place: Place) -> io::Result<Environment> {
        let tmp = place.home.join("tmp");
        fs::create_dir_all(&tmp)?;
        let project = fs::canonicalize(place.project)?;
        let mut env = self.common_env(place.home, &tmp);
        let own = match self {
            Self::Claude => claude(place, &project)?,
            Self::Codex => codex(place, &project)?,
            Self::Gemini => gemini(place)?,
            Self::Opencode => opencode(place)?,
        };
        env.extend(own.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Ok(env)
    }

    fn common_env(self, home: &Path, tmp: &Path) -> Environment {
        [
            ("HOME", home.display().to_string()),
            ("PATH", self.search_path()),
            ("TMPDIR", tmp.display().to_string()),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }

    /// The agent's folder, node's (most launchers need it), and the system's.
    fn search_path(self) -> String {
        let agent = agents::pinned(self.name()).and_then(|agent| agent.installed());
        let folder = |program: PathBuf| program.parent().map(|dir| dir.display().to_string());
        [agent, find_program("node")]
            .into_iter()
            .flatten()
            .filter_map(folder)
            .chain(["/usr/local/bin:/usr/bin:/bin".to_owned()])
            .collect::<Vec<_>>()
            .join(":")
    }
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

type OwnEnv = Vec<(&'static str, String)>;

/// Each key of the two files takes one dialog away.
fn claude(place: Place, project: &Path) -> io::Result<OwnEnv> {
    let approved = &KEY[KEY.len().saturating_sub(20)..];
    let project = project.display().to_string();
    let state = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        // Older versions look here, newer ones into the settings.
        "bypassPermissionsModeAccepted": true,
        "hasSeenAutoDefaultNotice": true,
        "hasSeenAutoDefaultNudge": true,
        "customApiKeyResponses": { "approved": [approved], "rejected": [] },
        // 2.0.1 ends without the list.
        "projects": { project: { "hasTrustDialogAccepted": true, "allowedTools": [] } },
    });
    write_json(&place.home.join(".claude.json"), &state)?;
    let settings = json!({
        "skipDangerousModePermissionPrompt": true,
        // The mode Claude takes by itself has the hosted model judge each action.
        "permissions": { "defaultMode": "default" },
    });
    write_json(&place.home.join(".claude/settings.json"), &settings)?;
    let on = || "1".to_owned();
    Ok(vec![
        ("ANTHROPIC_BASE_URL", place.url.to_owned()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        // Lets root skip permissions.
        ("IS_SANDBOX", on()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", on()),
        ("DISABLE_AUTOUPDATER", on()),
        // All tools are offered at once, so that the double finds them.
        ("ENABLE_TOOL_SEARCH", "false".to_owned()),
        ("CLAUDE_CODE_ENABLE_TODO_TOOLS", on()),
    ])
}

fn codex(place: Place, project: &Path) -> io::Result<OwnEnv> {
    let quoted = |text: &str| Value::from(text).to_string();
    let config = format!(
        r#"# Newer models get their tools as JavaScript, which the double does not speak.
model = "gpt-5.5"
model_provider = "double"
check_for_update_on_startup = false

[features]
# Else work goes on in a daemon when the agent has ended.
daemon_auto_start = false
# Else questions to the person are only for plan mode.
default_mode_request_user_input = true

[analytics]
enabled = false

[model_providers.double]
name = "double"
base_url = {base_url}
wire_api = "responses"
env_key = "MODEL_DOUBLE_KEY"

[projects.{project}]
trust_level = "trusted"

[tools.update_plan]
enabled = true

# Else a dialog offers a newer model.
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"#,
        base_url = quoted(&format!("{}/v1", place.url)),
        project = quoted(&project.display().to_string()),
    );
    write_file(&place.home.join(".codex/config.toml"), &config)?;
    Ok(vec![("MODEL_DOUBLE_KEY", KEY.to_owned())])
}

fn gemini(place: Place) -> io::Result<OwnEnv> {
    let settings = json!({
        "security": {
            "auth": { "selectedType": "gemini-api-key" },
            "folderTrust": { "enabled": false },
        },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
    });
    write_json(&place.home.join(".gemini/settings.json"), &settings)?;
    Ok(vec![("GEMINI_API_KEY", KEY.to_owned()), ("GOOGLE_GEMINI_BASE_URL", place.url.to_owned())])
}

/// Without a provider of its own opencode would take a hosted model.
fn opencode(place: Place) -> io::Result<OwnEnv> {
    let model = json!({
        "name": "Double", "limit": { "context": 200_000, "output": 8000 }, "tool_call": true,
    });
    let base_url = format!("{}/v1", place.url);
    let config = json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "double/double",
        "small_model": "double/double",
        "permission": { "bash": "allow", "edit": "allow", "external_directory": "allow" },
        "provider": { "double": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Double",
            "options": { "baseURL": base_url, "apiKey": KEY },
            "models": { "double": model },
        } },
    });
    write_json(&place.home.join(".config/opencode/opencode.json"), &config)?;
    Ok(vec![
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
    ])
}

fn write_json(path: &Path, value: &Value) -> io::Result<()> {
    write_file(path, &format!("{value:#}\n"))
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_home_points_at_the_double_and_trusts_the_project() {
        for agent in Agent::ALL {
            let dir = tempfile::tempdir().expect("temp dir");
            let project = dir.path().join("pro\"ject");
            fs::create_dir(&project).expect("project");
            let home = dir.path().join("home");
            let place = Place { home: &home, project: &project, url: "http://127.0.0.1:9" };
            let env = agent.write_home(place).expect("written");
            assert_eq!(env["HOME"], home.display().to_string());

            let mut all = format!("{env:?}");
            for file in [".claude.json", ".codex/config.toml", ".config/opencode/opencode.json"] {
                all += &fs::read_to_string(home.join(file)).unwrap_or_default();
            }
            assert!(all.contains("http://127.0.0.1:9"), "{agent:?}: {all}");
            if matches!(agent, Agent::Claude | Agent::Codex) {
                assert!(all.contains(r#"pro\"ject"#), "{agent:?}: {all}");
            }
        }
    }

    #[test]
    fn the_codex_config_is_toml() {
        let dir = tempfile::tempdir().expect("temp dir");
        let place = Place { home: dir.path(), project: dir.path(), url: "http://127.0.0.1:9" };
        Agent::Codex.write_home(place).expect("written");
        let text = fs::read_to_string(dir.path().join(".codex/config.toml")).expect("config");
        let config: toml::Table = text.parse().expect("valid TOML");
        assert_eq!(
            config["model_providers"]["double"]["base_url"].as_str(),
            Some("http://127.0.0.1:9/v1")
        );
    }
}
