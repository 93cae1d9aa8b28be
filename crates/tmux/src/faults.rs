//! Known bugs of tmux versions, and how dogwatch handles each. docs/tmux.md has the measurements.

use crate::Version;

/// A bug of some tmux versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The first affected version, of those that are supported, and the first fixed one.
    since: &'static str,
    pub fixed_in: &'static str,
    pub what: &'static str,
    /// How dogwatch handles it.
    pub handled: &'static str,
    /// Whether it depends on [`crate::Server::connect_lock`] being usable.
    pub needs_lock: bool,
}

const FAULTS: [Fault; 7] = [
    Fault {
        since: "3.2",
        fixed_in: "3.3",
        what: "the server crashes when asked for the window of a pane that no longer exists",
        handled: "dogwatch never does that",
        needs_lock: false,
    },
    Fault {
        since: "3.2",
        fixed_in: "3.3",
        what: "new windows take the size of a control client, 80x24",
        handled: "dogwatch sets the size of its sessions after creating them",
        needs_lock: false,
    },
    Fault {
        since: "3.3",
        fixed_in: "3.4",
        what: "the server crashes on a layout that it cannot parse",
        handled: "dogwatch sends only tested layouts",
        needs_lock: false,
    },
    Fault {
        since: "3.2",
        fixed_in: "3.4",
        what: "the server crashes when text is pasted into a pane whose process has ended",
        handled: "dogwatch lets tmux check that in the same call",
        needs_lock: false,
    },
    Fault {
        since: "3.3",
        fixed_in: "3.5",
        what: "with `focus-events on`, the server can crash when you switch to a pane whose program was killed",
        handled: "dogwatch's runner switches focus reports off when the agent ends; a pane whose runner was killed too is not protected from your own keys",
        needs_lock: false,
    },
    Fault {
        since: "3.2",
        fixed_in: "3.7",
        what: "the server can crash when a control client connects while sessions change",
        handled: "dogwatch holds a lock while it connects or changes sessions; changes you make by hand in that millisecond are not protected",
        needs_lock: true,
    },
    Fault {
        since: "3.2",
        fixed_in: "3.6",
        what: "builds with utempter (Debian, Ubuntu) lose the exit status of panes",
        handled: "dogwatch's runner records how an agent ended",
        needs_lock: false,
    },
];

impl Version {
    /// The known bugs of this version.
    pub fn faults(&self) -> Vec<Fault> {
        let has = |fault: &Fault| {
            let bounds = (Self::parse(fault.since), Self::parse(fault.fixed_in));
            matches!(bounds, (Some(since), Some(fixed)) if *self >= since && *self < fixed)
        };
        FAULTS.into_iter().filter(has).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bugs_by_version() {
        for (version, expected) in [
            ("3.2", 5),
            ("3.2a", 5),
            ("3.3a", 5),
            ("3.4", 3),
            ("3.5a", 2),
            ("next-3.6", 2),
            ("3.6b", 1),
            ("3.7", 0),
            ("3.7c", 0),
            ("openbsd-7.4", 5),
        ] {
            let version = Version::parse(version).unwrap();
            assert_eq!(version.faults().len(), expected, "{version}");
        }
        for fault in FAULTS {
            assert!(Version::parse(fault.since).unwrap() < Version::parse(fault.fixed_in).unwrap());
        }
    }
}
