//! Names of branches and folders.

use std::path::{Path, PathBuf};

/// Longest name of a folder that is made from a branch.
const LONGEST: usize = 80;
/// Longest name of a branch: with the folders of git, a path has to fit.
const LONGEST_BRANCH: usize = 200;
/// Where worktrees are made if the configuration names no folder.
pub const DEFAULT_FOLDER: &str = "{state}/worktrees/{project}";

/// Why git, or a shell, would not take a branch of this name.
pub fn branch_problem(name: &str) -> Option<&'static str> {
    let parts = || name.split('/');
    Some(match name {
        "" => "it is empty",
        "@" | "HEAD" => "git gives it another meaning",
        _ if name.len() > LONGEST_BRANCH => "it is too long",
        _ if name.starts_with('-') => "it begins with a dash, like an option",
        _ if name.contains("..") => "it contains `..`",
        _ if name.contains("@{") => "it contains `@{`",
        _ if name.contains(' ') => "it contains a blank",
        _ if name.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            "it contains a control character or a blank"
        }
        _ if name.contains(['~', '^', ':', '?', '*', '[', '\\']) => {
            "it contains one of ~ ^ : ? * [ \\"
        }
        _ if name.starts_with("refs/") => "it begins with `refs/`",
        _ if parts().any(str::is_empty) => "it begins or ends with a slash, or has two in a row",
        _ if parts().any(|part| part.starts_with('.')) => "a part of it begins with a dot",
        _ if name.ends_with('.') => "it ends with a dot",
        _ if parts().any(|part| part.ends_with(".lock")) => "a part of it ends with `.lock`",
        _ => return None,
    })
}

/// The branch of a session that was given none.
pub fn branch_of_session(session: &str) -> String {
    format!("dogwatch/{}", slug(session))
}

/// The `n`th try at a name: `x`, `x-2`, `x-3` …
pub fn numbered(name: &str, n: usize) -> String {
    if n < 2 { name.to_owned() } else { format!("{name}-{n}") }
}

/// A name for a folder, from a branch or a project: no slashes, no leading dot or dash.
pub fn slug(name: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let text: String = name.chars().map(keep).collect();
    let mut text = text.trim_matches(['-', '.']).to_owned();
    while text.len() > LONGEST {
        text.pop();
    }
    if text.is_empty() { "worktree".to_owned() } else { text }
}

/// What the folder of worktrees may depend on.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Top of the work tree.
    pub top: &'a Path,
    pub home: Option<&'a Path>,
    pub state: &'a Path,
}

/// The folder in which worktrees are made. `~` is the home directory, `{project}` the name of the work tree's folder, `{state}`
/// the state directory; a relative path begins at the top of the work tree.
pub fn folder(template: &str, around: Surroundings<'_>) -> Result<PathBuf, String> {
    let name = around.top.file_name().unwrap_or_default().to_string_lossy();
    let project = slug(&name);
    let mut path = PathBuf::new();
    for part in template.split('/') {
        match part {
            "~" if path.as_os_str().is_empty() => {
                path.push(around.home.ok_or("there is no home directory")?);
            }
            "{state}" if path.as_os_str().is_empty() => path.push(around.state),
            "" if path.as_os_str().is_empty() => path.push("/"),
            part => {
                let part = part.replace("{project}", &project);
                if part.contains(['{', '}']) {
                    return Err(format!("unknown placeholder in {part:?}"));
                }
                path.push(part);
            }
        }
    }
    Ok(around.top.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_that_git_or_a_shell_would_not_take() {
        for good in ["x", "feature/a-b", "dogwatch/api-1", "größe", "a.b", "a@b", "日本"] {
            assert_eq!(branch_problem(good), None, "{good}");
        }
        for bad in [
            "",
            "-x",
            "--force",
            "a..b",
            "..",
            "a b",
            "a\tb",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a.lock/b",
            "@",
            "HEAD",
            "a@{1}",
            "refs/heads/x",
            "a\u{7}",
            "a\u{a0}b",
        ] {
            assert!(branch_problem(bad).is_some(), "{bad:?}");
        }
        assert!(branch_problem(&"x".repeat(201)).is_some());
    }

    #[test]
    fn folders_are_one_name() {
        assert_eq!(slug("feature/a b"), "feature-a-b");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug(".hidden"), "hidden");
        assert_eq!(slug("größe/日本"), "größe-日本");
        assert_eq!(slug("///"), "worktree");
        assert!(slug(&"ü".repeat(300)).len() <= LONGEST);
        assert_eq!(branch_of_session("api"), "dogwatch/api");
        assert_eq!([numbered("a", 1), numbered("a", 3)], ["a", "a-3"]);
    }

    #[test]
    fn the_folder_is_configurable() {
        let around = Surroundings {
            top: Path::new("/code/my api"),
            home: Some(Path::new("/home/ann")),
            state: Path::new("/state"),
        };
        for (template, wanted) in [
            (DEFAULT_FOLDER, "/state/worktrees/my-api"),
            ("~/trees/{project}", "/home/ann/trees/my-api"),
            ("../{project}.trees", "/code/my api/../my-api.trees"),
            (".worktrees", "/code/my api/.worktrees"),
            ("/srv/w", "/srv/w"),
        ] {
            assert_eq!(folder(template, around).unwrap(), Path::new(wanted), "{template}");
        }
        assert!(folder("/x/{branch}", around).is_err());
        assert!(folder("~/x", Surroundings { home: None, ..around }).is_err());
    }
}
