//! Conversations as agents keep them on disk: whether one is there, and which belong to a folder. Read only.

mod agy;
mod claude;
mod codex;

pub(crate) use codex::id_of;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::profile::{ConversationWay, Profile};
use dogwatch_core::registry::{Artifact, Conversation};
use dogwatch_store::{Session, Store};
use jiff::Timestamp;
use serde::Deserialize;

use crate::Context;
use crate::observe::{processes, transcripts};

/// Looks for conversations, and lists no folder twice.
#[derive(Debug)]
pub struct Finder<'c> {
    context: &'c Context,
    listed: HashMap<PathBuf, HashMap<String, PathBuf>>,
}

impl<'c> Finder<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self { context, listed: HashMap::new() }
    }

    /// Whether a conversation is on disk. `cwd` is where it should be about, `pid` the process that has it, if it lives: its
    /// folders need not be ours.
    pub fn find(
        &mut self,
        profile: &Profile,
        id: &str,
        cwd: Option<&str>,
        pid: Option<i32>,
    ) -> Artifact {
        // An id is part of a path here.
        if !dogwatch_core::id::is_id(id) {
            return Artifact::Missing(format!("{id:?} is not a valid conversation id"));
        }
        let Some(rules) = &profile.conversations else {
            return self.find_transcript(profile, id);
        };
        let mut looked = PathBuf::new();
        for root in self.roots(profile, pid) {
            let usual = match rules.way {
                ConversationWay::ClaudeProjects => claude::usual(&root, id, cwd),
                ConversationWay::CodexRollouts => codex::usual(&root, id),
                ConversationWay::AgyDatabases => agy::usual(&root, id),
            };
            if usual.is_file() {
                return Artifact::Found(usual.display().to_string());
            }
            let listed = self.listed.entry(root.clone()).or_insert_with(|| match rules.way {
                ConversationWay::ClaudeProjects => claude::all(&root),
                ConversationWay::CodexRollouts => codex::all(&root),
                ConversationWay::AgyDatabases => HashMap::new(),
            });
            if let Some(path) = listed.get(id) {
                return Artifact::Found(path.display().to_string());
            }
            looked = usual;
        }
        Artifact::Missing(looked.display().to_string())
    }

    fn find_transcript(&self, profile: &Profile, id: &str) -> Artifact {
        let patterns = profile.transcript.as_ref().map(|rules| rules.find.as_slice());
        let (home, patterns) = (self.context.home.as_deref(), patterns.unwrap_or_default());
        match home.and_then(|home| transcripts::find(home, patterns, id)) {
            Some(path) => Artifact::Found(path.display().to_string()),
            None => Artifact::Missing(format!("{} of {id}", patterns.join(", "))),
        }
    }

    /// The conversations about a folder that were written to since then.
    pub fn in_folder(
        &self,
        profile: &Profile,
        folder: &str,
        since: Option<Timestamp>,
        pid: Option<i32>,
    ) -> Vec<Conversation> {
        let Some(rules) = &profile.conversations else { return Vec::new() };
        let since = since.unwrap_or(Timestamp::MIN);
        let look = |root: PathBuf| match rules.way {
            ConversationWay::ClaudeProjects => claude::in_folder(&root, folder, since),
            ConversationWay::CodexRollouts => codex::in_folder(&root, folder, since),
            ConversationWay::AgyDatabases => agy::in_folder(&root, folder, since),
        };
        let found = self.roots(profile, pid).into_iter().flat_map(look);
        found
            .map(|(id, modified)| Conversation {
                agent: profile.name.clone(),
                id,
                folder: folder.to_owned(),
                modified,
            })
            .collect()
    }

    /// The files of conversations about a folder that were begun since then by a process that lives.
    pub fn begun_in(
        &self,
        profile: &Profile,
        folder: &str,
        since: Timestamp,
        pid: i32,
    ) -> Vec<PathBuf> {
        let Some(rules) = &profile.conversations else { return Vec::new() };
        let look = |root: PathBuf| match rules.way {
            ConversationWay::ClaudeProjects => claude::begun_in(&root, folder, since),
            ConversationWay::CodexRollouts => codex::begun_in(&root, folder, since),
            ConversationWay::AgyDatabases => Vec::new(),
        };
        self.roots(profile, Some(pid)).into_iter().flat_map(look).collect()
    }

    /// Every conversation of an agent that keeps them as transcripts, with its id.
    pub fn every(&self, profile: &Profile) -> Vec<(Option<String>, PathBuf)> {
        let Some(rules) = &profile.conversations else { return self.every_transcript(profile) };
        let list = |root: PathBuf| match rules.way {
            ConversationWay::ClaudeProjects => claude::all(&root),
            ConversationWay::CodexRollouts => codex::all(&root),
            ConversationWay::AgyDatabases => HashMap::new(),
        };
        let found = self.roots(profile, None).into_iter().flat_map(list);
        found.map(|(id, path)| (Some(id), path)).collect()
    }

    fn every_transcript(&self, profile: &Profile) -> Vec<(Option<String>, PathBuf)> {
        let Some((home, rules)) = self.context.home.as_deref().zip(profile.transcript.as_ref())
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for pattern in &rules.find {
            let pattern = pattern.replace("@conversation@", "*").replace("@conversation8@", "*");
            let paths = pattern.split('/').fold(vec![home.to_owned()], |found, part| {
                found.iter().flat_map(|dir| transcripts::entries(dir, part)).collect()
            });
            found.extend(paths.into_iter().map(|path| (None, path)));
        }
        found
    }

    /// All files of a conversation that was found, for who wants them gone.
    pub fn files(profile: &Profile, found: PathBuf) -> Vec<PathBuf> {
        let way = profile.conversations.as_ref().map(|rules| rules.way);
        let beside = match way {
            Some(ConversationWay::ClaudeProjects) => claude::beside(&found),
            Some(ConversationWay::AgyDatabases) => agy::beside(&found),
            Some(ConversationWay::CodexRollouts) | None => Vec::new(),
        };
        [found].into_iter().chain(beside).collect()
    }

    /// Where an agent's folder may be: where the process that runs says, else where ours would be.
    fn roots(&self, profile: &Profile, pid: Option<i32>) -> Vec<PathBuf> {
        let Some(rules) = &profile.conversations else { return Vec::new() };
        let variable = rules.root_variable.as_deref().unwrap_or_default();
        let named = self.context.agent_roots.iter().find(|(name, _)| name == variable);
        let in_home = |home: &Path| home.join(&rules.root);
        let ours = named.map(|(_, path)| path.clone());
        let ours = ours.or_else(|| self.context.home.as_deref().map(in_home));
        let its = pid.and_then(|pid| {
            let [root, home] = processes::variables(pid, [variable, "HOME"]);
            root.or_else(|| home.as_deref().map(in_home))
        });
        let mut roots: Vec<PathBuf> = its.into_iter().chain(ours).collect();
        roots.dedup();
        roots
    }
}

/// The conversation of a managed session: the one that it was started with, else the last one that its hooks named.
pub fn of_session(store: &mut Store, session: &Session) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        session_id: String,
    }
    session.conversation.clone().or_else(|| {
        let signals = store.signals(&session.id).logged("read a session's signals")?;
        let named = |payload: &str| serde_json::from_str::<Named>(payload).logged("read JSON");
        let mut ids =
            signals.iter().rev().filter_map(|signal| Some(named(&signal.payload)?.session_id));
        ids.find(|id| dogwatch_core::id::is_id(id))
    })
}

/// When a file was last written to.
fn modified(path: &Path) -> Option<Timestamp> {
    let meta = std::fs::metadata(path).logged_unless_missing("look at a file")?;
    let at = meta.is_file().then(|| meta.modified().logged("read when a file was changed"))??;
    Timestamp::try_from(at).ok()
}

/// When a file was made, as far as the file system knows; else when it was last written to.
fn created(path: &Path) -> Option<Timestamp> {
    let meta = std::fs::metadata(path).logged_unless_missing("look at a file")?;
    let at = meta.created().or_else(|_| meta.modified()).logged("read when a file was made")?;
    Timestamp::try_from(at).ok().filter(|_| meta.is_file())
}

/// Whether a text has the form of a UUID, which all of them use.
fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests;
