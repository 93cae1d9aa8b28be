//! What was typed into a pane and not read by its program: an agent that has not read is busy, however long it takes.

use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::observe::interests;
use crate::observe::snapshot::SessionSnapshot;

/// Whether something is unread. Where that cannot be known, nothing is. What was typed a moment ago may not have reached the agent's end
/// of the terminal yet and is not counted: whoever decides by this looks again for seconds before.
pub(crate) fn has_any(seen: &SessionSnapshot) -> bool {
    interests::terminal(seen).is_some_and(|path| count(&path).is_ok_and(|bytes| bytes > 0))
}

fn count(terminal: &Path) -> rustix::io::Result<u64> {
    // Opened without becoming our own terminal, and without waiting for it.
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::io::ioctl_fionread(rustix::fs::open(terminal, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    use super::*;

    #[test]
    fn bytes_count_until_they_are_read() {
        let master = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let terminal = PathBuf::from(name.to_str().unwrap());
        let slave = rustix::fs::open(&terminal, OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        let slave = slave.unwrap();
        let mut modes = tcgetattr(&slave).unwrap();
        modes.make_raw();
        tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
        assert_eq!(count(&terminal).unwrap(), 0);
        rustix::io::write(&master, b"hello").unwrap();
        // The kernel hands it from one end to the other in its own time.
        let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
        let arrived = poll(&mut [PollFd::new(&slave, PollFlags::IN)], Some(&patience)).unwrap();
        assert_eq!(arrived, 1, "a byte that was written can be read");
        assert_eq!(count(&terminal).unwrap(), 5);
        rustix::io::read(&slave, &mut [0; 16]).unwrap();
        assert_eq!(count(&terminal).unwrap(), 0);
        assert!(count(Path::new("/dev/pts/none")).is_err());
    }
}
