//! Who is attached to a tmux server.

use std::fs::File;

use dogwatch_base::log::LoggedIo as _;
use dogwatch_store::read_up_to;
use dogwatch_tmux::{Command, Server};

/// A person's terminal; control connections belong to programs.
pub(in crate::notify) struct Client {
    pub(in crate::notify) tty: String,
    /// Id of the tmux session that it shows.
    pub(in crate::notify) session: String,
    pid: u32,
}

/// More than an environment has in which a desktop is named.
const MOST_BYTES: u64 = 1024 * 1024;

/// Where a program finds the desktop of a person.
const OF_A_DESKTOP: [&str; 5] =
    ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"];
/// One of these is enough.
const NEEDED: [&str; 3] = ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY"];

/// Those that are attached now, the one that was used last first.
pub(in crate::notify) fn attached(server: &Server) -> Result<Vec<Client>, String> {
    let format =
        "#{?client_control_mode,,#{client_activity} #{client_pid} #{session_id} #{client_tty}}";
    let list = Command::new("list-clients").option('F', format);
    let reply = match server.running_only().run_one(list) {
        Ok(reply) => reply,
        Err(error) if error.is_no_server() => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    Ok(parse(&String::from_utf8_lossy(reply.bytes())))
}

fn parse(text: &str) -> Vec<Client> {
    let client = |line: &str| {
        let mut fields = line.splitn(4, ' ');
        let (used, pid) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse().ok()?);
        let (session, tty) = (fields.next()?.to_owned(), fields.next()?);
        tty.starts_with("/dev/").then(|| (used, Client { tty: tty.to_owned(), session, pid }))
    };
    let mut found: Vec<_> = text.lines().filter_map(client).collect();
    found.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
    found.into_iter().map(|(_, client)| client).collect()
}

/// The variables that lead to the desktop of whoever used the server last; none if nobody with a desktop is attached.
pub(super) fn desktop(server: &Server) -> Vec<(String, String)> {
    let attached = attached(server).unwrap_or_default();
    let environment = |one: &Client| {
        let file = File::open(format!("/proc/{}/environ", one.pid));
        let read = file.and_then(|file| read_up_to(file, MOST_BYTES));
        read.logged_unless_missing("read an environment").unwrap_or_default()
    };
    let mut found = attached.iter().map(|one| of_a_desktop(&environment(one)));
    found.find(|pairs| !pairs.is_empty()).unwrap_or_default()
}

fn of_a_desktop(environ: &[u8]) -> Vec<(String, String)> {
    let pair = |pair: &[u8]| {
        let (name, value) = std::str::from_utf8(pair).ok()?.split_once('=')?;
        let is_one = OF_A_DESKTOP.contains(&name) && !value.is_empty();
        is_one.then(|| (name.to_owned(), value.to_owned()))
    };
    let pairs: Vec<_> = environ.split(|byte| *byte == 0).filter_map(pair).collect();
    let leads_there = pairs.iter().any(|(name, _)| NEEDED.contains(&name.as_str()));
    if leads_there { pairs } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_used_last_is_first() {
        let text = "10 7 $0 /dev/pts/1\n\n30 8 $1 /dev/pts/2\n20 9 $0 client-9\nrubbish\n";
        let found: Vec<_> = parse(text).into_iter().map(|one| (one.tty, one.pid)).collect();
        assert_eq!(found, [("/dev/pts/2".to_owned(), 8), ("/dev/pts/1".to_owned(), 7)]);
    }

    #[test]
    fn only_what_leads_to_a_desktop_is_taken() {
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let environ = b"HOME=/h\0DISPLAY=:7\0XAUTHORITY=/x\0WAYLAND_DISPLAY=\0TOKEN=secret\0";
        assert_eq!(of_a_desktop(environ), [text("DISPLAY", ":7"), text("XAUTHORITY", "/x")]);
        assert_eq!(of_a_desktop(b"XDG_RUNTIME_DIR=/run/user/1\0"), [], "a terminal by ssh");
    }
}
