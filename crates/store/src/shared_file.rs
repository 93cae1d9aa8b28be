//! Edits files that people edit too, with any editor.
//!
//! A lock beside the file serialises dogwatch's own edits. A person's editor ignores it, so their saves are detected: the new text
//! is exchanged with the old file, and if that is not the text the edit was based on, it is put back and the edit is
//! repeated. After an editor wrote in place, wait until the file has been quiet for a moment.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::project::{Folder, New, ProjectFile};
use crate::regular::read_opened;
use crate::{StoreError, read_limited};

/// How long to wait for another dogwatch process.
const LOCKED: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(2);
/// How long a file that an editor has just written must be quiet: the editor may not have finished.
const QUIET: Duration = Duration::from_millis(300);
/// Longer for an empty file: editors that write in place truncate it first, and a busy machine may pause there.
const QUIET_EMPTY: Duration = Duration::from_secs(3);
/// Limit on that wait, for a clock that was set back or a person who saves constantly.
const MOST_WAITING: Duration = Duration::from_secs(4);
/// Longest file that is accepted as one that people read.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How long to keep what a killed writer left behind.
const LEFTOVERS: Duration = Duration::from_hours(24);
/// How often an edit is repeated because a person saved meanwhile.
const MOST_TRIES: usize = 100;

/// Mode of a new file, before the umask.
const NEW: Mode = Mode::from_bits_retain(0o666);
/// Larger than the content of any lock.
const MOST_LOCK: u64 = 1024;

/// Reads the text of a shared file; `None` if there is none.
pub fn read_shared(file: &ProjectFile) -> Result<Option<String>, StoreError> {
    let path = file.path();
    let begun = Instant::now();
    loop {
        let failed = |source| StoreError::NotReadable { path: path.clone(), source };
        let Some(bytes) = file.read(MOST_BYTES).map_err(failed)? else { return Ok(None) };
        // An editor may be about to write it.
        if bytes.is_empty() && begun.elapsed() < QUIET {
            // sleep: no event says that an editor has finished writing.
            thread::sleep(AGAIN);
            continue;
        }
        return into_text(&path, bytes).map(Some);
    }
}

/// Fails if [`edit_shared`] could not write the file: for callers that act first and record afterwards.
pub(crate) fn must_be_writable(file: &ProjectFile) -> Result<(), StoreError> {
    let place = Place::open(file)?;
    let _lock = place.lock()?;
    let bytes = place.read()?.map(|(bytes, _)| bytes).unwrap_or_default();
    place
        .folder
        .new_file(&place.name, &bytes, NEW)
        .map(drop)
        .map_err(|source| place.sharing(source))
}

/// Changes a shared file. `change` gets its text, `None` if there is no file yet, and returns the new text; it may be called
/// again if a person saved meanwhile. Nothing is written if the text is the same.
pub fn edit_shared<T, E: From<StoreError>>(
    file: &ProjectFile,
    mut change: impl FnMut(Option<&str>) -> Result<(String, T), E>,
) -> Result<T, E> {
    let place = Place::open(file)?;
    let mut lock = place.lock()?;
    for _ in 0..MOST_TRIES {
        let before = place.settled(&lock)?;
        let text =
            before.as_ref().map(|(bytes, _)| into_text(&place.path, bytes.clone())).transpose()?;
        let (after, value) = change(text.as_deref())?;
        if text.as_deref() == Some(after.as_str()) {
            return Ok(value);
        }
        let new = place.write_beside(after.as_bytes(), before.as_ref().map(|(_, meta)| meta));
        let new = new.map_err(|source| place.sharing(source))?;
        let old = before.map(|(bytes, _)| bytes);
        // Of the file as we wrote it: an editor may write into it as soon as it is in place.
        let version =
            new.file.metadata().logged_unless_missing("look at a file").map(|meta| version(&meta));
        if place
            .put(new, after.as_bytes(), old.as_deref())
            .map_err(|source| place.sharing(source))?
        {
            lock.note(version.as_deref());
            return Ok(value);
        }
    }
    Err(StoreError::Busy { path: place.path }.into())
}

/// The file's directory, open, and its name in it.
struct Place {
    folder: Folder,
    name: OsString,
    path: std::path::PathBuf,
}

impl Place {
    fn open(file: &ProjectFile) -> Result<Self, StoreError> {
        let path = file.path();
        let name = path.file_name().unwrap_or_default().to_owned();
        let open = || {
            let folder = file.folder()?;
            folder.must_be_writable(&name)?;
            Ok(folder)
        };
        let folder = open().map_err(|source| StoreError::sharing(&path, source))?;
        Ok(Self { folder, name, path })
    }

    fn sharing(&self, source: io::Error) -> StoreError {
        StoreError::sharing(&self.path, source)
    }

    fn read(&self) -> Result<Option<(Vec<u8>, Metadata)>, StoreError> {
        let failed = |source| StoreError::NotReadable { path: self.path.clone(), source };
        let file = match self.folder.open_regular(&self.name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let again = file.try_clone().map_err(failed)?;
        let bytes = read_opened(file, MOST_BYTES).map_err(failed)?;
        // Read after the content, so that a write in between is noticed.
        Ok(Some((bytes, again.metadata().map_err(failed)?)))
    }

    /// The file once it seems that no editor is writing it.
    fn settled(&self, lock: &Lock) -> Result<Option<(Vec<u8>, Metadata)>, StoreError> {
        let begun = Instant::now();
        loop {
            let Some((bytes, meta)) = self.read()? else { return Ok(None) };
            let age = meta
                .modified()
                .logged("read when a file was changed")
                .and_then(|at| SystemTime::now().duration_since(at).ok());
            let quiet = if bytes.is_empty() { QUIET_EMPTY } else { QUIET };
            let is_quiet = age.is_some_and(|age| age >= quiet);
            if is_quiet || lock.was_ours(&meta) || begun.elapsed() > MOST_WAITING {
                return Ok(Some((bytes, meta)));
            }
            // sleep: no event says that an editor has finished writing.
            thread::sleep(quiet.saturating_sub(age.unwrap_or_default()).clamp(AGAIN, QUIET));
        }
    }

    /// Writes the new text into a file beside the old one, flushed to disk, with mode and owner of the old one.
    fn write_beside(&self, bytes: &[u8], old: Option<&Metadata>) -> io::Result<New<'_>> {
        self.sweep();
        let new = self.folder.new_file(&self.name, bytes, NEW)?;
        if let Some(old) = old {
            let meta = new.file.metadata()?;
            if (meta.uid(), meta.gid()) != (old.uid(), old.gid()) {
                // Only root can change the owner; for others the file becomes their own.
                std::os::unix::fs::fchown(&new.file, Some(old.uid()), Some(old.gid()))
                    .logged("set the owner of a file");
            }
            new.file.set_permissions(old.permissions())?;
        }
        Ok(new)
    }

    /// Puts the new file in place, if the old one is unchanged.
    fn put(&self, new: New<'_>, ours: &[u8], old: Option<&[u8]>) -> io::Result<bool> {
        let Some(old) = old else {
            return match new.persist_new(&self.name) {
                Ok(()) => self.folder.sync().map(|()| true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error),
            };
        };
        let read = |name: &OsStr| self.folder.read(name, MOST_BYTES);
        if read(&self.name).ok().as_deref() != Some(old) {
            return Ok(false);
        }
        let swap = || self.folder.exchange(new.name(), &self.name);
        match swap() {
            Ok(()) => {}
            // This file system cannot exchange files; a very short race remains.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                new.persist(&self.name)?;
                return self.folder.sync().map(|()| true);
            }
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        if read(new.name())? == old {
            return self.folder.sync().map(|()| true);
        }
        // A person saved just now: put it back, until what comes out is ours.
        let put_back = || -> io::Result<bool> {
            for _ in 0..MOST_TRIES {
                if read(new.name())? == ours {
                    return Ok(true);
                }
                swap()?;
            }
            Ok(false)
        };
        if put_back().unwrap_or(false) {
            return Ok(false);
        }
        // Not ours, so keep it.
        let kept = new.keep();
        let problem = format!(
            "other processes write to it at the same time; the previous content is in {}",
            kept.display()
        );
        Err(io::Error::other(problem))
    }

    /// Removes what killed writers left behind. Only after a day: it may be a person's save that was about to
    /// be put back.
    fn sweep(&self) {
        let prefix = format!(".{}.new-", self.name.to_string_lossy());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for name in self.folder.names().unwrap_or_default() {
            if !name.to_string_lossy().starts_with(&prefix) {
                continue;
            }
            let written = self
                .folder
                .stat(&name)
                .logged("look at a file")
                .and_then(|stat| u64::try_from(stat.st_mtime).ok());
            if written.is_some_and(|at| now.saturating_sub(Duration::from_secs(at)) > LEFTOVERS) {
                self.folder.unlink(&name).logged("remove a file");
            }
        }
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        let name = lock_name(&self.name);
        let path = self.path.with_file_name(&name);
        let failed = |source| StoreError::sharing(&path, source);
        let mut file = self.folder.open_own(&name, OFlags::RDWR).map_err(failed)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // sleep: the kernel has no wait for a lock with a time limit.
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCKED => thread::sleep(AGAIN),
                Err(TryLockError::WouldBlock) => return Err(StoreError::Busy { path }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        // Anything in the lock that we did not write is ignored.
        let ours = read_limited((&mut file).take(MOST_LOCK), MOST_LOCK)
            .logged("read a lock")
            .unwrap_or_default();
        Ok(Lock { file, ours: String::from_utf8_lossy(&ours).into_owned() })
    }
}

fn into_text(path: &Path, bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let source = io::Error::other(format!("not valid UTF-8 (byte {at}); it was not changed"));
        StoreError::NotReadable { path: path.to_owned(), source }
    })
}

/// The lock, and the version of the file that we wrote last.
struct Lock {
    file: File,
    ours: String,
}

impl Lock {
    fn was_ours(&self, meta: &Metadata) -> bool {
        self.ours == version(meta)
    }

    /// If this fails, the next process only waits a little longer than necessary.
    fn note(&mut self, version: Option<&str>) {
        self.file.seek(SeekFrom::Start(0)).logged("write a lock");
        let text = version.unwrap_or_default().as_bytes();
        self.file.set_len(0).and_then(|()| self.file.write_all(text)).logged("write a lock");
    }
}

fn version(meta: &Metadata) -> String {
    format!("{} {} {} {}\n", meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len())
}

fn lock_name(name: &OsStr) -> OsString {
    let mut name = name.to_owned();
    name.push(".lock");
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    fn file(path: &Path) -> ProjectFile {
        ProjectFile::named(None, path).unwrap()
    }

    fn lock_path(path: &Path) -> PathBuf {
        path.with_file_name(lock_name(path.file_name().unwrap()))
    }

    fn append(path: &Path, word: &str) {
        edit_shared(&file(path), |text| {
            Ok::<_, StoreError>((format!("{}{word}\n", text.unwrap_or_default()), ()))
        })
        .unwrap();
    }

    #[test]
    fn a_read_only_file_is_reported_before_the_edit() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s.md");
        must_be_writable(&file(&path)).unwrap();
        append(&path, "a");
        must_be_writable(&file(&path)).unwrap();
        let refused = |what: &str| {
            let error = must_be_writable(&file(&path)).unwrap_err();
            assert!(matches!(error, StoreError::NotShared { .. }), "{what}: {error}");
            let change = |_: Option<&str>| -> Result<_, StoreError> { panic!("{what}: asked") };
            let error = edit_shared::<(), StoreError>(&file(&path), change).unwrap_err();
            assert!(matches!(error, StoreError::NotShared { .. }), "{what}: {error}");
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        refused("a file that was made read-only");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::remove_file(lock_path(&path)).unwrap();
        fs::create_dir(lock_path(&path)).unwrap();
        refused("a folder in the place of the lock");
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\n");
        assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 2, "nothing was left behind");
    }

    #[test]
    fn a_file_is_created_and_changed_with_its_mode() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s.md");
        assert_eq!(read_shared(&file(&path)).unwrap(), None);
        append(&path, "a");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        append(&path, "b");
        assert_eq!(read_shared(&file(&path)).unwrap().as_deref(), Some("a\nb\n"));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        let mut names: Vec<_> =
            fs::read_dir(tmp.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["s.md", "s.md.lock"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let tmp = tempfile::tempdir().unwrap();
        let (real, link) = (tmp.path().join("real.md"), tmp.path().join("link.md"));
        append(&real, "a");
        std::os::unix::fs::symlink("real.md", &link).unwrap();
        append(&link, "b");
        assert!(link.is_symlink());
        assert_eq!(read_shared(&file(&real)).unwrap().as_deref(), Some("a\nb\n"));
    }

    #[test]
    fn many_simultaneous_edits_lose_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s.md");
        thread::scope(|scope| {
            for hand in 0..4 {
                let path = &path;
                scope.spawn(move || (0..25).for_each(|n| append(path, &format!("{hand}-{n}"))));
            }
        });
        let text = read_shared(&file(&path)).unwrap().unwrap();
        assert_eq!(text.lines().count(), 100, "{text}");
    }

    /// Saved during the edit, in both ways that editors use.
    #[test]
    fn a_persons_save_is_never_lost() {
        for in_place in [false, true] {
            let tmp = tempfile::tempdir().unwrap();
            let path = tmp.path().join("s.md");
            append(&path, "first");
            let mut calls = 0;
            edit_shared(&file(&path), |text| {
                calls += 1;
                let text = text.unwrap_or_default().to_owned();
                if calls == 1 {
                    let theirs = format!("{text}theirs\n");
                    if in_place {
                        fs::write(&path, theirs).unwrap();
                    } else {
                        let new = tmp.path().join("editor");
                        fs::write(&new, theirs).unwrap();
                        fs::rename(&new, &path).unwrap();
                    }
                }
                Ok::<_, StoreError>((format!("{text}ours\n"), ()))
            })
            .unwrap();
            assert_eq!(
                read_shared(&file(&path)).unwrap().as_deref(),
                Some("first\ntheirs\nours\n")
            );
            assert_eq!(calls, 2);
        }
    }

    #[test]
    fn a_file_that_is_not_text_is_left_alone() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s.md");
        fs::write(&path, b"a\xffb").unwrap();
        let error =
            edit_shared(&file(&path), |_| Ok::<_, StoreError>(("x".to_owned(), ()))).unwrap_err();
        assert!(error.to_string().contains("not valid UTF-8 (byte 1)"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"a\xffb");
        assert!(read_shared(&file(tmp.path())).is_err(), "a folder");
    }
}
