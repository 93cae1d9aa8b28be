//! The policy of a run: its steps, how each is prompted, read and verified, and how often it is tried.
//!
//! It is JSON, so that a project can override parts of it. This module reads its values; `check` validates them, and
//! [`load`] finds the files that it names.

mod assets;
mod check;
pub mod fault;
pub mod load;
pub mod pinned;

use dogwatch_base::log::Logged as _;
use serde_json::{Map, Value};

use crate::policy::fault::PolicyFault;

/// Steps of a policy, in the order of execution.
pub const STEPS: [&str; 5] = ["create", "dev", "auto", "review", "retro"];
/// The verifiers of steps.
pub const VERIFIERS: [&str; 4] =
    ["create_story_artifact", "session_exit", "review_completion", "epic_complete"];

const BUNDLED: &str = include_str!("../../data/policy.json");
const REVIEW_CONTRACT: &str = "<skills-root>/bmad-story-automator-review/contract.json";

/// Built-in files, by the names in policies.
const FILES: [(&str, &str); 11] = [
    ("data/prompts/create.md", include_str!("../../data/prompts/create.md")),
    ("data/prompts/dev.md", include_str!("../../data/prompts/dev.md")),
    ("data/prompts/auto.md", include_str!("../../data/prompts/auto.md")),
    ("data/prompts/review.md", include_str!("../../data/prompts/review.md")),
    ("data/prompts/retro.md", include_str!("../../data/prompts/retro.md")),
    ("data/parse/create.json", include_str!("../../data/parse/create.json")),
    ("data/parse/dev.json", include_str!("../../data/parse/dev.json")),
    ("data/parse/auto.json", include_str!("../../data/parse/auto.json")),
    ("data/parse/review.json", include_str!("../../data/parse/review.json")),
    ("data/parse/retro.json", include_str!("../../data/parse/retro.json")),
    (REVIEW_CONTRACT, include_str!("../../data/review-contract.json")),
];

/// The text of a built-in file.
pub fn bundled_file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The default policy.
pub fn bundled() -> Value {
    serde_json::from_str(BUNDLED).logged("read JSON").unwrap_or_default()
}

/// Merges `over` into `base`: maps are merged, everything else is replaced.
pub fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// Limits from the environment. An invalid number is an error, so that no limit is silently ignored.
pub fn apply_limits(
    policy: &mut Value,
    review_cycles: Option<&str>,
    crash_retries: Option<&str>,
) -> Result<(), PolicyFault> {
    let limits = [
        (
            "MAX_REVIEW_CYCLES",
            review_cycles,
            ["workflow", "repeat", "review", "maxCycles"].as_slice(),
        ),
        ("MAX_CRASH_RETRIES", crash_retries, ["workflow", "crash", "maxRetries"].as_slice()),
    ];
    for (name, given, path) in limits {
        let Some(given) = given else { continue };
        let limit: i64 =
            given.trim().parse().map_err(|_| PolicyFault::NotAnInteger(name.to_owned()))?;
        let nested = path.iter().rev().fold(Value::from(limit), |value, key| {
            Value::Object(Map::from_iter([((*key).to_owned(), value)]))
        });
        merge(policy, nested);
    }
    Ok(())
}

/// A valid policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    value: Value,
}

/// The small model that reads transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parser {
    pub model: String,
    pub timeout_seconds: u64,
}

impl Policy {
    pub fn new(value: Value) -> Result<Self, PolicyFault> {
        check::check(&value)?;
        Ok(Self { value })
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn step(&self, name: &str) -> Result<Step<'_>, PolicyFault> {
        let contract = self.value.get("steps").and_then(|steps| steps.get(name));
        let contract = contract.ok_or_else(|| PolicyFault::UnknownStep(name.to_owned()))?;
        Ok(Step { contract })
    }

    /// The names of all steps, those of the sequence first.
    pub fn steps(&self) -> Vec<String> {
        let steps = self.value.get("steps").and_then(Value::as_object);
        let has = |name: &&str| steps.is_some_and(|steps| steps.contains_key(*name));
        STEPS.iter().filter(|name| has(name)).map(|name| (*name).to_owned()).collect()
    }

    /// The steps of a story, in their order.
    pub fn sequence(&self) -> Vec<String> {
        strings(self.value.pointer("/workflow/sequence"))
    }

    pub fn max_review_cycles(&self) -> i64 {
        self.value.pointer("/workflow/repeat/review/maxCycles").and_then(Value::as_i64).unwrap_or(5)
    }

    pub fn max_crash_retries(&self) -> i64 {
        self.value.pointer("/workflow/crash/maxRetries").and_then(Value::as_i64).unwrap_or(2)
    }

    pub fn version(&self) -> i64 {
        self.value.get("version").and_then(Value::as_i64).unwrap_or(1)
    }

    /// The folder of snapshots below the project.
    pub fn snapshot_folder(&self) -> &str {
        let given = self.value.pointer("/snapshot/relativeDir").and_then(Value::as_str);
        given
            .filter(|folder| !folder.is_empty())
            .unwrap_or("_bmad-output/story-automator/policy-snapshots")
    }

    pub fn parser(&self) -> Parser {
        let parser = self.value.pointer("/runtime/parser");
        let model = parser.and_then(|parser| parser.get("model")).and_then(Value::as_str);
        let timeout =
            parser.and_then(|parser| parser.get("timeoutSeconds")).and_then(Value::as_u64);
        Parser {
            model: model.unwrap_or("haiku").to_owned(),
            timeout_seconds: timeout.unwrap_or(120),
        }
    }
}

/// One step of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    contract: &'a Value,
}

impl<'a> Step<'a> {
    fn text(self, pointer: &str) -> &'a str {
        self.contract.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn label(self) -> &'a str {
        self.text("/label")
    }

    pub fn verifier(self) -> &'a str {
        self.text("/success/verifier")
    }

    /// The verifier's settings; those beside the verifier count too.
    pub fn success(self, key: &str) -> Option<&'a Value> {
        let config = self.contract.pointer("/success/config");
        config
            .and_then(|config| config.get(key))
            .or_else(|| self.contract.pointer("/success").and_then(|success| success.get(key)))
    }

    pub fn skill_name(self) -> &'a str {
        self.text("/assets/skillName")
    }

    /// Possible names of a file of the skill: `workflow`, `instructions`, `checklist`, `template`.
    pub fn candidates(self, kind: &str) -> Vec<String> {
        strings(self.contract.pointer(&format!("/assets/{kind}Candidates")))
    }

    pub fn requires(self, kind: &str) -> bool {
        strings(self.contract.pointer("/assets/required")).iter().any(|known| known == kind)
    }

    /// The path of a file of the skill, for the agent; empty if it was not found.
    pub fn asset(self, kind: &str) -> &'a str {
        self.text(&format!("/assets/files/{kind}"))
    }

    pub fn data_file(self, file: DataFile) -> &'a str {
        self.text(file.name_at())
    }

    /// The text of a file that the policy names, once it was found.
    pub fn data_text(self, file: DataFile) -> &'a str {
        self.text(file.text_at())
    }

    /// Where the review contract was found.
    pub fn contract_path(self) -> &'a str {
        self.text("/success/contractPath")
    }

    pub fn default_extra(self) -> &'a str {
        self.text("/prompt/defaultExtraInstruction")
    }
}

/// Files that a step names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFile {
    Template,
    Schema,
    Contract,
}

impl DataFile {
    pub const ALL: [Self; 3] = [Self::Template, Self::Schema, Self::Contract];

    /// The part of a step, and the key, that it is stored under.
    pub fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::Template => ("prompt", "template"),
            Self::Schema => ("parse", "schema"),
            Self::Contract => ("success", "contract"),
        }
    }

    fn name_at(self) -> &'static str {
        match self {
            Self::Template => "/prompt/templateFile",
            Self::Schema => "/parse/schemaFile",
            Self::Contract => "/success/contractFile",
        }
    }

    fn text_at(self) -> &'static str {
        match self {
            Self::Template => "/prompt/templateText",
            Self::Schema => "/parse/schemaText",
            Self::Contract => "/success/contractText",
        }
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests;
