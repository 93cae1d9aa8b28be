//! Reads files that other users or programs may have placed: only regular files, and only up to a size limit.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::ProjectFile;

/// Opening a pipe does not block, and a terminal does not become our controlling one.
pub(crate) const UNHELD: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Reads a file, if it is a regular one of at most `max` bytes. Follows links: for files that belong to the user.
pub fn read_regular(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_opened(open_regular(path)?, max)
}

/// Opens a regular file for reading. A device is not opened at all: opening alone may have an effect.
pub fn open_regular(path: &Path) -> io::Result<File> {
    must_be_regular(&fs::metadata(path)?)?;
    let flags = UNHELD.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // Check the opened file: it may have been replaced in between.
    must_be_regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads an open file, if it is a regular one of at most `max` bytes.
pub fn read_opened(file: File, max: u64) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    must_be_regular(&metadata)?;
    if metadata.len() > max {
        return Err(too_large(max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    read_at_most(file, max, &mut bytes)?;
    Ok(bytes)
}

/// Reads a whole stream of at most `max` bytes.
pub fn read_limited(stream: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_at_most(stream, max, &mut bytes)?;
    Ok(bytes)
}

/// The first `max` bytes of a stream, or all of it if it has less.
pub fn read_up_to(stream: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// At most `max` bytes of a regular file, from a place that depends on its length.
pub fn read_part(path: &Path, from: impl FnOnce(u64) -> u64, max: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    let from = from(length);
    file.seek(SeekFrom::Start(from))?;
    let there = length.saturating_sub(from).min(max);
    // With room for all of it, one read gets it.
    let mut bytes = Vec::with_capacity(usize::try_from(there).unwrap_or(0));
    file.take(there).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file that a person names on the command line; inside a repository without following its links, because the text
/// goes to an agent. A shell's `<(…)` is a pipe, and is read to its end.
pub fn open_given(path: &Path) -> io::Result<File> {
    if is_handle(path) { File::open(path) } else { ProjectFile::named(None, path)?.open() }
}

/// The same for a text that only that person sees: links are followed.
pub fn open_own(path: &Path) -> io::Result<File> {
    if is_handle(path) { File::open(path) } else { open_regular(path) }
}

fn is_handle(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd", "/dev/stdin"].iter().any(|at| path.starts_with(at))
}

fn read_at_most(stream: impl Read, max: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    stream.take(max.saturating_add(1)).read_to_end(bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= max) {
        return Ok(());
    }
    Err(too_large(max))
}

fn must_be_regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(not_regular(kind_of(metadata.file_type()))) }
}

fn kind_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

/// Directories keep the kernel's error.
pub(crate) fn not_regular(kind: &'static str) -> io::Error {
    let number =
        if kind == "a folder" { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    io::Error::new(number, format!("not a regular file but {kind}"))
}

fn too_large(max: u64) -> io::Error {
    const MIB: u64 = 1024 * 1024;
    let limit = if max >= MIB { format!("{} MiB", max / MIB) } else { format!("{max} bytes") };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than the limit of {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let tmp = tempfile::tempdir().unwrap();
        let link = tmp.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let pipe = tmp.path().join("pipe");
        // macOS has no mkfifoat.
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = tmp.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, kind) in [
            (Path::new("/dev/zero"), "a device"),
            (&link, "a device"),
            (tmp.path(), "a folder"),
            (&pipe, "a named pipe"),
            (&socket, "a socket"),
            (Path::new("/dev/tty"), "a device"),
        ] {
            let error = read_regular(path, 10).unwrap_err().to_string();
            assert_eq!(error, format!("not a regular file but {kind}"), "{}", path.display());
        }
        let missing = read_regular(&tmp.path().join("none"), 10).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let file = tmp.path().join("file");
        fs::write(&file, "0123456789").unwrap();
        assert_eq!(read_regular(&file, 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_regular(&file, 10).unwrap(), b"0123456789");
    }

    #[test]
    fn a_huge_file_is_refused_before_it_is_read() {
        let tmp = tempfile::tempdir().unwrap();
        let sparse = tmp.path().join("sparse");
        File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
        let error = read_regular(&sparse, 16 * 1024 * 1024).unwrap_err();
        assert_eq!(error.to_string(), "larger than the limit of 16 MiB");
    }

    #[test]
    fn an_endless_stream_is_not_read_to_its_end() {
        assert!(read_limited(io::repeat(0), 1000).is_err());
        assert_eq!(read_up_to(io::repeat(0), 1000).unwrap().len(), 1000);
        assert_eq!(read_limited(&b"abc"[..], 3).unwrap(), b"abc");
    }
}
