//! Who is attached to a tmux server.

use dogwatch_tmux::{Command, Server};

/// A person's terminal; control connections belong to programs.
pub(in crate::notify) struct Client {
    pub(in crate::notify) tty: String,
    /// Id of the tmux session that it shows.
    pub(in crate::notify) session: String,
}

pub(in crate::notify) fn attached(server: &Server) -> Result<Vec<Client>, String> {
    let format = "#{?client_control_mode,,#{session_id} #{client_tty}}";
    let list = Command::new("list-clients").option('F', format);
    let reply = match server.running_only().run_one(list) {
        Ok(reply) => reply,
        Err(error) if error.is_no_server() => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let text = String::from_utf8_lossy(reply.bytes());
    let client = |line: &str| {
        let (session, tty) = line.split_once(' ')?;
        tty.starts_with("/dev/").then(|| Client { tty: tty.into(), session: session.into() })
    };
    Ok(text.lines().filter_map(client).collect())
}
