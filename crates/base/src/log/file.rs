//! The log file of all long-running commands and runners.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

const NAME: &str = "dogwatch.log";
/// The previous log file, of the same size at most.
const OLD_NAME: &str = "dogwatch.log.1";
const MOST_BYTES: u64 = 1_000_000;

#[derive(Debug)]
pub(super) struct LogFile {
    folder: PathBuf,
    /// Prefix of each line: the process that wrote it.
    process: String,
    file: Mutex<Option<File>>,
}

impl LogFile {
    pub(super) fn new(folder: &Path) -> Self {
        let process = format!("[{}] ", std::process::id());
        Self { folder: folder.to_owned(), process, file: Mutex::new(None) }
    }

    fn append(&self, line: &[u8]) -> io::Result<()> {
        let mut kept = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = match kept.take() {
            Some(file) => file,
            None => open(&self.folder)?,
        };
        if file.metadata()?.len() >= MOST_BYTES {
            rotate(&self.folder, &file)?;
            file = open(&self.folder)?;
        }
        // One write per line, so that lines of several processes do not mix.
        let mut whole = self.process.clone().into_bytes();
        whole.extend_from_slice(line);
        file.write_all(&whole)?;
        *kept = Some(file);
        Ok(())
    }
}

fn open(folder: &Path) -> io::Result<File> {
    let path = folder.join(NAME);
    let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().mode(0o700).create(folder)?;
            open()
        }
        other => other,
    }
}

/// Renames a full file, unless another process did so first.
fn rotate(folder: &Path, full: &File) -> io::Result<()> {
    full.lock()?;
    let current = fs::metadata(folder.join(NAME));
    let is_current = current.is_ok_and(|m| full.metadata().is_ok_and(|own| own.ino() == m.ino()));
    if is_current { fs::rename(folder.join(NAME), folder.join(OLD_NAME)) } else { Ok(()) }
}

impl<'f> MakeWriter<'f> for LogFile {
    type Writer = &'f LogFile;

    fn make_writer(&'f self) -> Self::Writer {
        self
    }
}

impl Write for &LogFile {
    /// Never fails: a log that cannot be written, for example on a full disk, must not change what dogwatch does.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.append(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_share_a_file_of_limited_size() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join("log");
        let [one, other] = [LogFile::new(&folder), LogFile::new(&folder)];
        let line = format!("{}\n", "x".repeat(999));
        for _ in 0..3000 {
            (&one).write_all(line.as_bytes()).unwrap();
            (&other).write_all(line.as_bytes()).unwrap();
        }
        let length = |name| fs::metadata(folder.join(name)).unwrap().len();
        assert!(length(NAME) < MOST_BYTES + 3000, "{}", length(NAME));
        assert!(length(OLD_NAME) < MOST_BYTES + 3000, "{}", length(OLD_NAME));
        assert_eq!(fs::metadata(folder.join(NAME)).unwrap().mode() & 0o777, 0o600);
        let text = fs::read_to_string(folder.join(NAME)).unwrap();
        let process = format!("[{}] x", std::process::id());
        assert!(text.lines().all(|line| line.starts_with(&process) && line.ends_with('x')));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_ignored() {
        let log = LogFile::new(Path::new("/nonexistent/log"));
        assert!((&log).write_all(b"x\n").is_ok());
    }
}
