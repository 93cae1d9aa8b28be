//! What there is to be searched: conversations of agents, whoever started them, and sessions with their prompts and last screens.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use dogwatch_base::log::Logged as _;
use dogwatch_core::launch::PROMPT_FILE;
use dogwatch_core::search::print;
use dogwatch_core::topic;
use dogwatch_core::transcript::Dialect;
use dogwatch_store::{
    SearchSource, Session, SessionFolder, Store, Which, opencode_conversations, opencode_texts,
};

use super::index::look;
use crate::observe::agents::{self, Profiles};
use crate::observe::conversations::Finder;
use crate::observe::{capture, files, transcripts};
use crate::{Context, Error};

/// How much of a prompt and of a screen is searched.
const MOST_TEXT: u64 = 256 * 1024;
/// How many texts of a conversation in opencode's database are searched.
const MOST_TEXTS: u32 = 50_000;

type Texts = Vec<(&'static str, Option<i64>, String)>;

/// Something that may have to be read.
pub(super) struct Piece {
    pub(super) path: String,
    pub(super) agent: String,
    pub(super) conversation: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) print: u64,
    pub(super) length: u64,
    /// Milliseconds since 1970.
    pub(super) modified: i64,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// A file that grows.
    Transcript(Dialect),
    /// Texts that are replaced together.
    Whole(Box<dyn Fn() -> Texts>),
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transcript(_) => "Transcript",
            Self::Whole(_) => "Whole",
        })
    }
}

impl Piece {
    /// Bytes of a transcript that the index does not have.
    pub(super) fn unread(&self, known: Option<&SearchSource>) -> u64 {
        match self.kind {
            Kind::Transcript(_) => {
                self.length.saturating_sub(known.map_or(0, |known| known.read_to))
            }
            Kind::Whole(_) => 0,
        }
    }

    /// Whether it is as it was when the index last looked at it.
    pub(super) fn is_known(&self, known: &SearchSource) -> bool {
        (known.length, known.modified) == (self.length, self.modified)
            && match self.kind {
                Kind::Transcript(_) => true,
                Kind::Whole(_) => known.print == self.print,
            }
    }
}

/// The sessions of the context's server, and whose transcript is whose.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    pub(super) all: Vec<Session>,
    by_path: HashMap<String, usize>,
    by_conversation: HashMap<String, usize>,
    by_id: HashMap<String, usize>,
}

impl Sessions {
    pub(super) fn read(context: &Context, store: &Store) -> Result<Self, Error> {
        let all = store.sessions(&context.socket, Which::All)?;
        let mut sessions = Self::default();
        let paths = store.transcripts()?;
        let mut paths_of: HashMap<&str, &str> = HashMap::new();
        for (path, id) in &paths {
            paths_of.insert(id.as_str(), path.as_str());
        }
        for (at, session) in all.iter().enumerate() {
            // Oldest first: of several that resumed a conversation the newest counts.
            sessions.by_id.insert(session.id.to_string(), at);
            if let Some(conversation) = &session.conversation {
                sessions.by_conversation.insert(conversation.clone(), at);
            } else if session.agent != dogwatch_core::profile::COMMAND {
                let kept = paths_of.get(session.id.as_str()).map(|path| (*path).to_owned());
                let told = || {
                    let payload = store.last_payload(&session.id).logged("read signals")??;
                    Some(transcripts::path_in(&payload)?.to_string_lossy().into_owned())
                };
                if let Some(path) = kept.or_else(told) {
                    sessions.by_path.insert(path, at);
                }
            }
        }
        sessions.all = all;
        Ok(sessions)
    }

    /// The session that a source is of.
    pub(super) fn of(&self, source: &SearchSource) -> Option<&Session> {
        let id = source.path.strip_prefix("session:");
        let at = match id {
            Some(id) => self.by_id.get(id),
            None => self
                .by_path
                .get(&source.path)
                .or_else(|| self.by_conversation.get(source.conversation.as_deref()?)),
        };
        at.map(|at| &self.all[*at])
    }
}

/// All there is, the newest first.
pub(super) fn all(context: &Context, sessions: &Sessions) -> Vec<Piece> {
    let mut found = conversations(context, sessions);
    found.extend(opencode(context));
    found.extend(sessions.all.iter().map(|session| of_session(context, session)));
    found.sort_by_key(|piece| std::cmp::Reverse(piece.modified));
    found
}

fn conversations(context: &Context, sessions: &Sessions) -> Vec<Piece> {
    let (finder, mut profiles) = (Finder::new(context), Profiles::default());
    let mut found: HashMap<PathBuf, Piece> = HashMap::new();
    for name in agents::names(context) {
        let Some(profile) = profiles.of(context, &name) else { continue };
        let Some(rules) = &profile.transcript else { continue };
        for (conversation, path) in finder.every(&profile) {
            let piece = transcript(path.clone(), &name, conversation, rules.dialect);
            found.extend(piece.map(|piece| (path, piece)));
        }
    }
    // Those that hooks named elsewhere.
    for (path, at) in &sessions.by_path {
        let path = PathBuf::from(path);
        let agent = &sessions.all[*at].agent;
        let profile = profiles.of(context, agent);
        let rules = profile.as_ref().and_then(|profile| profile.transcript.as_ref());
        if let Some(rules) = rules.filter(|_| !found.contains_key(&path)) {
            let piece = transcript(path.clone(), agent, None, rules.dialect);
            found.extend(piece.map(|piece| (path, piece)));
        }
    }
    found.into_values().collect()
}

fn transcript(
    path: PathBuf,
    agent: &str,
    conversation: Option<String>,
    dialect: Dialect,
) -> Option<Piece> {
    let (length, modified) = look(&path)?;
    Some(Piece {
        // A path that is not UTF-8 could not be opened again.
        path: path.into_os_string().into_string().ok()?,
        agent: agent.to_owned(),
        conversation,
        cwd: None,
        print: 0,
        length,
        modified,
        kind: Kind::Transcript(dialect),
    })
}

fn opencode(context: &Context) -> Vec<Piece> {
    let Some(home) = &context.home else { return Vec::new() };
    let database = home.join(".local/share/opencode/opencode.db");
    let piece = |one: dogwatch_store::OpencodeConversation| {
        let (id, title, at) = (one.id.clone(), one.title.clone(), one.updated);
        let database = database.clone();
        let texts = move || -> Texts {
            let title = topic::opencode_title(&title).map(|title| ("title", Some(at), title));
            let said = opencode_texts(&database, &id, MOST_TEXTS).into_iter();
            let said = said.map(|(who, at, text)| {
                let who = match who.as_str() {
                    "user" => "person",
                    "tool" => "tool",
                    _ => "agent",
                };
                (who, Some(at), text)
            });
            title.into_iter().chain(said).collect()
        };
        Piece {
            path: format!("opencode:{}", one.id),
            agent: "opencode".to_owned(),
            conversation: Some(one.id),
            cwd: Some(one.folder),
            print: print(one.title.as_bytes()),
            length: 0,
            modified: one.updated,
            kind: Kind::Whole(Box::new(texts)),
        }
    };
    opencode_conversations(&database).into_iter().map(piece).collect()
}

/// The name and title of a session, its prompt, and the last screen of one that has ended.
fn of_session(context: &Context, session: &Session) -> Piece {
    let folder = context.state.session(&session.id);
    let screen = session.is_over().then(|| look(&folder.path().join("screen"))).flatten();
    let mut heading = session.title.clone().unwrap_or_default();
    for word in std::iter::once(&session.name).chain(&session.tags) {
        heading = format!("{heading} {word}");
    }
    let heading = heading.trim_start().to_owned();
    let at = session.ended().map_or(session.created, |ended| ended.at).as_millisecond();
    let begun = session.created.as_millisecond();
    let said = heading.clone();
    let texts = move || texts_of(&folder, &said, begun, screen.is_some().then_some(at));
    Piece {
        path: format!("session:{}", session.id),
        agent: session.agent.clone(),
        conversation: session.conversation.clone(),
        cwd: Some(session.cwd.to_string_lossy().into_owned()),
        print: print(heading.as_bytes()),
        length: screen.map_or(0, |(length, _)| length),
        modified: at,
        kind: Kind::Whole(Box::new(texts)),
    }
}

fn texts_of(folder: &SessionFolder, heading: &str, begun: i64, screen_at: Option<i64>) -> Texts {
    let mut texts: Texts = vec![("title", Some(begun), heading.to_owned())];
    let prompt = folder.path().join(PROMPT_FILE);
    if prompt.exists() {
        let bytes = files::read_range(&prompt, 0, MOST_TEXT).unwrap_or_default();
        texts.push(("prompt", Some(begun), files::text(&bytes).into_owned()));
    }
    if let Some((at, kept)) = screen_at.zip(folder.screen()) {
        let text = capture::plain(&kept.ansi);
        let from = text.len().saturating_sub(usize::try_from(MOST_TEXT).unwrap_or(usize::MAX));
        texts.push(("screen", Some(at), text[text.ceil_char_boundary(from)..].to_owned()));
    }
    texts
}
