//! A run's pinned policy: its stored text, and the reference to it in a state document.

use serde_json::Value;

use crate::format::fields::Fields;
use crate::format::slug::short_hash;
use crate::policy::DataFile;
use crate::policy::fault::PolicyFault;

/// The path prefix of built-in files. Their text is in the snapshot, so that a newer dogwatch does not
/// change a run that has begun.
pub const BUILT_IN: &str = "builtin:";

/// The text of a snapshot, and its hash.
pub fn render(policy: &Value) -> (String, String) {
    let mut policy = policy.clone();
    for step in policy.get_mut("steps").and_then(Value::as_object_mut).into_iter().flatten() {
        for file in DataFile::ALL {
            let (part, word) = file.place();
            let Some(part) = step.1.get_mut(part).and_then(Value::as_object_mut) else { continue };
            let path = part.get(&format!("{word}Path")).and_then(Value::as_str);
            if !path.is_some_and(|path| path.starts_with(BUILT_IN)) {
                part.remove(&format!("{word}Text"));
            }
        }
    }
    policy.sort_all_objects();
    let text = format!("{policy:#}\n");
    let hash = short_hash(&text);
    (text, hash)
}

/// A state document's reference to its policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinned {
    /// From before there were snapshots: the bundled policy applies.
    Legacy,
    Snapshot {
        file: String,
        hash: String,
    },
}

pub fn pinned(fields: &Fields) -> Result<Pinned, PolicyFault> {
    let file = fields.text_or_nothing("policySnapshotFile").trim();
    let hash = fields.text_or_nothing("policySnapshotHash").trim();
    let version = fields.text_or_nothing("policyVersion").trim();
    let legacy = fields.text("legacyPolicy").trim().to_ascii_lowercase();
    match (file, hash) {
        ("", "") if !version.is_empty() || legacy == "false" => Err(PolicyFault::NoSnapshot),
        ("", "") => Ok(Pinned::Legacy),
        (_, "") | ("", _) => Err(PolicyFault::MetadataIncomplete),
        _ if legacy == "true" => Err(PolicyFault::MetadataContradictory),
        (file, hash) => Ok(Pinned::Snapshot { file: file.to_owned(), hash: hash.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_only_built_in_texts_are_kept() {
        let dev = json!({
            "prompt": {"templatePath": "builtin:data/prompts/dev.md", "templateText": "x"},
            "parse": {"schemaPath": "/p/dev.json", "schemaText": "y"},
        });
        let (text, hash) = render(&json!({"version": 1, "steps": {"dev": dev}}));
        assert!(text.starts_with("{\n  \"steps\": {\n    \"dev\": {\n      \"parse\": {"));
        assert!(text.contains("templateText") && !text.contains("schemaText"));
        assert!(text.ends_with("}\n") && hash.len() == 8);
    }

    #[test]
    fn references_in_a_state_document_are_read() {
        let table = [
            ("", Ok(Pinned::Legacy)),
            ("legacyPolicy: true", Ok(Pinned::Legacy)),
            ("legacyPolicy: maybe", Ok(Pinned::Legacy)),
            ("policyVersion:\nlegacyPolicy:", Ok(Pinned::Legacy)),
            ("legacyPolicy: false", Err(PolicyFault::NoSnapshot)),
            ("policyVersion: 0", Err(PolicyFault::NoSnapshot)),
            ("policySnapshotFile: x.json", Err(PolicyFault::MetadataIncomplete)),
            ("policySnapshotHash: abc", Err(PolicyFault::MetadataIncomplete)),
            (
                "policySnapshotFile: x\npolicySnapshotHash: a\nlegacyPolicy: true",
                Err(PolicyFault::MetadataContradictory),
            ),
            (
                "policySnapshotFile: \"x\"\npolicySnapshotHash: a\nlegacyPolicy: false",
                Ok(Pinned::Snapshot { file: "x".to_owned(), hash: "a".to_owned() }),
            ),
        ];
        for (lines, says) in table {
            let fields = Fields::read(&format!("---\n{lines}\n---\n"));
            assert_eq!(pinned(&fields), says, "{lines}");
        }
    }
}
