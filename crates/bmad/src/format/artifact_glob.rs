//! The pattern of the file that a `create` step must create.

use serde_json::Value;

use crate::policy::fault::PolicyFault;

/// The pattern and the expected number of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Relative to the project.
    pub pattern: String,
    /// The last part of it: a [`dogwatch_base::glob::Pattern`].
    pub name: String,
    /// Its directory, relative to the project.
    pub folder: String,
    pub matches: i64,
}

/// The story.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub id: &'a str,
    pub prefix: &'a str,
    pub key: &'a str,
}

/// `artifacts` is the directory of story files, relative to the project.
pub fn expected(
    glob: Option<&Value>,
    matches: Option<&Value>,
    story: Wanted<'_>,
    artifacts: &str,
) -> Result<Expected, PolicyFault> {
    let fault = |words: String| PolicyFault::Success(words);
    let matches = match matches {
        None | Some(Value::Null) => 1,
        Some(Value::String(text)) => text
            .trim()
            .parse()
            .map_err(|_| fault("expectedMatches must be an integer".to_owned()))?,
        Some(value) => {
            value.as_i64().ok_or_else(|| fault("expectedMatches must be an integer".to_owned()))?
        }
    };
    if matches < 0 {
        return Err(fault("expectedMatches must be >= 0".to_owned()));
    }
    let given = match glob {
        None | Some(Value::Null) => "",
        Some(Value::String(glob)) => glob.trim(),
        Some(_) => return Err(fault(format!("glob must stay within {artifacts}"))),
    };
    let default = format!("{artifacts}/{{story_prefix}}-*.md");
    let glob = if given.is_empty() { default.as_str() } else { given };
    let pattern = glob
        .replace("{story_prefix}", story.prefix)
        .replace("{story_id}", story.id)
        .replace("{story_key}", story.key);
    if pattern.starts_with('/') {
        return Err(fault(format!("glob must be relative to {artifacts}")));
    }
    let Some(parts) = parts_below(&pattern) else {
        return Err(fault("glob escapes project root".to_owned()));
    };
    let pattern = parts.join("/");
    let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern.as_str()));
    // Directories are literal: a pattern could lead anywhere.
    let is_inside = folder == artifacts || folder.starts_with(&format!("{artifacts}/"));
    if !is_inside || folder.contains(['*', '?', '[']) {
        return Err(fault(format!("glob must stay within {artifacts}")));
    }
    let (folder, name) = (folder.to_owned(), name.to_owned());
    Ok(Expected { pattern, name, folder, matches })
}

/// The parts of a path without `.` and `..`; `None` if it leads out.
fn parts_below(path: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STORY: Wanted<'_> = Wanted { id: "1.2", prefix: "1-2", key: "1-2-reset" };

    fn pattern(glob: Value) -> Result<String, String> {
        let expected = expected(Some(&glob), None, STORY, "out/art");
        expected.map(|expected| expected.pattern).map_err(|fault| fault.to_string())
    }

    #[test]
    fn patterns_are_read_and_limited() {
        assert_eq!(pattern(json!("")).unwrap(), "out/art/1-2-*.md");
        assert_eq!(pattern(json!("out/art/./{story_key}.md")).unwrap(), "out/art/1-2-reset.md");
        let outside = "success.config.glob must stay within out/art";
        let table = [
            (json!("../x-*.md"), "success.config.glob escapes project root"),
            (json!("docs/../../x"), "success.config.glob escapes project root"),
            (json!("/x-*.md"), "success.config.glob must be relative to out/art"),
            (json!("docs/x.md"), outside),
            (json!("out/**/*.md"), outside),
            (json!(1), outside),
        ];
        for (glob, words) in table {
            assert_eq!(pattern(glob).unwrap_err(), words);
        }
        for (matches, words) in
            [(json!(true), "an integer"), (json!(-1), ">= 0"), (json!("x"), "an integer")]
        {
            let fault = expected(None, Some(&matches), STORY, "a").unwrap_err().to_string();
            assert!(fault.ends_with(words), "{fault}");
        }
        assert_eq!(expected(None, Some(&json!("2")), STORY, "a").unwrap().matches, 2);
    }
}
