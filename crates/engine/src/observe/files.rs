use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_store::read_part;

/// A whole file of another program, if it is a regular one and not larger than `max`.
pub fn read_regular(path: &Path, max: u64) -> Option<Vec<u8>> {
    dogwatch_store::read_regular(path, max).logged_unless_missing("read a file")
}

/// The last `max` bytes of a regular file.
pub fn read_tail(path: &Path, max: u64) -> Option<Vec<u8>> {
    read_part(path, |length| length.saturating_sub(max), max).logged_unless_missing("read a file")
}

/// At most `max` bytes of a regular file, from a place in it.
pub fn read_range(path: &Path, from: u64, max: u64) -> Option<Vec<u8>> {
    read_part(path, |_| from, max).logged_unless_missing("read a file")
}

/// The length of a file, if it is a regular one.
pub fn regular_length(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).logged_unless_missing("look at a file")?;
    metadata.is_file().then_some(metadata.len())
}

/// Bytes as text. What is valid, as nearly all is, is found to be so much faster than by the lossy way.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A path without links and `..`. What does not exist yet is below something that does.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
    let mut at = path;
    let existing = loop {
        match fs::canonicalize(at) {
            Ok(found) => break found,
            // A link to nowhere could be made to lead anywhere.
            Err(_) if fs::symlink_metadata(at).is_ok() => return None,
            Err(_) => {
                let Some(Component::Normal(name)) = at.components().next_back() else {
                    return None;
                };
                missing.push(name);
                at = at.parent()?;
            }
        }
    };
    let mut whole = existing;
    whole.extend(missing.iter().rev());
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        for path in ["/dev/zero", "/", "/no/such", "/dev/tty"] {
            assert_eq!(read_regular(Path::new(path), 10), None, "{path}");
            assert_eq!(read_tail(Path::new(path), 10), None, "{path}");
        }
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("f");
        fs::write(&file, "0123456789").unwrap();
        assert_eq!(read_regular(&file, 9), None, "too large");
        assert_eq!(read_regular(&file, 10).unwrap(), b"0123456789");
        assert_eq!(read_tail(&file, 3).unwrap(), b"789");
        let link = tmp.path().join("l");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert_eq!(read_regular(&link, 10), None);
    }

    #[test]
    fn paths_are_resolved_as_far_as_they_exist() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("src/link")).unwrap();
        std::os::unix::fs::symlink("/no/such", root.join("src/dangling")).unwrap();
        let table = [
            ("src/new.rs", Some(root.join("src/new.rs"))),
            ("src/a/b/new.rs", Some(root.join("src/a/b/new.rs"))),
            ("src/../x", Some(root.join("x"))),
            ("src/link/passwd", Some("/etc/passwd".into())),
            ("src/link/new", Some("/etc/new".into())),
            ("src/dangling", None),
            ("src/dangling/x", None),
            ("src/no/../../x", None),
        ];
        for (path, want) in table {
            assert_eq!(resolved(&root.join(path)), want, "{path}");
        }
    }
}
