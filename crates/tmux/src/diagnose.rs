//! What tmux's error text means. The wording is that of 3.2 to 3.7; tmux does not translate it.

/// The kinds of failure that callers distinguish.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    NoServer,
    ServerDying,
    /// The socket or the server is another user's.
    Denied,
    DuplicateSession(String),
    NotFound(String),
    TooLong,
    /// tmux does not know a command or flag: too old, perhaps.
    Usage,
    Other,
}

pub(crate) fn diagnose(message: &str) -> Trouble {
    if message.starts_with("no server running on") || is_unconnected(message) {
        return Trouble::NoServer;
    }
    if is_denied(message) {
        return Trouble::Denied;
    }
    // The last one: a server without any session has no target at all, and is about to exit.
    let dying = ["server exited", "lost server", "no current target"];
    if dying.iter().any(|start| message.starts_with(start)) {
        return Trouble::ServerDying;
    }
    if let Some(name) = message.strip_prefix("duplicate session: ") {
        return Trouble::DuplicateSession(name.to_owned());
    }
    if let Some(what) = message.strip_prefix("can't find ") {
        return Trouble::NotFound(what.replacen(": ", " ", 1));
    }
    if message.starts_with("command too long") {
        return Trouble::TooLong;
    }
    if is_usage(message) { Trouble::Usage } else { Trouble::Other }
}

/// Denied by the kernel, or by a server of 3.3 and newer that another user has not shared with us (`server-access`). tmux itself
/// refuses a socket directory of another user.
fn is_denied(message: &str) -> bool {
    let by_kernel = ["(Permission denied)", "(Operation not permitted)"];
    (is_silent_failure(message) && by_kernel.iter().any(|reason| message.ends_with(reason)))
        || message.starts_with("access not allowed")
        || message.contains("has unsafe permissions")
}

/// Other reasons are separate errors.
fn is_unconnected(message: &str) -> bool {
    message.starts_with("error connecting to")
        && ["(No such file or directory)", "(Connection refused)"]
            .iter()
            .any(|reason| message.ends_with(reason))
}

fn is_usage(message: &str) -> bool {
    message.starts_with("usage:")
        || ["unknown flag", "unknown command", "unknown option", "illegal option", "invalid option"]
            .iter()
            .any(|words| message.contains(words))
}

/// tmux reports a socket it cannot create with exit status 0 (seen on 3.3a).
pub(crate) fn is_silent_failure(message: &str) -> bool {
    message.starts_with("error creating ") || message.starts_with("error connecting to ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_tmux_are_classified() {
        for (message, trouble) in [
            ("no server running on /tmp/tmux-0/default", Trouble::NoServer),
            ("error connecting to /x/s (No such file or directory)", Trouble::NoServer),
            ("error connecting to /x/s (Permission denied)", Trouble::Denied),
            ("error connecting to /x/s (Operation not permitted)", Trouble::Denied),
            ("error creating /x/s (Permission denied)", Trouble::Denied),
            ("access not allowed", Trouble::Denied),
            ("directory /tmp/tmux-7 has unsafe permissions", Trouble::Denied),
            ("error connecting to /x/s (Not a directory)", Trouble::Other),
            ("server exited unexpectedly", Trouble::ServerDying),
            ("lost server", Trouble::ServerDying),
            ("no current target", Trouble::ServerDying),
            ("duplicate session: a b", Trouble::DuplicateSession("a b".into())),
            ("can't find session: web", Trouble::NotFound("session web".into())),
            ("can't find pane: %99", Trouble::NotFound("pane %99".into())),
            ("command too long", Trouble::TooLong),
            ("command list-panes: unknown flag -Z", Trouble::Usage),
            ("usage: list-panes [-as] [-F format] [-t target-window]", Trouble::Usage),
            ("tmux: illegal option -- N", Trouble::Usage),
            ("unknown command: frob", Trouble::Usage),
            ("no current client", Trouble::Other),
        ] {
            assert_eq!(diagnose(message), trouble, "{message}");
        }
    }
}
