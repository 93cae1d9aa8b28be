//! What sessions are about, beside what they do: title, project, branch, and how full their context is.
//!
//! Transcripts are read once: what they told is kept in the database, and only what was added since is read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::launch::PROMPT_FILE;
use dogwatch_core::topic::{self, Topic};
use dogwatch_core::transcript::Dialect;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::{About, ContextUse, TitleFrom};
use dogwatch_store::{KeptTopic, Labels, Session, Store, opencode_sessions};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::Context;
use crate::observe::conversations;
use crate::observe::git_head::{self, Checkout};
use crate::observe::status::StatusReader;
use crate::observe::{files, transcripts};

/// How much of the beginning and of the end of a transcript is read. Agents write titles again near the end, where they look for
/// them.
const PART: u64 = 256 * 1024;
/// How much of a prompt is read for its first line.
const MOST_PROMPT: u64 = 16 * 1024;
/// How much of codex's list of titles is read, from its end.
const MOST_INDEX: u64 = 1024 * 1024;

/// What these sessions are about. What could not be found out is left out; nothing fails.
pub fn of_sessions(
    context: &Context,
    reader: &mut StatusReader<'_>,
    sessions: &[&Session],
    now: Timestamp,
) -> HashMap<SessionId, About> {
    let store = &reader.store;
    // One lock for all of them.
    let kept: Vec<Kept> =
        store.in_one_view(|| sessions.iter().map(|one| Kept::of(store, &one.id)).collect());
    let (indexes, news) = (HashMap::new(), Vec::new());
    let mut finder = Finder { context, reader, sessions, now, indexes, news };
    let mut checkouts: HashMap<&Path, Option<Checkout>> = HashMap::new();
    let mut found = HashMap::new();
    for (session, kept) in sessions.iter().zip(kept) {
        let checkout =
            checkouts.entry(session.cwd.as_path()).or_insert_with(|| git_head::of(&session.cwd));
        found.insert(session.id.clone(), finder.about(session, kept, checkout.as_ref()));
    }
    let news = finder.news;
    let news: Vec<(&str, KeptTopic)> =
        news.iter().map(|(id, kept)| (id.as_str(), kept.clone())).collect();
    reader.store.keep_topics(&news).logged("keep what transcripts told");
    found
}

/// What the database has about a session.
struct Kept {
    /// Read again: a watcher has read the session long ago.
    labels: Labels,
    topic: Option<KeptTopic>,
    statusline: Option<String>,
    first_message: Option<String>,
}

impl Kept {
    fn of(store: &Store, id: &str) -> Self {
        Self {
            labels: store.labels(id).logged("read labels").unwrap_or_default(),
            topic: store.topic(id).logged("read a topic").flatten(),
            statusline: store.last_statusline(id).logged("read a statusline").flatten(),
            first_message: store.first_message(id).logged("read messages").flatten(),
        }
    }
}

struct Finder<'a, 'c> {
    context: &'a Context,
    reader: &'a mut StatusReader<'c>,
    sessions: &'a [&'a Session],
    now: Timestamp,
    /// Codex's lists of titles, each read once for all its conversations.
    indexes: HashMap<PathBuf, Option<String>>,
    /// What is to be kept.
    news: Vec<(SessionId, KeptTopic)>,
}

impl Finder<'_, '_> {
    fn about(&mut self, session: &Session, kept: Kept, checkout: Option<&Checkout>) -> About {
        let Kept { labels, topic, statusline, first_message } = kept;
        let topic = self.topic(session, topic);
        let by_user = labels.title.map(|title| (title, TitleFrom::Rename));
        let by_agent = || topic.title().map(|title| (title.to_owned(), TitleFrom::Agent));
        let prompt =
            || self.prompt(session, first_message.as_deref()).or_else(|| topic.prompt.clone());
        let by_prompt = || prompt().map(|line| (line, TitleFrom::Prompt));
        let (title, title_from) = by_user.or_else(by_agent).or_else(by_prompt).unzip();
        let project = checkout.map_or(session.project.as_path(), |at| at.repository.as_path());
        let project_name = project.file_name().unwrap_or(project.as_os_str()).to_string_lossy();
        About {
            title,
            title_from,
            tags: labels.tags,
            project: session.project.to_string_lossy().into_owned(),
            project_name: project_name.into_owned(),
            branch: checkout.and_then(|at| Some(at.head.as_ref()?.shown().to_owned())),
            cwd: session.cwd.to_string_lossy().into_owned(),
            context: context_use(statusline.as_deref(), &topic),
        }
    }

    /// What the agent's own records say of the conversation.
    fn topic(&mut self, session: &Session, kept: Option<KeptTopic>) -> Topic {
        if session.agent == dogwatch_core::profile::COMMAND {
            return Topic::default();
        }
        let ended = session.ended().map(|ended| ended.at);
        // Nothing is added any more.
        if let Some(kept) = kept.as_ref().filter(|kept| ended.is_some_and(|at| kept.seen > at)) {
            return kept.topic.clone();
        }
        if session.agent == "opencode" {
            let topic = self
                .opencode(session)
                .or_else(|| kept.as_ref().map(|kept| kept.topic.clone()))
                .unwrap_or_default();
            if kept.as_ref().map(|kept| &kept.topic) != Some(&topic) || ended.is_some() {
                let (path, read_to, seen) = (PathBuf::new(), 0, self.now);
                self.news.push((
                    session.id.clone(),
                    KeptTopic { path, read_to, topic: topic.clone(), seen },
                ));
            }
            return topic;
        }
        let Some((path, dialect)) = self.transcript(session, kept.as_ref()) else {
            if ended.is_some() {
                let (path, read_to, topic) = (PathBuf::new(), 0, Topic::default());
                self.news
                    .push((session.id.clone(), KeptTopic { path, read_to, topic, seen: self.now }));
            }
            return kept.map(|kept| kept.topic).unwrap_or_default();
        };
        let before = kept.filter(|kept| kept.path == path);
        let mut now = read_on(&path, dialect, before.as_ref(), self.now);
        if dialect == Dialect::Codex
            && let Some(title) = self.codex_title(&path)
        {
            now.topic.set_title(&title);
        }
        let is_new = before
            .is_none_or(|before| (before.read_to, &before.topic) != (now.read_to, &now.topic));
        let topic = now.topic.clone();
        if is_new || ended.is_some() {
            self.news.push((session.id.clone(), now));
        }
        topic
    }

    fn transcript(
        &mut self,
        session: &Session,
        kept: Option<&KeptTopic>,
    ) -> Option<(PathBuf, Dialect)> {
        let profile = self.reader.profile(&session.agent)?;
        let rules = profile.transcript.as_ref()?;
        let read = self.reader.memory(&session.id).and_then(|memory| memory.transcript_read());
        let kept = || Some(kept?.path.as_path()).filter(|path| path.is_file());
        if let Some(known) = read.or_else(kept) {
            return Some((known.to_owned(), rules.dialect));
        }
        let told = self.reader.store.names_transcript(&session.id).logged("read signals").flatten();
        let told = told.and_then(|payload| transcripts::path_in(&payload));
        Some((transcripts::locate(self.context, session, rules, told)?, rules.dialect))
    }

    /// Opencode does not say which conversation is whose: the only one about the folder since it was started is.
    fn opencode(&self, session: &Session) -> Option<Topic> {
        let started = session.started()?;
        let is_another = |other: &&Session| {
            other.id != session.id
                && (&other.agent, &other.cwd) == (&session.agent, &session.cwd)
                && other.ended().is_none_or(|ended| ended.at > started.at)
        };
        if self.sessions.iter().any(is_another) {
            return None;
        }
        let database = self.context.home.as_deref()?.join(".local/share/opencode/opencode.db");
        let mut found = opencode_sessions(&database, session.cwd.to_str()?, started.at);
        let only = found.pop().filter(|_| found.is_empty())?;
        let mut topic = Topic::default();
        topic.used = only.used;
        if let Some(title) = topic::opencode_title(&only.title) {
            topic.set_title(&title);
        }
        Some(topic)
    }

    /// The title that codex keeps beside its transcripts.
    fn codex_title(&mut self, transcript: &Path) -> Option<String> {
        let id = conversations::id_of(transcript)?;
        let mut above = transcript.ancestors().skip(1);
        let root =
            above.find(|dir| dir.ends_with("sessions") || dir.ends_with("archived_sessions"))?;
        let index = root.parent()?.join("session_index.jsonl");
        let read = |index: &Path| {
            let bytes = index.exists().then(|| files::read_tail(index, MOST_INDEX))??;
            Some(files::text(&bytes).into_owned())
        };
        let text = self.indexes.entry(index).or_insert_with_key(|index| read(index));
        topic::codex_title(text.as_deref()?, &id)
    }

    /// The first line of the prompt that it was started with, else of the first message to it.
    fn prompt(&self, session: &Session, first_message: Option<&str>) -> Option<String> {
        if !session.origin.is_managed() {
            return None;
        }
        let file = self.context.state.session(&session.id).path().join(PROMPT_FILE);
        let text = if file.exists() { files::read_range(&file, 0, MOST_PROMPT) } else { None };
        let line = text.and_then(|text| topic::first_line(&files::text(&text)));
        line.or_else(|| topic::first_line(first_message?))
    }
}

/// Claude's statusline knows the window of its model; codex's transcript does; others do not say.
fn context_use(statusline: Option<&str>, topic: &Topic) -> Option<ContextUse> {
    let told = statusline.and_then(told_by_statusline);
    told.or_else(|| {
        let (used, window) = (topic.used?, topic.window);
        let left = topic::left(Some(used), window);
        Some(ContextUse { used: Some(used), window, left })
    })
}

/// What claude's statusline says of the context.
fn told_by_statusline(payload: &str) -> Option<ContextUse> {
    #[derive(Deserialize)]
    struct Line {
        context_window: Window,
    }
    #[derive(Deserialize)]
    struct Window {
        context_window_size: Option<u64>,
        used_percentage: Option<f64>,
        remaining_percentage: Option<f64>,
        #[serde(default)]
        current_usage: Value,
    }
    let Line { context_window } = serde_json::from_str(payload).ok()?;
    let kinds =
        ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let usage = context_window.current_usage.as_object();
    let used = usage.map(|usage| kinds.iter().filter_map(|kind| usage.get(*kind)?.as_u64()).sum());
    let window = context_window.context_window_size;
    let said = context_window
        .remaining_percentage
        .or(context_window.used_percentage.map(|used| 100.0 - used));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let left = said.map(|left| left.clamp(0.0, 100.0).round() as u8);
    let left = left.or_else(|| topic::left(used, window));
    (left.is_some() || used.is_some()).then_some(ContextUse { used, window, left })
}

/// Reads what was added since; of a transcript that is read for the first time, its beginning and its end.
fn read_on(path: &Path, dialect: Dialect, before: Option<&KeptTopic>, now: Timestamp) -> KeptTopic {
    let length = files::regular_length(path).unwrap_or(0);
    let before = before.filter(|before| before.read_to <= length);
    let (mut topic, mut read_to) =
        before.map_or_else(Default::default, |b| (b.topic.clone(), b.read_to));
    if before.is_none() {
        read_to = fold(&mut topic, path, dialect, 0);
    }
    if length.saturating_sub(read_to) > PART {
        read_to = length - PART;
    }
    if length > read_to {
        read_to = fold(&mut topic, path, dialect, read_to).max(read_to);
    }
    KeptTopic { path: path.to_owned(), read_to, topic, seen: now }
}

/// Folds whole lines from a place on; where they end.
fn fold(topic: &mut Topic, path: &Path, dialect: Dialect, from: u64) -> u64 {
    let mut bytes = files::read_range(path, from, PART).unwrap_or_default();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    topic.fold(dialect, &files::text(&bytes));
    from + u64::try_from(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_added_is_read_and_titles_at_both_ends_are_found() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("t.jsonl");
        let prompt = "{\"type\":\"user\",\"message\":{\"content\":\"Fix it\"}}\n";
        let title = |text: &str| format!("{{\"type\":\"ai-title\",\"aiTitle\":\"{text}\"}}\n");
        let filler = format!("{{\"type\":\"x\",\"y\":\"{}\"}}\n", "z".repeat(10_000)).repeat(100);
        fs::write(&path, format!("{prompt}{}{filler}", title("early"))).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let first = read_on(&path, Dialect::Claude, None, now);
        assert_eq!(first.topic.title(), Some("early"));
        assert_eq!(first.topic.prompt.as_deref(), Some("Fix it"));
        assert_eq!(first.read_to, fs::metadata(&path).unwrap().len());
        let late = title("late");
        let grown = format!("{prompt}{}{filler}{}", title("early"), &late[..20]);
        fs::write(&path, &grown).unwrap();
        let half = read_on(&path, Dialect::Claude, Some(&first), now);
        assert_eq!(
            (half.topic.title(), half.read_to),
            (Some("early"), first.read_to),
            "half a line"
        );
        fs::write(&path, format!("{grown}{}", &late[20..])).unwrap();
        assert_eq!(read_on(&path, Dialect::Claude, Some(&half), now).topic.title(), Some("late"));
        fs::write(&path, prompt).unwrap();
        let again = read_on(&path, Dialect::Claude, Some(&half), now);
        assert_eq!(again.topic.title(), None, "a new, shorter file");
        assert_eq!(
            read_on(Path::new("/no/such"), Dialect::Claude, None, now).topic,
            Topic::default()
        );
    }

    #[test]
    fn what_a_statusline_says() {
        for (payload, want) in [
            (
                r#"{"context_window":{"context_window_size":200000,"used_percentage":8,"remaining_percentage":92,"current_usage":{"input_tokens":8500,"output_tokens":1200,"cache_creation_input_tokens":5000,"cache_read_input_tokens":2000}}}"#,
                Some((Some(16_700), Some(200_000), Some(92))),
            ),
            (
                r#"{"context_window":{"context_window_size":200000,"used_percentage":null,"remaining_percentage":null,"current_usage":null}}"#,
                None,
            ),
            (r#"{"context_window":{"used_percentage":140.0}}"#, Some((None, None, Some(0)))),
            (r#"{"model":{}}"#, None),
            ("rubbish", None),
        ] {
            let told = told_by_statusline(payload).map(|told| (told.used, told.window, told.left));
            assert_eq!(told, want, "{payload}");
        }
    }
}
