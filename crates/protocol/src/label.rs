//! Titles and tags of sessions, and the archive.

use serde::Serialize;

use crate::id::SessionId;

/// A session with what a person calls it: the result of `tag add`, `tag rm` and `rename`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Labelled {
    pub name: String,
    pub id: SessionId,
    /// The title that a person gave it; null without one.
    pub title: Option<String>,
    pub tags: Vec<String>,
}

/// All tags, in alphabetical order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Tags {
    pub tags: Vec<Tag>,
}

/// A tag, and the sessions that have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Tag {
    pub tag: String,
    /// Names of sessions.
    pub sessions: Vec<String>,
}

/// Sessions that were archived, or came back: the result of `archive` and `unarchive`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ArchivedSessions {
    pub sessions: Vec<ArchivedSession>,
}

/// A session, and whether it is in the archive now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ArchivedSession {
    pub name: String,
    pub id: SessionId,
    pub archived: bool,
    /// Whether this command changed that.
    pub changed: bool,
}
