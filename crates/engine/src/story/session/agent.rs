//! Which agent is meant.

use std::path::Path;

use crate::story::Project;

/// The agents that the helper knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Claude,
    Codex,
}

impl Provider {
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    fn of(word: &str) -> Option<Self> {
        match word.trim().to_lowercase().as_str() {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            _ => None,
        }
    }
}

/// What the caller's environment says of agents.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// `AI_AGENT`.
    pub agent: Option<String>,
    /// `AI_COMMAND`.
    pub command: Option<String>,
}

/// The agent of the project, by what was told and by where the skills are.
pub fn provider(project: &Project) -> Provider {
    let told = project.provider.as_deref().and_then(Provider::of);
    let by_root = || project.skills_root.as_deref().and_then(by_folder);
    let by_skill = || project.own_skill.as_deref().and_then(by_folder);
    let has_codex_skill = || {
        let skill = |folder: &str| project.root.join(folder).join("skills/bmad-story-automator");
        [".agents", ".codex"].iter().any(|folder| skill(folder).exists())
    };
    told.or_else(by_root)
        .or_else(by_skill)
        .unwrap_or_else(|| if has_codex_skill() { Provider::Codex } else { Provider::Claude })
}

/// By the folder that skills are in.
fn by_folder(path: &Path) -> Option<Provider> {
    path.ancestors().find_map(|folder| match folder.file_name()?.to_str()? {
        ".claude" => Some(Provider::Claude),
        ".agents" | ".codex" => Some(Provider::Codex),
        _ => None,
    })
}

/// The agent for a session: as told, else as the environment wishes, else the project's.
pub fn of_session(project: &Project, told: Option<&str>, wishes: &Wishes) -> String {
    let open = |word: &&str| matches!(word.to_lowercase().as_str(), "" | "auto" | "runtime");
    if let Some(told) = told.filter(|word| !open(word)) {
        return told.to_owned();
    }
    let wished = wishes.agent.as_deref().map(str::trim).filter(|word| !word.is_empty());
    let by_command = || wishes.command.as_deref().filter(|_| wished.is_none()).and_then(by_program);
    let found = wished.and_then(Provider::of).or_else(by_command);
    found.unwrap_or_else(|| provider(project)).word().to_owned()
}

/// `claude` or `codex` as callers are told of it.
pub fn kind(project: &Project, wishes: &Wishes) -> Provider {
    wishes.agent.as_deref().and_then(Provider::of).unwrap_or_else(|| provider(project))
}

fn by_program(command: &str) -> Option<Provider> {
    let program =
        Path::new(command.split_whitespace().next()?).file_name()?.to_str()?.to_lowercase();
    let names = [("codex", Provider::Codex), ("claude", Provider::Claude)];
    names.into_iter().find(|(name, _)| program.contains(name)).map(|(_, provider)| provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_meant() {
        let plain = Project::default();
        let codex = Project { provider: Some("codex".into()), ..Project::default() };
        let by_root = Project { skills_root: Some("/x/.agents/skills".into()), ..plain.clone() };
        let wishes = |agent: Option<&str>, command: Option<&str>| Wishes {
            agent: agent.map(Into::into),
            command: command.map(Into::into),
        };
        for (project, told, wishes, expected) in [
            (&plain, None, wishes(None, None), "claude"),
            (&codex, None, wishes(None, None), "codex"),
            (&by_root, None, wishes(None, None), "codex"),
            (&codex, Some("claude"), wishes(None, None), "claude"),
            (&codex, Some("auto"), wishes(Some("Claude"), None), "claude"),
            (&plain, Some("gemini"), wishes(None, None), "gemini"),
            (&plain, None, wishes(None, Some("/opt/bin/codex exec")), "codex"),
            (&codex, None, wishes(Some("auto"), Some("claude")), "codex"),
            (&plain, None, wishes(Some("what"), None), "claude"),
        ] {
            assert_eq!(of_session(project, told, &wishes), expected, "{told:?} {wishes:?}");
        }
    }
}
