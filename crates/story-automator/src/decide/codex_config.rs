//! codex's `config.toml`: turns hooks on and keeps everything else; and whether a project is trusted.

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Made { text: String, reason: &'static str },
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    #[error("invalid_toml")]
    Toml(String),
    #[error("invalid_features_table")]
    Features,
}

impl ConfigFault {
    /// The problem, for a person.
    pub fn message(&self) -> String {
        match self {
            Self::Toml(why) => why.clone(),
            other @ Self::Features => other.to_string(),
        }
    }
}

/// The configuration with hooks turned on; `before` is `None` if there is no file. The setting was called
/// `codex_hooks` before; codex 0.166 calls it `hooks`.
pub fn with_hooks(before: Option<&str>) -> Result<Change, ConfigFault> {
    let mut config = read(before.unwrap_or_default())?;
    if let Some(features) = config.get_mut("features") {
        let features = features.as_table_like_mut().ok_or(ConfigFault::Features)?;
        if features.get("hooks").and_then(Item::as_bool) == Some(true) {
            return Ok(Change::None);
        }
        switch_on(features);
    } else {
        let mut features = Table::new();
        if !config.as_table().is_empty() {
            features.decor_mut().set_prefix("\n");
        }
        features.insert("hooks", toml_edit::value(true));
        config.insert("features", Item::Table(features));
    }
    let reason = if before.is_some() { "hooks_enabled" } else { "created" };
    Ok(Change::Made { text: config.to_string(), reason })
}

/// Replaces the value and keeps the blanks and comments around it.
fn switch_on(features: &mut dyn TableLike) {
    if let Some(hooks) = features.get_mut("hooks") {
        let decor = hooks.as_value().map(|value| value.decor().clone());
        let mut on = Value::from(true);
        if let Some(decor) = decor {
            *on.decor_mut() = decor;
        }
        *hooks = Item::Value(on);
        features.remove("codex_hooks");
        return;
    }
    let old = features.key("codex_hooks").map(|key| key.leaf_decor().clone());
    let Some(old) = old else {
        features.insert("hooks", toml_edit::value(true));
        return;
    };
    // A key cannot be renamed in place: remove all, and insert them in their order.
    let keys: Vec<String> = features.iter().map(|(key, _)| key.to_owned()).collect();
    for name in keys {
        let decor = features.key(&name).map(|key| key.leaf_decor().clone());
        let Some(mut item) = features.remove(&name) else { continue };
        let is_old = name == "codex_hooks";
        if is_old && let Some(value) = item.as_value_mut() {
            let decor = value.decor().clone();
            *value = Value::from(true);
            *value.decor_mut() = decor;
        }
        let new_name = if is_old { "hooks" } else { name.as_str() };
        features.insert(new_name, item);
        if let Some(mut key) = features.key_mut(new_name) {
            let decor = if is_old { Some(old.clone()) } else { decor };
            if let Some(decor) = decor {
                *key.leaf_decor_mut() = decor;
            }
        }
    }
}

/// Whether one of the configurations says that the project is trusted. An unreadable one says nothing.
pub fn trusts(config: &str, project: &str) -> bool {
    let Ok(config) = read(config) else { return false };
    let level =
        config.get("projects").and_then(|projects| projects.get(project)?.get("trust_level"));
    level.and_then(Item::as_str) == Some("trusted")
}

fn read(text: &str) -> Result<DocumentMut, ConfigFault> {
    text.parse().map_err(|why: toml_edit::TomlError| ConfigFault::Toml(why.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_turned_on_and_the_rest_is_kept() {
        let table = [
            ("", "[features]\nhooks = true\n"),
            ("model = \"x\" # mine\n", "model = \"x\" # mine\n\n[features]\nhooks = true\n"),
            (
                "[features]\nhooks = false # no\nother = 1\n",
                "[features]\nhooks = true # no\nother = 1\n",
            ),
            ("features.hooks = false\n", "features.hooks = true\n"),
            ("features = { a = true }\n", "features = { a = true , hooks = true }\n"),
            (
                "model = \"x\"\n[features]\n  codex_hooks = true\nother = 1\n",
                "model = \"x\"\n[features]\n  hooks = true\nother = 1\n",
            ),
            ("features.codex_hooks = true\n", "features.hooks = true\n"),
            (
                "[features]\n# a\nx = 1 # b\n# c\ncodex_hooks = false # d\n\n[z]\n",
                "[features]\n# a\nx = 1 # b\n# c\nhooks = true # d\n\n[z]\n",
            ),
            ("[features]\n\n[other]\na = 1\n", "[features]\nhooks = true\n\n[other]\na = 1\n"),
        ];
        for (before, after) in table {
            let Ok(Change::Made { text, reason }) = with_hooks(Some(before)) else {
                panic!("{before}")
            };
            // The spacing of a list on one line depends on the library.
            assert_eq!(text.replace(" ,", ","), after.replace(" ,", ","), "{before}");
            assert_eq!(reason, "hooks_enabled");
        }
        assert_eq!(with_hooks(Some("[features]\nhooks = true\n")), Ok(Change::None));
        assert!(matches!(with_hooks(None), Ok(Change::Made { reason: "created", .. })));
        assert_eq!(with_hooks(Some("features = 3\n")), Err(ConfigFault::Features));
        assert!(matches!(with_hooks(Some("[features\n")), Err(ConfigFault::Toml(_))));
    }

    #[test]
    fn trusted_projects_are_recognised() {
        assert!(trusts("[projects.\"/p\"]\ntrust_level = \"trusted\"\n", "/p"));
        assert!(trusts("[projects]\n\"/p\" = { trust_level = \"trusted\" }\n", "/p"));
        assert!(!trusts("[projects.\"/p\"]\ntrust_level = \"untrusted\"\n", "/p"));
        assert!(!trusts("[projects.\"/q\"]\ntrust_level = \"trusted\"\n", "/p"));
        assert!(!trusts("broken [", "/p"));
    }
}
