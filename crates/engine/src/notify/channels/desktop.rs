use std::time::Duration;

use dogwatch_core::notice::Notice;
use dogwatch_tmux::Server;

use super::{Sink, clients, command};

/// A desktop notification, through the system's program for it, where the person is: on the desktop of whoever used the tmux server last.
/// Without any, it is that of our own environment.
pub(super) struct Desktop {
    server: Server,
}

impl Desktop {
    pub(super) fn new(server: &Server) -> Self {
        Self { server: server.running_only() }
    }
}

impl Sink for Desktop {
    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let mut server = self.server.clone();
        server.deadline = server.deadline.min(limit);
        let desktop = clients::desktop(&server);
        let env: Vec<_> =
            desktop.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        command::run(&words(notice), &env, b"", limit)
    }
}

#[cfg(not(target_os = "macos"))]
fn words(notice: &Notice) -> Vec<String> {
    // The text is parsed as markup, and a `<file>` in it would vanish as a tag; the title is not.
    let text = notice.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words = ["notify-send", "--app-name=dogwatch", "--", &notice.title, &text];
    words.map(ToOwned::to_owned).into()
}

/// The texts are passed as arguments: inside the script they could inject code.
#[cfg(target_os = "macos")]
fn words(notice: &Notice) -> Vec<String> {
    let script =
        "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
    ["osascript", "-e", script, &notice.title, &notice.text].map(ToOwned::to_owned).into()
}
