//! All hosts and their sessions, combined from retained messages.

use std::collections::BTreeMap;

use super::{HostStatus, Place, Presence, SessionState, Topics};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPicture {
    /// Its own status message.
    pub status: Option<HostStatus>,
    /// Its sessions by their topic level; for an offline host, as last published.
    pub sessions: BTreeMap<String, SessionState>,
}

impl HostPicture {
    /// Whether the states of its sessions are current: its relay is connected.
    pub fn is_online(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.state == Presence::Online)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    pub hosts: BTreeMap<String, HostPicture>,
}

impl Picture {
    /// Applies a message; returns whether it changed anything. Unreadable messages are ignored: any tool may publish to a broker.
    pub fn take_in(&mut self, topics: &Topics, topic: &str, payload: &[u8]) -> bool {
        match topics.read(topic) {
            Some(Place::Status { host }) => {
                let status = serde_json::from_slice::<HostStatus>(payload).ok();
                if !payload.is_empty() && status.is_none() {
                    return false;
                }
                self.change(host, |found| {
                    std::mem::replace(&mut found.status, status.clone()) != status
                })
            }
            Some(Place::State { host, session }) if payload.is_empty() => {
                self.change(host, |found| found.sessions.remove(session).is_some())
            }
            Some(Place::State { host, session }) => {
                let Ok(state) = serde_json::from_slice::<SessionState>(payload) else {
                    return false;
                };
                self.change(host, |found| {
                    let before = found.sessions.insert(session.to_owned(), state.clone());
                    before.as_ref() != Some(&state)
                })
            }
            _ => false,
        }
    }

    fn change(&mut self, host: &str, change: impl FnOnce(&mut HostPicture) -> bool) -> bool {
        let changed = change(self.hosts.entry(host.to_owned()).or_default());
        self.hosts.retain(|_, found| *found != HostPicture::default());
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hosts_come_and_go_with_their_messages() {
        let topics = Topics::new("d").unwrap();
        let mut picture = Picture::default();
        let status = |state: &str| {
            json!({ "v": 1, "host": "box", "state": state, "since": "2026-11-15T12:00:00Z" })
                .to_string()
        };
        let fix = json!({
            "v": 1, "host": "box", "session": { "id": "1", "name": "fix", "agent": "claude" }, "ours": true,
            "at": "2026-11-15T12:00:00Z", "basis": "asserted", "status": { "state": "exited" },
        })
        .to_string();
        let mut tell =
            |topic: &str, payload: &str| picture.take_in(&topics, topic, payload.as_bytes());
        assert!(tell("d/box/session/fix/state", &fix));
        assert!(!tell("d/box/session/fix/state", &fix), "no news");
        assert!(tell("d/box/status", &status("online")));
        assert!(!tell("d/box/status", "garbage"));
        assert!(!tell("other/box/status", &status("gone")));
        let online = |picture: &Picture| picture.hosts["box"].is_online();
        assert!(online(&picture) && picture.hosts["box"].sessions.len() == 1);
        assert!(picture.take_in(&topics, "d/box/status", status("gone").as_bytes()));
        assert!(!online(&picture));
        assert!(picture.take_in(&topics, "d/box/session/fix/state", b""));
        assert!(picture.take_in(&topics, "d/box/status", b""));
        assert_eq!(picture, Picture::default(), "forgotten");
    }
}
