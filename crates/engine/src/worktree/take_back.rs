//! Takes back what git did to a work tree when it was to move forward and failed half-way, on a full disk for example: it leaves files of
//! the new commit behind, and the next time it refuses because of them.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use dogwatch_base::git::status::Change;
use dogwatch_store::read_regular;

use super::repository;
use crate::Error;

/// Who may have changed a file before git did.
#[derive(Debug, Clone, Copy)]
pub enum Before<'a> {
    /// These were changed before; all others were as the old commit has them.
    Changed(&'a [Change]),
    /// Not known. An empty file may be a person's.
    Unknown,
}

/// Puts files back to what the old commit has, if they are the new commit's, in whole or the beginning of them: what they contain
/// is in the new commit, so nothing is lost. Everything else stays. Returns how many these were.
pub fn take_back(folder: &Path, from: &str, to: &str, before: Before<'_>) -> Result<usize, Error> {
    let names = ["diff", "--name-only", "--no-renames", "-z", from, to];
    let names = repository::bytes(folder, &names)?;
    let names: Vec<&[u8]> = names.split(|byte| *byte == 0).collect();
    let mut count = 0;
    let mut changes = repository::uncommitted(folder)?;
    // What is removed makes room for what is written.
    changes.sort_by_key(|change| !change.is_new());
    for change in changes {
        let is_theirs = match before {
            Before::Changed(before) => before.iter().any(|known| known.path == change.path),
            Before::Unknown => false,
        };
        let is_staged = !matches!(change.index, b' ' | b'?');
        let is_meant = names.contains(&change.path.as_slice()) && !is_theirs && !is_staged;
        if is_meant && is_of(folder, to, &change, before)? {
            put_back(folder, &change)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Whether a file has the beginning of what the commit has there.
fn is_of(folder: &Path, commit: &str, change: &Change, before: Before<'_>) -> Result<bool, Error> {
    let path = folder.join(repository::path_of(&change.path));
    let length = match fs::symlink_metadata(&path) {
        Ok(about) if about.is_file() => about.len(),
        Ok(_) => return Ok(false),
        // Deleted by the new commit, or to be written again.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(reading(&path)(error)),
    };
    if length == 0 && matches!(before, Before::Unknown) {
        return Ok(false);
    }
    let name = [format!("{commit}:").as_bytes(), &change.path].concat();
    let ask = |command: &mut std::process::Command| {
        command.arg(OsString::from_vec(name));
    };
    // As it would be written: with the ends of lines and the filters of this work tree.
    let new = repository::run_with(folder, &["cat-file", "--filters"], ask, b"")?;
    let is_longer = u64::try_from(new.stdout.bytes.len()).is_ok_and(|most| length > most);
    if !new.is_fine() || !new.stdout.is_whole || is_longer {
        return Ok(false);
    }
    let has = read_regular(&path, length).map_err(reading(&path))?;
    Ok(new.stdout.bytes.starts_with(&has))
}

fn put_back(folder: &Path, change: &Change) -> Result<(), Error> {
    let name = repository::path_of(&change.path);
    let path = folder.join(&name);
    if change.is_new() {
        fs::remove_file(&path).map_err(Error::io(format!("remove {}", path.display())))?;
        // Folders that git made for it; one with other files stays.
        let made = path.ancestors().skip(1).take_while(|above| *above != folder);
        made.take_while(|above| fs::remove_dir(above).is_ok()).for_each(drop);
        return Ok(());
    }
    // From the index, which git writes last; that is not written again, for which there may be no room.
    let write = |command: &mut std::process::Command| {
        command.arg("--").arg(&name);
    };
    let said = repository::run_with(folder, &["checkout-index", "-f"], write, b"")?;
    if said.is_fine() {
        return Ok(());
    }
    Err(repository::failed("checkout-index", folder, said.complaint()))
}

fn reading(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(format!("read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, args: &[&str]) -> String {
        let settings = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"];
        repository::ask(folder, &[&settings, args].concat()).unwrap()
    }

    fn commit(folder: &Path) -> String {
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-q", "-m", "x"]);
        git(folder, &["rev-parse", "HEAD"])
    }

    #[test]
    fn only_what_the_new_commit_has() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
            fs::write(folder.join(name), text).unwrap();
        };
        let write_all = |files: &[(&str, &str)]| {
            for (name, text) in files {
                write(name, text);
            }
        };
        git(folder, &["init", "-q"]);
        let old = [("changed", "one\n"), ("other", "one\n"), ("removed", "one\n"), ("own", "o\n")];
        write_all(&old);
        let from = commit(folder);
        let new =
            [("changed", "two\n"), ("other", "two\n"), ("new/a", "long text"), ("new/b", "b")];
        write_all(&new);
        write("empty", "e\n");
        fs::remove_file(folder.join("removed")).unwrap();
        let to = commit(folder);
        git(folder, &["reset", "-q", "--hard", &from]);
        // Half-way, beside what a person does.
        let half = [("changed", "two\n"), ("new/a", "long"), ("new/b", "mine"), ("empty", "")];
        write_all(&half);
        write("other", "mine\n");
        write("own", "mine\n");
        fs::remove_file(folder.join("removed")).unwrap();
        let before = repository::uncommitted(folder).unwrap();
        let nothing = take_back(folder, &from, &to, Before::Changed(&before)).unwrap();
        assert_eq!(nothing, 0, "all of it was there before");
        assert_eq!(take_back(folder, &from, &to, Before::Unknown).unwrap(), 3);
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        assert_eq!(read("changed").as_deref(), Some("one\n"));
        assert_eq!(read("removed").as_deref(), Some("one\n"));
        assert_eq!(read("new/a"), None);
        for (name, text) in
            [("new/b", "mine"), ("other", "mine\n"), ("own", "mine\n"), ("empty", "")]
        {
            assert_eq!(read(name).as_deref(), Some(text), "{name}");
        }
    }
}
