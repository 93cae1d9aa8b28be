//! The socket of a supervisor, which programs ask and listen to. The lines are those of `dogwatch_protocol::stream`.
//!
//! [`server`] is the supervisor's end: one thread that talks to all programs and waits for none. [`client`] is the end of a command.

pub mod client;
mod guest;
pub(crate) mod lines;
pub(crate) mod server;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use dogwatch_core::usage::hash;
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::Context;

/// How long a path of a socket may be on every system.
const LONGEST_PATH: usize = 100;

/// Where the supervisor of a tmux server listens.
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    name: String,
}

impl Place {
    pub fn of(context: &Context) -> Self {
        let (folder, name) = context.state.supervisor_socket(&context.socket);
        Self { folder, name }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The same place while nobody may connect to it yet.
    fn unready(&self) -> Self {
        Self { folder: self.folder.clone(), name: format!("{}.new", self.name) }
    }

    /// The address, for as long as what is returned with it lives: a folder whose path is too long for an address is named by its number.
    fn address(&self) -> io::Result<(SocketAddrUnix, Option<OwnedFd>)> {
        let path = self.path();
        if path.as_os_str().len() <= LONGEST_PATH {
            return Ok((SocketAddrUnix::new(&path)?, None));
        }
        let folder = rustix::fs::open(
            &self.folder,
            OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let by_number = Path::new("/proc/self/fd")
            .join(std::os::fd::AsRawFd::as_raw_fd(&folder).to_string())
            .join(&self.name);
        Ok((SocketAddrUnix::new(&by_number)?, Some(folder)))
    }
}

/// A socket that blocks nobody and is not handed to other programs.
fn new_socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// What a look depends on beside the state folder and the tmux server, as a fingerprint: a supervisor that was started by a program with
/// other folders or of another version would see something else than the program that asks.
pub(crate) fn view(context: &Context) -> String {
    let mut parts: Vec<u8> = env!("CARGO_PKG_VERSION").into();
    let mut add = |part: &[u8]| {
        parts.push(0);
        parts.extend_from_slice(part);
    };
    for path in [&context.home, &context.profiles, &context.config] {
        add(path.as_ref().map_or(b"-", |path| path.as_os_str().as_bytes()));
    }
    for (name, path) in &context.agent_roots {
        add(name.as_bytes());
        add(path.as_os_str().as_bytes());
    }
    format!("{:016x}", hash(&parts).cast_unsigned())
}
