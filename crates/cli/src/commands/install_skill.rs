use std::path::{Path, PathBuf};

use dogwatch_core::exit_code;
use dogwatch_engine::actions::skill::{self, Done};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::tools::{SkillFile, SkillFiles};

use crate::args::{InstallSkill, SkillAgent};
use crate::usage::UsageError;
use crate::{environment, ui};

/// The skill: the same text for all agents.
const SKILL: &str =
    include_str!("../../../../contrib/claude-plugin/dogwatch/skills/dogwatch/SKILL.md");

pub(crate) fn install_skill(context: &Context, args: &InstallSkill) -> Result<u8, Error> {
    let (root, file) = place(context, args)?;
    let (path, done) = if args.remove {
        skill::remove(&root, &file)?
    } else {
        skill::install(&root, &file, SKILL)?
    };
    let word = match done {
        Done::Written => "written",
        Done::Unchanged => "unchanged",
        Done::Removed => "removed",
        Done::Missing => "missing",
    };
    let path = path.to_string_lossy().into_owned();
    if ui::prints_json() {
        ui::json(&SkillFiles { files: vec![SkillFile { path, done: word.to_owned() }] });
    } else {
        ui::line(format_args!("{word} {path}"));
    }
    Ok(exit_code::OK)
}

/// The directory that the file must be below, and the file in it.
fn place(context: &Context, args: &InstallSkill) -> Result<(PathBuf, PathBuf), Error> {
    if args.project {
        let file = match args.agent {
            SkillAgent::Claude => ".claude/skills/dogwatch/SKILL.md",
            SkillAgent::Codex => ".agents/skills/dogwatch/SKILL.md",
            SkillAgent::Gemini => ".gemini/skills/dogwatch/SKILL.md",
        };
        return Ok((environment::project()?, file.into()));
    }
    let (variable, folder) = match args.agent {
        SkillAgent::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
        SkillAgent::Codex => ("CODEX_HOME", ".codex"),
        SkillAgent::Gemini => ("", ".gemini"),
    };
    let told = context.agent_roots.iter().find(|(name, _)| name == variable);
    let home = || environment::home().map(|home| home.join(folder));
    let root = told.map(|(_, path)| path.clone()).or_else(home).ok_or(UsageError::NoHome)?;
    Ok(skill::with_own_links(&root, Path::new("skills/dogwatch/SKILL.md")))
}

#[cfg(test)]
mod tests {
    use super::SKILL;

    #[test]
    fn the_skill_is_short_and_has_a_front_matter() {
        assert!(SKILL.starts_with("---\nname: dogwatch\ndescription: "));
        // Measured: 3.6 bytes are a token (docs/mcp.md).
        let tokens = SKILL.len() / 3;
        assert!(tokens <= 1_200, "{tokens} tokens");
        let extension = include_str!("../../../../contrib/gemini-extension/GEMINI.md");
        assert!(SKILL.ends_with(extension), "the extension has the same text");
    }

    #[test]
    fn every_command_of_the_skill_exists() {
        let lines = SKILL.lines().filter_map(|line| line.strip_prefix("$ "));
        let mut count = 0;
        for line in lines {
            crate::args::assert_can_be_pasted(line);
            count += 1;
        }
        assert!(count >= 10, "{count}");
    }
}
