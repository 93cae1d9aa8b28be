//! The directory of a project's stories in BMAD's own configuration, `_bmad/bmm/config.yaml`.

use super::front_matter::{unquoted, without_comment};
use super::yaml;

/// A path outside of the project, or an empty one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("BMAD config implementation_artifacts must stay within project root")]
pub struct Outside;

/// The directory of story files below the project, `None` if it is not configured.
pub fn artifacts(config: &str) -> Result<Option<String>, Outside> {
    let value = |name: &str| value(config, name).filter(|value| !value.is_empty());
    let output = value("output_folder");
    let given = match (value("implementation_artifacts"), &output) {
        (Some(given), _) => {
            given.replace("{output_folder}", output.as_deref().unwrap_or("_bmad-output"))
        }
        (None, Some(output)) => format!("{output}/implementation-artifacts"),
        (None, None) => return Ok(None),
    };
    inside(&given.replace("{project-root}", ".")).map(Some)
}

fn value(config: &str, name: &str) -> Option<String> {
    if let Some(yaml) = yaml::read(config)
        && let Some(value) = yaml.get(name)
    {
        return value.scalar().map(|value| value.trim().to_owned());
    }
    let line = config
        .lines()
        .find_map(|line| line.trim().strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(unquoted(without_comment(line.trim()).trim()).to_owned())
}

/// The same path without `.` and `..`.
fn inside(path: &str) -> Result<String, Outside> {
    if path.starts_with('/') {
        return Err(Outside);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(Outside)?;
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { Err(Outside) } else { Ok(parts.join("/")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_read() {
        for (config, expected) in [
            ("", Ok(None)),
            ("user_name: x\n", Ok(None)),
            (
                "output_folder: \"{project-root}/artifacts\"  # c\n",
                Ok(Some("artifacts/implementation-artifacts")),
            ),
            (
                "output_folder: out\nimplementation_artifacts: '{output_folder}/impl'\n",
                Ok(Some("out/impl")),
            ),
            ("implementation_artifacts: {project-root}/a # no YAML\n", Ok(Some("a"))),
            ("implementation_artifacts: a/../b/./c\n", Ok(Some("b/c"))),
            ("implementation_artifacts: /etc\n", Err(Outside)),
            ("implementation_artifacts: ../x\n", Err(Outside)),
            ("implementation_artifacts: a/../../x\n", Err(Outside)),
            ("implementation_artifacts: 'a #b'\n", Ok(Some("a #b"))),
        ] {
            let expected = expected.map(|place: Option<&str>| place.map(str::to_owned));
            assert_eq!(artifacts(config), expected, "{config}");
        }
    }
}
