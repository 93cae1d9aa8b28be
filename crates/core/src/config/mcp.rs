//! What agents may do by `dogwatch mcp`.

use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use crate::mcp::{Policy, Right};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpTable {
    /// What is allowed; without it, what [`Policy::default`] allows.
    allow: Option<Vec<Spanned<String>>>,
}

impl McpTable {
    pub(super) fn check(&self, text: &str) -> Result<(), ConfigError> {
        let mut words = self.allow.iter().flatten();
        let Some(word) = words.find(|word| Right::from_word(word.get_ref()).is_none()) else {
            return Ok(());
        };
        let known = Right::all().map(Right::as_str).collect::<Vec<_>>().join(", ");
        let problem = format!("unknown right {:?}; known rights: {known}", word.get_ref());
        Err(ConfigError::at(text, word.span().start, problem))
    }

    pub fn policy(&self) -> Policy {
        match &self.allow {
            None => Policy::default(),
            Some(words) => {
                Policy::new(words.iter().filter_map(|word| Right::from_word(word.get_ref())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::mcp::{Right, Verb};

    #[test]
    fn rights_are_read_and_mistakes_have_a_position() {
        let policy =
            parse("[mcp]\nallow = ['sessions', 'answer', 'approve']").unwrap().mcp.policy();
        assert!(policy.allows(Right::Approve) && !policy.allows(Right::Use(Verb::Spawn)));
        let policy = parse("").unwrap().mcp.policy();
        assert!(policy.allows(Right::Use(Verb::Spawn)) && !policy.allows(Right::Approve));
        assert!(
            !parse("[mcp]\nallow = []").unwrap().mcp.policy().allows(Right::Use(Verb::Sessions))
        );
        let error = parse("[mcp]\nallow = ['spawn',\n 'fly']").unwrap_err();
        assert_eq!(error.line, 3);
        assert!(error.problem.contains("\"fly\"") && error.problem.contains("approve"), "{error}");
        assert_eq!(parse("[mcp]\nalow = []").unwrap_err().line, 2);
    }
}
