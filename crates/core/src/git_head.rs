//! The files of git that say which branch is checked out, read without git.

/// What `HEAD` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Branch(String),
    /// No branch: the commit.
    Detached(String),
}

impl Head {
    /// For people: the branch, or the beginning of the commit.
    pub fn shown(&self) -> &str {
        match self {
            Self::Branch(name) => name,
            Self::Detached(commit) => &commit[..commit.len().min(8)],
        }
    }
}

/// The content of `HEAD`, or the target of one that is a symbolic link, as git made them once. A repository with reftables has a
/// `HEAD` that names no branch: there it is not known.
pub fn head(text: &str) -> Option<Head> {
    let line = text.lines().next()?.trim_end();
    let reference = line
        .strip_prefix("ref:")
        .map(str::trim)
        .or_else(|| line.starts_with("refs/").then_some(line));
    if let Some(reference) = reference {
        let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
        return (!name.is_empty() && name != ".invalid").then(|| Head::Branch(name.to_owned()));
    }
    let is_hash = matches!(line.len(), 40 | 64) && line.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| Head::Detached(line.to_owned()))
}

/// The directory that a `.git` file of a worktree or a submodule names.
pub fn git_dir(text: &str) -> Option<&str> {
    let dir = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    (!dir.is_empty()).then_some(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (text, want) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref: refs/heads/feature/größe", Some("feature/größe")),
            ("ref:refs/heads/x\r\n", Some("x")),
            ("refs/heads/old", Some("old")),
            ("ref: refs/remotes/origin/x\n", Some("refs/remotes/origin/x")),
            (commit, Some("01234567")),
            ("ref: refs/heads/.invalid\n", None),
            ("ref: refs/heads/\n", None),
            ("", None),
            ("not a head", None),
            ("0123", None),
        ] {
            assert_eq!(head(text).as_ref().map(Head::shown), want, "{text:?}");
        }
        assert_eq!(git_dir("gitdir: ../.git/worktrees/x\n"), Some("../.git/worktrees/x"));
        assert_eq!(git_dir("gitdir:\n"), None);
        assert_eq!(git_dir("something"), None);
    }
}
