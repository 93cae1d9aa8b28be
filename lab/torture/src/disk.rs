//! A small private disk for the state that can be filled and made read-only.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Disk {
    at: PathBuf,
}

fn succeeds(program: &str, args: &[&str], at: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(args).arg(at).output().is_ok_and(|output| output.status.success())
}

impl Disk {
    /// `None` where no disk can be mounted: that needs root, and a kernel that allows it.
    pub(crate) fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).ok()?;
        let mounted = rustix::process::getuid().is_root()
            && succeeds("mount", &["-t", "tmpfs", "-o", "size=96m,mode=0700", "none"], at);
        let private = fs::set_permissions(at, fs::Permissions::from_mode(0o700)).is_ok();
        (mounted && private).then(|| Self { at: at.to_owned() })
    }

    /// Leaves not a byte.
    pub(crate) fn fill(&self) {
        let Ok(mut file) = fs::File::create(self.ballast()) else { return };
        for size in [1 << 20, 65536, 4096, 512, 1] {
            let block = vec![b'x'; size];
            while file.write_all(&block).is_ok() {}
        }
    }

    pub(crate) fn make_room(&self) {
        let _ = fs::remove_file(self.ballast());
    }

    /// The kernel refuses while a file is open for writing: retries until the time limit.
    pub(crate) fn make_read_only(&self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            if succeeds("mount", &["-o", "remount,ro"], &self.at) {
                return true;
            }
            // sleep: poll interval: writers must close their files first.
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    pub(crate) fn make_writable(&self) -> bool {
        succeeds("mount", &["-o", "remount,rw"], &self.at)
    }

    fn ballast(&self) -> PathBuf {
        self.at.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.make_writable();
        // Running processes keep it busy: unmount lazily.
        succeeds("umount", &["-l"], &self.at);
    }
}
