//! The real agents that `lab/agents/install` puts into the cache.

use std::path::PathBuf;

/// The table that the install script reads too.
const VERSIONS: &str = include_str!("../../../lab/agents/versions");

/// An agent whose version is pinned for the laboratory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedAgent {
    pub name: &'static str,
    pub version: &'static str,
    program: &'static str,
}

pub fn pinned(name: &str) -> Option<PinnedAgent> {
    VERSIONS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find_map(|fields| match fields[..] {
            [agent, _package, version, program] if agent == name => {
                Some(PinnedAgent { name: agent, version, program })
            }
            _ => None,
        })
}

impl PinnedAgent {
    /// The program, if the install script has put it there.
    pub fn installed(&self) -> Option<PathBuf> {
        let path = cache()?
            .join("dogwatch/lab-agents")
            .join(format!("{}-{}", self.name, self.version))
            .join("node_modules/.bin")
            .join(self.program);
        path.exists().then_some(path)
    }
}

fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_readable() {
        for name in ["claude", "codex", "gemini", "opencode"] {
            let agent = pinned(name).expect(name);
            assert!(agent.version.starts_with(|c: char| c.is_ascii_digit()), "{agent:?}");
        }
        assert_eq!(pinned("#"), None);
        assert_eq!(pinned("emacs"), None);
    }
}
