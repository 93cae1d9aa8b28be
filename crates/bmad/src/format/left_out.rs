//! What a story's commit must not contain: files that look like secrets, and files of a run.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

use dogwatch_base::glob::Pattern;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// Names of example files, whatever else they look like.
    #[serde(deserialize_with = "patterns")]
    examples: Vec<Pattern>,
    #[serde(rename = "rule")]
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    reason: String,
    /// File name patterns.
    #[serde(default, deserialize_with = "patterns")]
    names: Vec<Pattern>,
    /// Names of parent directories.
    #[serde(default)]
    folders: Vec<String>,
}

fn patterns<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Pattern>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    Ok(texts.iter().map(|text| Pattern::stars(text)).collect())
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a test uses the built-in file")]
    toml::from_str(include_str!("../../data/left_out.toml"))
        .expect("invariant: it is as it should be")
});

/// Why a new file of this name is left out, if so.
pub fn by_name(path: &str) -> Option<&'static str> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = name.to_lowercase();
    let is_like = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.fits(&name));
    let is_below =
        |rule: &Rule| folders.split('/').any(|part| rule.folders.iter().any(|f| f == part));
    if is_like(&RULES.examples) {
        return None;
    }
    let rule = RULES.rules.iter().find(|rule| is_like(&rule.names) || is_below(rule))?;
    Some(&rule.reason)
}

/// Why a file is left out that contains keys which the last commit does not have.
pub fn by_content(now: &str, committed: &str) -> Option<String> {
    let before = dogwatch_core::mask::keys_in(committed);
    let mut new = dogwatch_core::mask::keys_in(now);
    new.retain(|key| !before.contains(key));
    new.first().map(|(kind, _)| format!("has a secret in it ({kind})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_left_out() {
        for path in [
            ".env",
            "app/.env.local",
            ".ENV",
            "certs/server.pem",
            "server.key",
            "id_rsa",
            "home/.ssh/config",
            "credentials.json",
            "config/secrets.yml",
            ".npmrc.bak~.p12",
            "service-account-prod.json",
            ".claude/.story-automator-active",
            "out/.state-build.lock",
            ".netrc",
            "terraform.tfstate",
        ] {
            assert!(by_name(path).is_some(), "{path}");
        }
        for path in [
            "src/env.rs",
            ".env.example",
            ".env.sample",
            "id_rsa.pub",
            "src/credentials.ts",
            "keys.rs",
            "docs/secrets.md",
            "environment",
            "src/CredentialsForm.tsx",
            "pem.rs",
            "monkey",
            ".envrc.example",
            ".story-automator.md",
        ] {
            assert_eq!(by_name(path), None, "{path}");
        }
    }

    #[test]
    fn files_with_keys_are_left_out() {
        let key = format!("AKIA{}", "QWERTYUIOPASDF12");
        let text = format!("key = \"{key}\"\n");
        assert!(by_content(&text, "").is_some());
        assert_eq!(by_content(&text, &text), None);
        assert_eq!(by_content("AKIAIOSFODNN7EXAMPLE", ""), None);
        assert_eq!(
            by_content("password = \"hunter22\"; authorization: Bearer abc123def456", ""),
            None
        );
        let pem = [
            "-----BEGIN RSA PRIVATE",
            " KEY-----\nMIIEowIBAAKCAQEA1234567890abcdef\n-----END RSA PRIVATE",
            " KEY-----\n",
        ]
        .concat();
        assert!(by_content(&pem, "").is_some());
    }
}
