//! Reads `git status --porcelain -z`.

/// One changed path, as bytes: git does not define an encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// In the index, against the last commit.
    pub index: u8,
    /// In the work tree, against the index.
    pub tree: u8,
    pub path: Vec<u8>,
    /// The path before a rename.
    pub from: Option<Vec<u8>>,
}

impl Change {
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    /// Not in the last commit.
    pub fn is_new(&self) -> bool {
        matches!(self.index, b'?' | b'A' | b'C') || (self.index == b' ' && self.tree == b'A')
    }

    /// Has changes that are not in the index yet.
    pub fn is_unstaged(&self) -> bool {
        self.tree != b' '
    }

    pub fn is_gone(&self) -> bool {
        self.tree == b'D' || (self.index == b'D' && self.tree == b' ')
    }

    /// Has a merge conflict.
    pub fn is_unmerged(&self) -> bool {
        self.index == b'U'
            || self.tree == b'U'
            || matches!((self.index, self.tree), (b'A', b'A') | (b'D', b'D'))
    }

    /// A directory that is a repository: git would add it as a submodule pointer.
    pub fn is_repository(&self) -> bool {
        self.path.ends_with(b"/")
    }
}

/// A renamed file is listed under its new name.
pub fn read(output: &[u8]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        let [index, tree, b' ', path @ ..] = part else { continue };
        let has_old_name = matches!(index, b'R' | b'C') || matches!(tree, b'R' | b'C');
        let from = if has_old_name { parts.next().map(<[u8]>::to_vec) } else { None };
        changes.push(Change { index: *index, tree: *tree, path: path.to_vec(), from });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn porcelain_output_is_read() {
        let output =
            b"?? a b\0 M src/x\0R  new\0old\0D  gone\0UU both\0A  staged\0?? nested/\0!! x";
        let changes = read(output);
        let shown: Vec<String> = changes.iter().map(Change::shown).collect();
        assert_eq!(shown, ["a b", "src/x", "new", "gone", "both", "staged", "nested/", "x"]);
        let of = |name: &str| changes.iter().find(|change| change.shown() == name).unwrap();
        assert!(of("a b").is_new() && of("a b").is_unstaged());
        assert!(!of("src/x").is_new() && of("src/x").is_unstaged());
        assert!(!of("new").is_unstaged());
        assert!(of("gone").is_gone());
        assert!(of("both").is_unmerged());
        assert!(of("staged").is_new() && !of("staged").is_unstaged());
        assert!(of("nested/").is_repository());
        assert!(read(b"").is_empty());
    }
}
