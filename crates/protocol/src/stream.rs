//! The lines that a program and a supervisor exchange over the supervisor's socket: a JSON object each.
//!
//! The supervisor greets first. The program's first line introduces it; all others are requests, each with a number that the replies to it
//! bear. Answers are the documents that the commands of the same names print.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::ErrorDetail;
use crate::id::SessionId;
use crate::keys::Interrupted;
use crate::message::When;
use crate::status::{StatusReport, WatchLine};

/// The versions of these lines that this program speaks.
pub const VERSIONS: Versions = Versions { from: 1, to: 1 };

/// From the oldest to the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Versions {
    pub from: u32,
    pub to: u32,
}

impl Versions {
    pub fn has(self, version: u32) -> bool {
        (self.from..=self.to).contains(&version)
    }
}

/// The supervisor's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Greeting {
    pub hello: Host,
}

/// Who serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Host {
    /// The versions of these lines that it speaks.
    pub protocol: Versions,
    /// The version of its program.
    pub version: String,
    pub pid: i32,
    /// The tmux server's socket.
    pub server: PathBuf,
}

/// A program's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Introduction {
    pub hello: Guest,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Guest {
    /// The version of these lines that it speaks.
    pub protocol: u32,
    /// What its own look would depend on, as a fingerprint: a supervisor that would look elsewhere refuses. Other programs leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// Any other line of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Request {
    /// Chosen by the program.
    pub id: u64,
    #[serde(flatten)]
    pub ask: Ask,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// What `status --json` prints; of all sessions that it lists, or of these, by name, id or pane.
    Status {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<String>,
    },
    /// What `why --json` prints.
    Why { session: String },
    /// What `ls --json` prints.
    Ls,
    /// What `tmux-status` prints, as `{"text": …}`.
    TmuxStatus,
    /// The session that `next` would go to, seen from this pane, as `{"session": ID}`.
    Next {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pane: Option<String>,
    },
    /// How the supervisor is: `health` of what `supervisor --json` prints.
    Health,
    /// Delivers a message. The answer is what `send --json` prints, when its outcome is known or the time is over.
    Send {
        session: String,
        text: String,
        /// A command of the agent's own, which is typed.
        #[serde(default)]
        slash: bool,
        #[serde(default = "when_idle")]
        when: When,
        /// How many seconds to wait for the agent. The message stays queued after that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u32>,
        /// A UUID: what was posted with it before is not posted again, and its outcome is the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Chooses an option of the open dialog. The answer is what `answer --json` prints.
    Answer {
        session: String,
        choice: String,
        /// The mark of the dialog that was shown: of no other one.
        dialog: String,
        /// As for `send`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Presses the keys that cut the running turn short, once. The answer is `{"interrupted": …}`.
    Interrupt {
        session: String,
        /// As for `send`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Presses the keys by which agents end. `kill` asks for it, and for the next step if they had no effect.
    Leave { agents: Vec<Leaving> },
    /// All sessions that are listed, or these, and from then on each change.
    Follow(Follow),
}

/// What is followed, and what is done meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Follow {
    /// Names, ids or panes; none for all sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
    /// A cursor: what has changed since is told instead of what there is, if it is still known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Send a row of each session, too, with all that a front end shows, and again whenever something of it may have changed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rows: bool,
    /// Keep the options `@dogwatch_state` and `@dogwatch_detail` of panes current meanwhile.
    #[serde(default, skip_serializing_if = "is_false")]
    pub labels: bool,
    /// Keep the option `@dogwatch_status` of the server current meanwhile. The request ends (`no_server`) with the tmux server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub status_line: bool,
}

/// The code of the error that ends a request with the tmux server.
pub const NO_SERVER: &str = "no_server";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn when_idle() -> When {
    When::Idle
}

/// An agent that is to end by its own keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Leaving {
    pub pane: String,
    /// The name of its profile.
    pub agent: String,
    /// Keys that the profile has for this, and no others.
    pub keys: Vec<String>,
}

/// The answer to `leave`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Left {
    /// Panes that took no keys.
    pub missed: Vec<String>,
}

/// The answer to `interrupt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct InterruptAnswer {
    pub interrupted: Interrupted,
}

/// Any other line of the supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Reply<T> {
    /// Of the request; missing in a complaint about a line that is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    #[serde(flatten)]
    pub is: Outcome<T>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome<T> {
    Answer(T),
    Error(ErrorDetail),
    /// The first reply to `follow`, unless the changes since its cursor are known.
    Snapshot(Snapshot),
    Change(Box<Change>),
    /// If rows are followed.
    Row(Box<SessionRow>),
    /// If rows are followed.
    Tmux(TmuxServer),
}

/// All sessions that are followed, at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// Names this moment.
    pub cursor: String,
    pub as_of: Timestamp,
    pub sessions: Vec<StatusReport>,
    /// The same, if rows are followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<SessionRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmux: Option<TmuxServer>,
}

/// The tmux server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TmuxServer {
    /// How many panes it has; none if there is no server, or it does not answer.
    pub panes: Option<usize>,
    /// There is one, and it does not answer.
    pub is_silent: bool,
}

/// A session with all that a front end shows of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionRow {
    #[serde(flatten)]
    pub session: StatusReport,
    /// The numbers that its dialog shows before its options; without any, they are counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<usize>,
    /// Its pane is there.
    pub has_pane: bool,
    /// A terminal shows its tmux session.
    pub attached: bool,
    pub title: Option<String>,
    pub folder: PathBuf,
    pub project: PathBuf,
    pub tags: Vec<String>,
    /// In a team.
    pub role: Option<String>,
    pub story: Option<String>,
    pub created: Timestamp,
    pub conversation: Option<String>,
}

/// One line of `watch --json`, and the moment after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Change {
    pub cursor: String,
    #[serde(flatten)]
    pub line: WatchLine,
}

/// The answer to `tmux_status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusLine {
    pub text: String,
}

/// The answer to `next`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NeedsYou {
    /// None if no session needs a person.
    pub session: Option<SessionId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Request, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    #[test]
    fn requests() {
        let status = |sessions: &[&str]| Ask::Status {
            sessions: sessions.iter().map(|&name| name.to_owned()).collect(),
        };
        for (line, ask) in [
            (r#"{"id":1,"ask":"status"}"#, status(&[])),
            (r#"{"id":1,"ask":"status","sessions":["a","b"]}"#, status(&["a", "b"])),
            (r#"{"id":1,"ask":"ls"}"#, Ask::Ls),
            (r#"{"ask":"why","session":"a","id":1}"#, Ask::Why { session: "a".to_owned() }),
            (r#"{"id":1,"ask":"follow"}"#, Ask::Follow(Follow::default())),
            (
                r#"{"id":1,"ask":"send","session":"a","text":"hi"}"#,
                Ask::Send {
                    session: "a".to_owned(),
                    text: "hi".to_owned(),
                    slash: false,
                    when: When::Idle,
                    timeout: None,
                    key: None,
                },
            ),
        ] {
            assert_eq!(read(line), Ok(Request { id: 1, ask }), "{line}");
        }
        for line in [
            "",
            "null",
            "[]",
            r#"{"id":1}"#,
            r#"{"ask":"ls"}"#,
            r#"{"id":-1,"ask":"ls"}"#,
            r#"{"id":1,"ask":"why"}"#,
            r#"{"id":1,"ask":"conquer"}"#,
            r#"{"id":1,"ask":"answer","session":"a","choice":"1"}"#,
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn replies() {
        let answer =
            Reply { id: Some(7), is: Outcome::Answer(StatusLine { text: "*1".to_owned() }) };
        let line = serde_json::to_string(&answer).unwrap();
        assert_eq!(line, r#"{"id":7,"answer":{"text":"*1"}}"#);
        assert_eq!(serde_json::from_str::<Reply<StatusLine>>(&line).unwrap(), answer);
    }
}
