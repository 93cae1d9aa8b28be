use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// A whole file, if it is a regular one of at most `max` bytes. Opening a pipe would wait for its other end, and a device
/// has none.
pub fn read_regular(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.len() > max {
        let problem = format!("it has more than {max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let tmp = tempfile::tempdir().unwrap();
        let link = tmp.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [Path::new("/dev/zero"), &link, tmp.path(), Path::new("/dev/tty")] {
            assert!(read_regular(path, 10).is_err(), "{}", path.display());
        }
        let missing = read_regular(&tmp.path().join("none"), 10).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let file = tmp.path().join("file");
        fs::write(&file, "0123456789").unwrap();
        assert_eq!(read_regular(&file, 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_regular(&file, 10).unwrap(), b"0123456789");
    }
}
