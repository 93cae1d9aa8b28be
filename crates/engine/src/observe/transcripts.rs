use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use dogwatch_base::glob::Pattern;
use dogwatch_base::log::Logged as _;
use dogwatch_core::id::is_id;
use dogwatch_core::loops::Loops;
use dogwatch_core::profile::{Profile, TranscriptRules};
use dogwatch_core::status::evidence::{EdgeKind, Turn};
use dogwatch_core::status::rollout;
use dogwatch_core::transcript::{self, Dialect, Entry};
use dogwatch_store::{Session, Signal};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::Context;
use crate::observe::conversations::{self, Finder};
use crate::observe::{files, proc_files, unmanaged};

/// How much of a transcript's end is read; they grow to many megabytes.
const TAIL: u64 = 1024 * 1024;
/// Most turns begin within this much of the end; where none does, more is read.
const SHORT_TAIL: u64 = 64 * 1024;

/// The session's transcript: where its hooks said, else where its agent's profile says to look.
pub fn locate(
    context: &Context,
    session: &Session,
    rules: &TranscriptRules,
    told: Option<PathBuf>,
) -> Option<PathBuf> {
    told.or_else(|| find(context.home.as_deref()?, &rules.find, session.conversation.as_deref()?))
        .or_else(|| {
            let agent = session.started()?.agent;
            held_open(agent.pid, rules.held_open.as_ref()?)
        })
}

/// The transcript that an agent holds open: the process itself or, if that is but a launcher, as codex's is, the one that it
/// has started. What a tool of the agent holds open is not named like a transcript.
pub fn held_open(pid: i32, ending: &str) -> Option<PathBuf> {
    proc_files::open_file(pid, ending).or_else(|| {
        let opened = |child| proc_files::open_file(child, ending);
        let mut opened = proc_files::children(pid).into_iter().filter_map(opened);
        opened.find(|path| conversations::id_of(path).is_some())
    })
}

/// The transcript of an agent that names none and holds none open: the only one about its folder that was begun since it
/// was started, if no other agent of its kind is there. That is likely, and no more.
pub fn guess(context: &Context, session: &Session, profile: &Profile) -> Option<PathBuf> {
    let started = session.started().filter(|_| session.conversation.is_none())?;
    let finder = Finder::new(context);
    let folder = session.cwd.to_str()?;
    let mut begun = finder.begun_in(profile, folder, started.at, started.agent.pid).into_iter();
    let only = begun.next().filter(|_| begun.next().is_none())?;
    let is_another = |pid: &i32| {
        let is_below = proc_files::children(*pid).contains(&started.agent.pid);
        let is_its_own = *pid == started.agent.pid
            || is_below
            || proc_files::children(started.agent.pid).contains(pid);
        !is_its_own
            && unmanaged::is_program(&proc_files::command_line(*pid), &profile.program)
            && proc_files::folder(*pid).as_deref() == Some(&session.cwd)
    };
    (!proc_files::pids().iter().any(is_another)).then_some(only)
}

/// Where the agent itself said that it writes its transcript: the last hook that named one.
pub fn path_told(signals: &[Signal]) -> Option<PathBuf> {
    signals.iter().rev().find_map(|signal| path_in(&signal.payload))
}

/// The transcript that a hook's payload names.
pub fn path_in(payload: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Named {
        transcript_path: PathBuf,
    }
    let named = payload.contains("transcript_path").then(|| serde_json::from_str::<Named>(payload));
    Some(named?.logged("read JSON")?.transcript_path).filter(|path| can_be_a_transcript(path))
}

/// A hook may name any file of the user's. Transcripts of all agents are JSON, one way or the other, and are named by their whole
/// path.
fn can_be_a_transcript(path: &Path) -> bool {
    let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    let is_json = path.extension().is_some_and(|end| end == "jsonl" || end == "json");
    path.is_absolute() && is_plain && is_json
}

/// The transcript of a conversation below the home folder, by the patterns of its agent's profile.
pub fn find(home: &Path, patterns: &[String], conversation: &str) -> Option<PathBuf> {
    // It becomes part of a path.
    let short = Some(conversation).filter(|id| is_id(id))?.get(..8)?;
    patterns.iter().find_map(|pattern| {
        let pattern =
            pattern.replace("@conversation@", conversation).replace("@conversation8@", short);
        pattern
            .split('/')
            .fold(vec![home.to_owned()], |found, part| {
                found.iter().flat_map(|dir| entries(dir, part)).collect()
            })
            .pop()
    })
}

/// What in a folder fits one part of a pattern.
pub(crate) fn entries(dir: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains('*') {
        let path = dir.join(part);
        return path.exists().then_some(path).into_iter().collect();
    }
    // Most often a part is nothing but a star.
    let pattern = (part != "*").then(|| Pattern::stars(part));
    let fits = |name: &OsStr| pattern.as_ref().is_none_or(|p| p.fits(&name.to_string_lossy()));
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| fits(&entry.file_name()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The readable end of a transcript; empty if it cannot be read.
pub fn tail(path: &Path, dialect: Dialect) -> Vec<Entry> {
    transcript::entries(dialect, &text(path))
}

/// What people said since then, as far as its lines have a time.
pub fn said_since(path: &Path, dialect: Dialect, since: Timestamp) -> Vec<String> {
    transcript::said_since(dialect, &text(path), since)
}

/// How much of what was read is compared before more is read.
const MARK: usize = 64;

/// What a transcript told so far, so that only what was added since need be read.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    path: PathBuf,
    /// Up to the end of the last whole line.
    read_to: u64,
    /// The end of what was read: if it is not there any more, the file was written anew.
    mark: Vec<u8>,
    turn: Turn,
    loops: Loops,
}

impl Reading {
    /// The transcript that was last read.
    pub fn path(&self) -> Option<&Path> {
        Some(self.path.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// The turns that the transcript tells of by now.
    pub fn turns(&mut self, path: &Path, dialect: Dialect) -> &Turn {
        let length = files::regular_length(path).unwrap_or(0);
        if self.path != path || length < self.read_to || (length > self.read_to && !self.is_same())
        {
            *self = Self { path: path.to_owned(), ..Self::default() };
            self.begin(dialect, length);
        } else if length > self.read_to {
            // More than a tail at once: what is skipped is older than what counts.
            let from = self.read_to.max(length.saturating_sub(TAIL));
            let added = self.go_on(dialect, from, TAIL);
            self.loops.fold(dialect, &files::text(&added));
        }
        self.turn.looping = self.loops.found();
        &self.turn
    }

    /// Whether what was read last is still there.
    fn is_same(&self) -> bool {
        let size = u64::try_from(self.mark.len()).unwrap_or(0);
        let from = self.read_to.saturating_sub(size);
        files::read_range(&self.path, from, size).is_some_and(|bytes| bytes == self.mark)
    }

    /// Reads from the end, far enough back to meet the beginning of the last turn.
    fn begin(&mut self, dialect: Dialect, length: u64) {
        let mut tail = SHORT_TAIL;
        loop {
            self.turn = Turn::default();
            let read = self.go_on(dialect, length.saturating_sub(tail), tail);
            if self.has_begun(dialect) || tail >= length || tail >= TAIL {
                self.believe_the_head(dialect, length.saturating_sub(tail));
                return self.begin_loops(dialect, length, tail, &read);
            }
            tail *= 4;
        }
    }

    /// Whether the beginning of the last turn was read, or its end. In the middle of a turn codex writes nothing about either.
    fn has_begun(&self, dialect: Dialect) -> bool {
        match dialect {
            Dialect::Codex => self.turn.edge.as_ref().is_some_and(|edge| edge.told),
            Dialect::Claude | Dialect::Gemini => self.turn.turns_begun > 0,
        }
    }

    /// A turn may be longer than what is read. If its version of codex writes down ends, as the head of the file shows, it goes on.
    fn believe_the_head(&mut self, dialect: Dialect, unread: u64) {
        if dialect != Dialect::Codex || unread == 0 {
            return;
        }
        let Some(edge) = self.turn.edge.as_mut().filter(|edge| !edge.told) else { return };
        let head = files::read_range(&self.path, 0, unread.min(SHORT_TAIL)).unwrap_or_default();
        if rollout::fold(dialect, &files::text(&head)).tells_ends {
            (edge.what, edge.told) = (EdgeKind::Began, true);
            self.turn.tells_ends = true;
        }
    }

    /// Of an open turn, reads back to the message that began it, or to as many calls as count: a few calls with long
    /// results are longer than what shows the turn.
    fn begin_loops(&mut self, dialect: Dialect, length: u64, mut tail: u64, read: &[u8]) {
        let edge = self.turn.edge.as_ref();
        // The next turn begins with a message, and what was before it does not count.
        if edge.is_some_and(|edge| edge.told && edge.what != EdgeKind::Began) {
            return;
        }
        self.loops.fold(dialect, &files::text(read));
        let is_open = edge.is_none_or(|edge| edge.what == EdgeKind::Began);
        while is_open && !self.loops.is_enough() && tail < length.min(TAIL) {
            tail *= 4;
            let from = length.saturating_sub(tail);
            // Up to where the turns were read to, so that the next look goes on from there.
            let most = self.read_to.saturating_sub(from);
            let bytes = files::read_range(&self.path, from, most).unwrap_or_default();
            self.loops = Loops::default();
            self.loops.fold(dialect, &files::text(&bytes));
        }
    }

    /// Returns what was read, in whole lines.
    fn go_on(&mut self, dialect: Dialect, from: u64, at_most: u64) -> Vec<u8> {
        let mut bytes = files::read_range(&self.path, from, at_most).unwrap_or_default();
        // A line that is still being written is read when it is whole; one without end is passed over.
        let at_end = u64::try_from(bytes.len()).unwrap_or(0) < at_most;
        let endless = if at_end { 0 } else { bytes.len() };
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        let mut whole = end.map_or(endless, |at| at + 1);
        // The last one may lack its end and be whole all the same.
        if serde_json::from_slice::<Value>(&bytes[whole..]).is_ok() {
            whole = bytes.len();
        }
        // A first line that is cut is no JSON, and is passed over as such.
        bytes.truncate(whole);
        rollout::fold_onto(&mut self.turn, dialect, &files::text(&bytes));
        self.read_to = from + u64::try_from(whole).unwrap_or(0);
        self.mark = bytes[bytes.len().saturating_sub(MARK)..].to_vec();
        bytes
    }
}

/// The last lines of a transcript as they are, whole ones only, at most so many bytes.
pub fn last_lines(path: &Path, max: u64) -> Option<String> {
    let bytes = files::read_tail(path, max)?;
    let text = String::from_utf8_lossy(&bytes);
    let is_cut = u64::try_from(bytes.len()).is_ok_and(|length| length >= max);
    let from = if is_cut { text.find('\n').map_or(text.len(), |at| at + 1) } else { 0 };
    Some(text[from..].to_owned())
}

fn text(path: &Path) -> String {
    let bytes = files::read_tail(path, TAIL).unwrap_or_default();
    files::text(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_by_pattern() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join(".gemini/tmp/proj/chats");
        fs::create_dir_all(&chats).unwrap();
        let file = chats.join("session-2026-01aaf3bb.jsonl");
        fs::write(&file, "").unwrap();
        let patterns = [".gemini/tmp/*/chats/session-*-@conversation8@.jsonl".to_owned()];
        assert_eq!(find(home.path(), &patterns, "01aaf3bb-1111"), Some(file));
        assert_eq!(find(home.path(), &patterns, "99aaf3bb-1111"), None);
        assert_eq!(find(home.path(), &patterns, "x"), None);
        let outside = home.path().join("outside.jsonl");
        fs::write(&outside, "").unwrap();
        let patterns = [".gemini/@conversation@.jsonl".to_owned()];
        assert_eq!(find(home.path(), &patterns, "../outside"), None, "an id is no path");
    }

    #[test]
    fn what_a_hook_may_name() {
        for (path, fits) in [
            ("/home/u/.claude/projects/p/1.jsonl", true),
            ("/x/session.json", true),
            ("/home/u/.ssh/id_ed25519", false),
            ("relative.jsonl", false),
            ("../x.jsonl", false),
            ("/home/u/../v/x.jsonl", false),
            ("", false),
        ] {
            let payload = serde_json::json!({ "transcript_path": path }).to_string();
            assert_eq!(path_in(&payload).is_some(), fits, "{path}");
        }
    }

    #[test]
    fn what_is_added_is_read_and_nothing_twice() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("t.jsonl");
        let line = |kind: &str, second: usize| {
            let time = format!("2026-11-15T10:00:{second:02}Z");
            format!(r#"{{"timestamp":"{time}","type":"event_msg","payload":{{"type":"{kind}"}}}}"#)
        };
        let mut text = format!("{}\n{}\n", line("task_started", 1), line("task_complete", 2));
        fs::write(&path, &text).unwrap();
        let mut reading = Reading::default();
        let counts = |turn: &Turn| (turn.turns_begun, turn.turns_done);
        assert_eq!(counts(reading.turns(&path, Dialect::Codex)), (1, 1));
        let third = line("task_started", 3);
        text.push_str(&third[..20]);
        fs::write(&path, &text).unwrap();
        assert_eq!(counts(reading.turns(&path, Dialect::Codex)), (1, 1), "half a line");
        text.push_str(&third[20..]);
        text.push('\n');
        fs::write(&path, &text).unwrap();
        assert_eq!(counts(reading.turns(&path, Dialect::Codex)), (2, 1));
        assert_eq!(counts(reading.turns(&path, Dialect::Codex)), (2, 1));
        let filler = format!("{}\n", line("token_count", 4)).repeat(2000);
        fs::write(&path, format!("{text}{filler}")).unwrap();
        let fresh = Reading::default().turns(&path, Dialect::Codex).clone();
        assert!(fresh.turns_begun > 0, "the beginning is far from the end");
        fs::write(&path, format!("{}\n", line("task_complete", 9))).unwrap();
        assert_eq!(counts(reading.turns(&path, Dialect::Codex)), (0, 1), "a new, shorter file");
    }

    /// A look that is the first finds an open turn of codex, however much was written in it.
    #[test]
    fn a_long_turn_of_codex_is_open() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("t.jsonl");
        let event = |more: &str| {
            format!(
                "{{\"timestamp\":\"2026-11-15T10:00:00Z\",\"type\":\"event_msg\",\"payload\":{{{more}}}}}\n"
            )
        };
        let began = event(r#""type":"task_started""#);
        let said = event(r#""type":"agent_message","message":"One paragraph.""#)
            + &event(r#""type":"token_count","info":{}"#);
        let filler = event(&format!(r#""type":"x","text":"{}""#, "x".repeat(1000)));
        let edge = |text: &str| {
            fs::write(&path, text).unwrap();
            let turn = Reading::default().turns(&path, Dialect::Codex).clone();
            turn.edge.map(|edge| (edge.what, edge.told)).zip(Some(turn.tells_ends))
        };
        let open = Some(((EdgeKind::Began, true), true));
        for lines in [100, 1500] {
            let filler = filler.repeat(lines);
            assert_eq!(edge(&format!("{began}{filler}{said}")), open, "{lines} lines");
            let over = format!("{began}{filler}{said}{}", event(r#""type":"task_complete""#));
            assert_eq!(edge(&over), Some(((EdgeKind::Done, true), true)), "{lines} lines");
        }
        // 0.80 does not write it down.
        let asked = event(r#""type":"user_message","message":"x""#);
        let old = format!("{asked}{}{said}", filler.repeat(1500));
        assert_eq!(edge(&old), Some(((EdgeKind::Done, false), false)));
    }

    /// Also if its calls are longer than what shows that a turn is open.
    #[test]
    fn a_loop_is_seen_at_the_first_look() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("t.jsonl");
        let time = r#""timestamp":"2026-11-16T10:00:00Z""#;
        let prompt = r#""type":"user","origin":{"kind":"human"},"message":{"content":"go"}"#;
        let mut lines = vec![format!("{{{time},{prompt}}}\n")];
        let long = "x".repeat(40_000);
        for n in 0..7 {
            let call = r#""name":"Bash","input":{"command":"make"}"#;
            lines.push(format!(
                r#"{{{time},"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t{n}",{call}}}]}}}}
{{{time},"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{n}","is_error":true,"content":"{long}"}}]}}}}
"#
            ));
        }
        let text = lines.concat();
        fs::write(&path, &text).unwrap();
        let times = |turn: &Turn| turn.looping.as_ref().map(|looping| looping.times);
        let mut reading = Reading::default();
        assert_eq!(times(reading.turns(&path, Dialect::Claude)), Some(7));
        assert_eq!(times(reading.turns(&path, Dialect::Claude)), Some(7), "and again");
        let done = format!("{{{time},\"type\":\"system\",\"subtype\":\"turn_duration\"}}\n");
        fs::write(&path, format!("{text}{done}")).unwrap();
        let mut later = Reading::default();
        later.turns(&path, Dialect::Claude);
        assert_eq!(later.turn.edge.as_ref().map(|e| &e.what), Some(&EdgeKind::Done));
    }

    #[test]
    fn what_is_no_file_says_nothing() {
        assert_eq!(tail(Path::new("/dev/zero"), Dialect::Claude), []);
        assert_eq!(tail(Path::new("/"), Dialect::Claude), []);
        assert_eq!(tail(Path::new("/no/such"), Dialect::Claude), []);
    }
}
