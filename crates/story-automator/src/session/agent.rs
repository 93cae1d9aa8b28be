//! Chooses the agent.

use std::path::Path;

use dogwatch_bmad::Project;
use dogwatch_bmad::provider;

const KNOWN: [&str; 2] = ["codex", "claude"];

/// The agent settings of the caller's environment.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// `AI_AGENT`.
    pub agent: Option<String>,
    /// `AI_COMMAND`.
    pub command: Option<String>,
}

/// The agent for a session: as given, else from the environment, else the project's.
pub fn of_session(project: &Project, given: Option<&str>, wishes: &Wishes) -> String {
    let open = |word: &&str| matches!(word.to_lowercase().as_str(), "" | "auto" | "runtime");
    if let Some(given) = given.filter(|word| !open(word)) {
        return known(given).unwrap_or(given).to_owned();
    }
    let wished = wishes.agent.as_deref().map(str::trim).filter(|word| !word.is_empty());
    let by_command = || wishes.command.as_deref().filter(|_| wished.is_none()).and_then(by_program);
    let found = wished.and_then(known).or_else(by_command);
    found.unwrap_or_else(|| provider(project)).to_owned()
}

/// `claude` or `codex`, as reported to callers.
pub fn kind(project: &Project, wishes: &Wishes) -> &'static str {
    wishes.agent.as_deref().and_then(known).unwrap_or_else(|| provider(project))
}

/// One of the helper's known agents.
fn known(word: &str) -> Option<&'static str> {
    let word = word.trim().to_ascii_lowercase();
    KNOWN.into_iter().find(|known| *known == word)
}

fn by_program(command: &str) -> Option<&'static str> {
    let program =
        Path::new(command.split_whitespace().next()?).file_name()?.to_str()?.to_lowercase();
    KNOWN.into_iter().find(|name| program.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_before_environment_and_project() {
        let plain = Project::default();
        let codex = Project { provider: Some("codex".into()), ..Project::default() };
        let by_root = Project { skills_root: Some("/x/.agents/skills".into()), ..plain.clone() };
        let wishes = |agent: Option<&str>, command: Option<&str>| Wishes {
            agent: agent.map(Into::into),
            command: command.map(Into::into),
        };
        for (project, given, wishes, expected) in [
            (&plain, None, wishes(None, None), "claude"),
            (&codex, None, wishes(None, None), "codex"),
            (&by_root, None, wishes(None, None), "codex"),
            (&codex, Some("claude"), wishes(None, None), "claude"),
            (&codex, Some("auto"), wishes(Some("Claude"), None), "claude"),
            (&plain, Some("CODEX"), wishes(None, None), "codex"),
            (&plain, Some("gemini"), wishes(None, None), "gemini"),
            (&plain, None, wishes(None, Some("/opt/bin/codex exec")), "codex"),
            (&codex, None, wishes(Some("auto"), Some("claude")), "codex"),
            (&plain, None, wishes(Some("what"), None), "claude"),
        ] {
            assert_eq!(of_session(project, given, &wishes), expected, "{given:?} {wishes:?}");
        }
    }
}
