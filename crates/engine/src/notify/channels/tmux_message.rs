use std::time::Duration;

use dogwatch_core::notice::Notice;
use dogwatch_tmux::{Command, Server};

use super::{NO_CLIENT, Sink, clients};

/// A line in the status line of every client that is attached to the tmux server.
pub(super) struct TmuxMessage {
    server: Server,
    shown: Duration,
}

impl TmuxMessage {
    pub(super) fn new(server: &Server, shown: Duration) -> Self {
        Self { server: server.running_only(), shown }
    }
}

impl Sink for TmuxMessage {
    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let mut server = self.server.clone();
        server.deadline = server.deadline.min(limit);
        let attached = clients::attached(&server)?;
        if attached.is_empty() {
            return Err(NO_CLIENT.to_owned());
        }
        let text = message(notice);
        let show = |client: &clients::Client| {
            Command::new("display-message")
                .option('c', client.tty.clone())
                .option('d', self.shown.as_millis().to_string())
                .arg(text.clone())
        };
        let shown: Vec<_> = attached.iter().map(|one| server.run_one(show(one))).collect();
        // A client that was just detached does not matter if another one has it.
        if shown.iter().any(Result::is_ok) {
            return Ok(());
        }
        Err(shown.into_iter().find_map(Result::err).map_or_else(String::new, |e| e.to_string()))
    }
}

/// In one line, and nothing in it is a format.
fn message(notice: &Notice) -> String {
    let first = notice.text.lines().next().unwrap_or_default();
    let gap = if first.is_empty() { "" } else { " · " };
    let line = format!("{}{gap}{first}", notice.title);
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.replace('#', "##").replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::notice::Occasion;

    #[test]
    fn nothing_in_it_is_a_format() {
        let notice = crate::notify::channels::notice(
            Occasion::Waiting,
            "a: 100% #(rm -r x)".into(),
            "first\nsecond".into(),
            &serde_json::Value::Null,
        );
        assert_eq!(message(&notice), "a: 100%% ##(rm -r x) · first");
    }
}
