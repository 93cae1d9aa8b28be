//! Whose limit it is: the account that an agent works with, as far as its environment tells.

use std::fmt::{self, Write as _};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::profile::AccountRules;

/// Letters of a key's fingerprint.
const LETTERS: usize = 12;

/// An account, without anything secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account {
    pub agent: String,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The fingerprint of an API key.
    Key(String),
    /// The folder with the agent's login.
    Home(String),
    Unknown,
}

impl Account {
    /// By the environment that the agent is started with.
    pub fn of(
        agent: &str,
        rules: Option<&AccountRules>,
        home: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let set = |name: &String| variable(name).filter(|value| !value.is_empty());
        let place = || {
            let rules = rules?;
            if let Some(key) = rules.keys.iter().find_map(set) {
                return Some(Place::Key(fingerprint(&key)));
            }
            let own = rules.root_variable.as_ref().and_then(set);
            let usual = || Some(home?.join(&rules.root).to_string_lossy().into_owned());
            own.or_else(usual).map(Place::Home)
        };
        Self { agent: agent.to_owned(), place: place().unwrap_or(Place::Unknown) }
    }

    /// Whether two sessions of it are known to share its limits.
    pub fn is_known(&self) -> bool {
        self.place != Place::Unknown
    }
}

impl fmt::Display for Account {
    /// `claude /home/ann/.claude`, `codex key:1f0c…`, `goose unknown`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Key(print) => write!(f, "{} key:{print}", self.agent),
            Place::Home(folder) => write!(f, "{} {folder}", self.agent),
            Place::Unknown => write!(f, "{} unknown", self.agent),
        }
    }
}

fn fingerprint(key: &str) -> String {
    let mut print = String::new();
    for byte in Sha256::digest(key.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(print, "{byte:02x}");
    }
    print.truncate(LETTERS);
    print
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_before_a_folder_and_is_not_shown() {
        let rules = AccountRules {
            keys: vec!["X_KEY".into(), "X_TOKEN".into()],
            root: ".x".into(),
            root_variable: Some("X_HOME".into()),
        };
        let shown = |environment: &[(&str, &str)], home: Option<&str>| {
            let variable = |name: &str| {
                environment.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned())
            };
            Account::of("x", Some(&rules), home.map(Path::new), variable).to_string()
        };
        assert_eq!(shown(&[], Some("/home/ann")), "x /home/ann/.x");
        assert_eq!(shown(&[("X_HOME", "/else")], Some("/home/ann")), "x /else");
        assert_eq!(shown(&[("X_HOME", "")], None), "x unknown");
        let keyed = shown(&[("X_TOKEN", "secret-1"), ("X_HOME", "/else")], None);
        assert!(keyed.starts_with("x key:") && !keyed.contains("secret"), "{keyed}");
        assert_ne!(keyed, shown(&[("X_TOKEN", "secret-2")], None));
        assert_eq!(Account::of("y", None, None, |_| None).to_string(), "y unknown");
    }
}
