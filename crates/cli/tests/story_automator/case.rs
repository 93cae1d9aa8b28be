//! A case: what is there, what is called, and what comes of it.

use serde::Deserialize;
use serde_json::{Map, Value};

type Texts = Map<String, Value>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) id: String,
    /// `core`: both builds agree; `fork`: only the fork answers so; `bug`: nobody should;
    /// `swept`: so the published package.
    pub(crate) class: String,
    pub(crate) files: Texts,
    pub(crate) env: Texts,
    pub(crate) argv: Vec<String>,
    pub(crate) exit: i32,
    pub(crate) stdout: Option<String>,
    pub(crate) stdout_json: Option<Value>,
    pub(crate) notes: String,
    #[serde(default)]
    pub(crate) stderr_first_line: Option<String>,
    #[serde(default)]
    pub(crate) exec: Vec<String>,
    #[serde(default)]
    pub(crate) tmp_files: Texts,
    #[serde(default)]
    pub(crate) setup: Vec<String>,
    /// Words for `tmux-wrapper spawn` before the call itself; its answer is `{{SESSION}}`.
    #[serde(default)]
    pub(crate) spawn: Vec<String>,
    /// Seconds between the two.
    #[serde(default)]
    pub(crate) wait: Option<f64>,
    #[serde(default)]
    pub(crate) stdin: String,
    #[serde(default)]
    pub(crate) json_ignore: Vec<String>,
    /// Patterns and what takes their place before anything is compared.
    #[serde(default)]
    pub(crate) mask: Vec<(String, String)>,
    /// `null` if it must not be there.
    #[serde(default)]
    pub(crate) files_after: Texts,
    #[serde(default)]
    pub(crate) check_cmd: Option<String>,
    #[serde(default)]
    pub(crate) check_stdout: Option<String>,
    #[serde(default)]
    pub(crate) tmux: bool,
    #[serde(default, rename = "check_files")]
    _check_files: Vec<String>,
    #[serde(default, rename = "needs")]
    _needs: Vec<String>,
}

impl Case {
    /// With the class before it, so that a filter can choose.
    pub(crate) fn name(&self) -> String {
        format!("{}::{}", self.class, self.id)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.tmux || !self.spawn.is_empty()
    }

    /// `commit-story`, `orchestrator-helper marker`, …
    pub(crate) fn verb(&self) -> String {
        let words =
            if self.argv.first().is_some_and(|word| word == "orchestrator-helper") { 2 } else { 1 };
        self.argv.iter().take(words).cloned().collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn all() -> Vec<Case> {
    let parts = [
        include_str!("cases.json"),
        include_str!("reference-cases.json"),
        include_str!("swept.json"),
    ];
    let read = |part: &str| serde_json::from_str::<Vec<Case>>(part).expect("cases can be read");
    parts.into_iter().flat_map(read).collect()
}

/// Names and texts, in the order of the file.
pub(crate) fn texts(map: &Map<String, Value>) -> impl Iterator<Item = (&str, &str)> {
    map.iter().map(|(name, text)| (name.as_str(), text.as_str().expect("a text")))
}
