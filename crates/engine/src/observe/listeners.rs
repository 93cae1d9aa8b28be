//! Who listens on a port, by the kernel's word.

use std::fs;
use std::path::Path;

use dogwatch_base::log::LoggedIo as _;

use crate::observe::proc_files;

/// How many processes of an agent are looked at: a launcher starts one or two more.
const MOST_PROCESSES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// This process, or one that it started.
    Agent,
    Another,
    Nobody,
    /// The kernel does not say here.
    Unknown,
}

/// Who listens on a port of this machine.
pub fn on(port: u16, agent: i32) -> Listener {
    if !Path::new("/proc/self/net/tcp").exists() {
        return Listener::Unknown;
    }
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let tables = tables.iter().filter_map(|path| proc_files::read_kernel(Path::new(path)));
    let sockets: Vec<String> =
        tables.flat_map(|table| sockets(&String::from_utf8_lossy(&table), port)).collect();
    if sockets.is_empty() {
        return Listener::Nobody;
    }
    let mut queue = vec![agent];
    let mut looked = 0;
    while let Some(pid) = queue.pop() {
        looked += 1;
        if looked > MOST_PROCESSES {
            break;
        }
        if holds(pid, &sockets) {
            return Listener::Agent;
        }
        queue.extend(proc_files::children(pid));
    }
    Listener::Another
}

/// The sockets that listen on a port, as `/proc/net/tcp` lists them and as handles are named.
fn sockets(table: &str, port: u16) -> Vec<String> {
    const LISTENING: &str = "0A";
    let port = format!("{port:04X}");
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, own_port) = fields.get(1)?.rsplit_once(':')?;
        let listens = own_port == port && *fields.get(3)? == LISTENING;
        listens.then(|| format!("socket:[{}]", fields.get(9).copied().unwrap_or_default()))
    };
    table.lines().skip(1).filter_map(socket).collect()
}

fn holds(pid: i32, sockets: &[String]) -> bool {
    let handles = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut names = handles
        .filter_map(|handle| fs::read_link(handle.path()).logged_unless_missing("read a link"));
    names.any(|name| sockets.iter().any(|socket| Path::new(socket) == name))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn of_ourselves_and_of_others() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(on(port, me), Listener::Agent);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(on(port, i32::try_from(child.id()).unwrap()), Listener::Another);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(listener);
        assert_eq!(on(port, me), Listener::Nobody);
    }

    #[test]
    fn the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 x\n\
             \x20  1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1 x\n";
        assert_eq!(sockets(table, 8080), ["socket:[4242]"]);
        assert!(sockets(table, 8081).is_empty() && sockets("", 1).is_empty());
    }
}
