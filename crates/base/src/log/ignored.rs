use std::fmt::Display;
use std::io;
use std::panic::Location;

use rustix::io::Errno;

/// For an error that the caller ignores: it is logged, and the caller continues without the value.
pub trait Logged<T> {
    /// `what` names the action that failed.
    #[track_caller]
    fn logged(self, what: &str) -> Option<T>;
}

impl<T, E: Display> Logged<T> for Result<T, E> {
    fn logged(self, what: &str) -> Option<T> {
        match self {
            Ok(value) => Some(value),
            Err(error) => {
                note(what, &error, Location::caller());
                None
            }
        }
    }
}

/// The same for files that may be missing.
pub trait LoggedIo<T> {
    /// A missing file is not logged.
    #[track_caller]
    fn logged_unless_missing(self, what: &str) -> Option<T>;
}

impl<T> LoggedIo<T> for io::Result<T> {
    fn logged_unless_missing(self, what: &str) -> Option<T> {
        match self {
            Err(error) if is_missing(&error) => None,
            other => {
                // Not through the other trait, which would log this line as the caller.
                let at = Location::caller();
                other.inspect_err(|error| note(what, error, at)).ok()
            }
        }
    }
}

/// No such file; or no such process any more, for files of `/proc`.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || Errno::from_io_error(error) == Some(Errno::SRCH)
}

#[cold]
fn note(what: &str, error: &dyn Display, at: &Location<'_>) {
    tracing::debug!(target: "dogwatch::ignored", "{what}: {error} ({}:{})", at.file(), at.line());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_pass_and_errors_become_none() {
        assert_eq!(Ok::<_, String>(1).logged("count"), Some(1));
        assert_eq!(Err::<u8, _>("no").logged("count"), None);
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(Err::<u8, _>(missing()).logged_unless_missing("remove"), None);
        assert_eq!(Ok(2).logged_unless_missing("remove"), Some(2));
    }
}
