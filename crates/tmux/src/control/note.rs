use std::str::FromStr;

use crate::{PaneId, SessionNo, WindowId};

/// Notifications of tmux, and changes of the connection.
///
/// "Unlinked" windows are those outside the client's own session, that is, the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A session was created or destroyed.
    SessionsChanged,
    /// The client is attached to this session now.
    SessionChanged {
        session: SessionNo,
        name: String,
    },
    SessionRenamed {
        session: SessionNo,
        name: String,
    },
    UnlinkedWindowAdd(WindowId),
    UnlinkedWindowClose(WindowId),
    UnlinkedWindowRenamed {
        window: WindowId,
        name: String,
    },
    WindowAdd(WindowId),
    WindowClose(WindowId),
    WindowRenamed {
        window: WindowId,
        name: String,
    },
    PaneModeChanged(PaneId),
    /// Only when the client was moved to a session with output, and with `no-output` not even then.
    Output {
        pane: PaneId,
        bytes: Vec<u8>,
    },
    /// The connection is lost; requests fail until `Reconnected`. There are no notifications for what happens in
    /// between: list again afterwards.
    Disconnected {
        reason: String,
    },
    Reconnected,
    /// A notification this crate does not know.
    Unknown(Vec<u8>),
}

impl Note {
    pub(super) fn parse(line: &[u8]) -> Self {
        Self::known(line).unwrap_or_else(|| Self::Unknown(line.to_vec()))
    }

    fn known(line: &[u8]) -> Option<Self> {
        let (kind, rest) = split_word(line);
        Some(match kind {
            b"%sessions-changed" => Self::SessionsChanged,
            b"%session-changed" => {
                let (session, name) = id_and_name(rest)?;
                Self::SessionChanged { session, name }
            }
            b"%session-renamed" => {
                let (session, name) = id_and_name(rest)?;
                Self::SessionRenamed { session, name }
            }
            b"%unlinked-window-add" => Self::UnlinkedWindowAdd(id(rest)?),
            b"%unlinked-window-close" => Self::UnlinkedWindowClose(id(rest)?),
            b"%unlinked-window-renamed" => {
                let (window, name) = id_and_name(rest)?;
                Self::UnlinkedWindowRenamed { window, name }
            }
            b"%window-add" => Self::WindowAdd(id(rest)?),
            b"%window-close" => Self::WindowClose(id(rest)?),
            b"%window-renamed" => {
                let (window, name) = id_and_name(rest)?;
                Self::WindowRenamed { window, name }
            }
            b"%pane-mode-changed" => Self::PaneModeChanged(id(rest)?),
            b"%output" => {
                let (pane, text) = split_word(rest);
                Self::Output { pane: id(pane)?, bytes: unescape(text) }
            }
            _ => return None,
        })
    }
}

fn split_word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

/// Newer releases may append words.
fn id<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(split_word(text).0).ok()?.parse().ok()
}

fn id_and_name<T: FromStr>(text: &[u8]) -> Option<(T, String)> {
    let (number, name) = split_word(text);
    Some((id(number)?, String::from_utf8_lossy(name).into_owned()))
}

/// Output has control bytes and the backslash as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|_| first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_parsed() {
        let name = |text: &str| text.to_owned();
        for (line, note) in [
            ("%sessions-changed", Note::SessionsChanged),
            (
                "%session-changed $1 _a b",
                Note::SessionChanged { session: SessionNo(1), name: name("_a b") },
            ),
            (
                "%session-renamed $1 x",
                Note::SessionRenamed { session: SessionNo(1), name: name("x") },
            ),
            ("%unlinked-window-add @2", Note::UnlinkedWindowAdd(WindowId(2))),
            ("%unlinked-window-close @2", Note::UnlinkedWindowClose(WindowId(2))),
            ("%window-close @2 more", Note::WindowClose(WindowId(2))),
            ("%window-renamed @1 ", Note::WindowRenamed { window: WindowId(1), name: name("") }),
            ("%pane-mode-changed %3", Note::PaneModeChanged(PaneId(3))),
            (
                "%output %1 a\\015\\012\\134\\9",
                Note::Output { pane: PaneId(1), bytes: b"a\r\n\\\\9".to_vec() },
            ),
        ] {
            assert_eq!(Note::parse(line.as_bytes()), note);
        }
    }

    #[test]
    fn unknown_notifications_are_kept() {
        for line in
            ["%layout-change @1 x", "%window-add 3", "%window-add", "%session-changed", "%", "text"]
        {
            assert_eq!(Note::parse(line.as_bytes()), Note::Unknown(line.into()), "{line}");
        }
    }
}
