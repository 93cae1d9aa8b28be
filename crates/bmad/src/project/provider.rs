//! The agent that `auto` stands for in a project.

use std::path::Path;

use crate::Project;

const SKILL: &str = "bmad-story-automator";

/// `claude` or `codex`: as configured, else by where the skills are installed.
pub fn provider(project: &Project) -> &'static str {
    let given = project.provider.as_deref().map(|given| given.trim().to_ascii_lowercase());
    let codex_has_it = || {
        [".agents", ".codex"]
            .iter()
            .any(|home| project.root.join(home).join("skills").join(SKILL).exists())
    };
    match given.as_deref() {
        Some("claude") => "claude",
        Some("codex") => "codex",
        _ => of_folder(project.skills_root.as_deref())
            .or_else(|| of_folder(project.own_skill.as_deref()))
            .unwrap_or_else(|| if codex_has_it() { "codex" } else { "claude" }),
    }
}

fn of_folder(folder: Option<&Path>) -> Option<&'static str> {
    folder?.components().rev().find_map(|part| match part.as_os_str().to_str()? {
        ".claude" => Some("claude"),
        ".agents" | ".codex" => Some("codex"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_before_installed_skills() {
        let project = |provider: &str, skills: &str| Project {
            root: "/nowhere".into(),
            provider: (!provider.is_empty()).then(|| provider.to_owned()),
            skills_root: (!skills.is_empty()).then(|| skills.into()),
            ..Project::default()
        };
        for (given, skills, expected) in [
            ("", "", "claude"),
            ("Codex", "/x/.claude/skills", "codex"),
            ("other", "/x/.codex/skills", "codex"),
            ("", "/x/.agents/skills/bmad-story-automator", "codex"),
            ("", "/x/.claude/skills", "claude"),
            ("", "/x/skills", "claude"),
        ] {
            assert_eq!(provider(&project(given, skills)), expected, "{given} {skills}");
        }
    }
}
