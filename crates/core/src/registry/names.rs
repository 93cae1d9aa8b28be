/// The naming pattern of sessions that belong in the registry: `<workspace>-creator-<agent>`, with each placeholder once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    before: String,
    between: String,
    after: String,
}

const WORKSPACE: &str = "<workspace>";
const AGENT: &str = "<agent>";

impl NamePattern {
    pub const DEFAULT: &str = "<workspace>-creator-<agent>";

    /// Parses a pattern; the error says what is required.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{pattern:?} must contain {WORKSPACE} followed by {AGENT}, for example {}",
                Self::DEFAULT
            )
        };
        let (before, rest) = pattern.split_once(WORKSPACE).ok_or_else(wrong)?;
        let (between, after) = rest.split_once(AGENT).ok_or_else(wrong)?;
        let has_more = |part: &str| part.contains(WORKSPACE) || part.contains(AGENT);
        if between.is_empty() || [before, between, after].into_iter().any(has_more) {
            return Err(wrong());
        }
        let [before, between, after] = [before, between, after].map(ToOwned::to_owned);
        Ok(Self { before, between, after })
    }

    /// Workspace and agent of a matching name, if the agent is known.
    pub fn read<'n>(&self, name: &'n str, agents: &[String]) -> Option<(&'n str, &'n str)> {
        let middle = name.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        let (workspace, agent) = middle.rsplit_once(self.between.as_str())?;
        (!workspace.is_empty() && agents.iter().any(|a| a == agent)).then_some((workspace, agent))
    }

    /// The name of a session.
    pub fn name(&self, workspace: &str, agent: &str) -> String {
        format!("{}{workspace}{}{agent}{}", self.before, self.between, self.after)
    }
}

impl Default for NamePattern {
    fn default() -> Self {
        Self { before: String::new(), between: "-creator-".into(), after: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_the_pattern() {
        let agents = ["claude", "agy"].map(ToOwned::to_owned);
        let usual = NamePattern::default();
        assert_eq!(NamePattern::parse(NamePattern::DEFAULT), Ok(usual.clone()));
        let table = [
            ("lab-page-creator-claude", Some(("lab-page", "claude"))),
            ("a-creator-b-creator-agy", Some(("a-creator-b", "agy"))),
            ("lab-creator-vim", None),
            ("-creator-claude", None),
            ("claude", None),
            ("lab-creator-claude-2", None),
        ];
        for (name, want) in table {
            assert_eq!(usual.read(name, &agents), want, "{name}");
        }
        let own = NamePattern::parse("ai/<workspace>:<agent>!").unwrap();
        assert_eq!(own.read("ai/x:agy!", &agents), Some(("x", "agy")));
        assert_eq!(own.name("x", "agy"), "ai/x:agy!");
        for bad in [
            "",
            "<agent>",
            "<agent>-<workspace>",
            "<workspace><agent>",
            "<workspace>-<agent>-<agent>",
        ] {
            assert!(NamePattern::parse(bad).is_err(), "{bad}");
        }
    }
}
