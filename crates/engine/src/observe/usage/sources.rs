//! Where agents write their transcripts.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::usage::Format;

use crate::Context;
use crate::observe::files;

/// Deeper than any agent's folders.
const DEPTH: usize = 7;

/// One transcript.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) agent: &'static str,
    pub(super) format: Format,
    /// The folder that it is about, where it does not say so itself.
    pub(super) cwd: Option<String>,
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) modified: i64,
    pub(super) inode: u64,
    /// When the file was made: what is copied into another file was written here first.
    pub(super) created: i64,
}

impl Source {
    pub(super) fn new(path: PathBuf, agent: &'static str, format: Format, meta: &Metadata) -> Self {
        let modified = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
        let created = meta.created().ok().and_then(|at| {
            i64::try_from(at.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos()).ok()
        });
        Self {
            path,
            agent,
            format,
            cwd: None,
            size: meta.len(),
            modified,
            inode: meta.ino(),
            created: created.unwrap_or(modified),
        }
    }

    /// A file that is known to be one of an agent's.
    pub(super) fn of(path: &Path, agent: &str) -> Option<Self> {
        let (agent, format) = match agent {
            "claude" => ("claude", Format::Claude),
            "codex" => ("codex", Format::Codex),
            "gemini" => ("gemini", Format::Gemini),
            _ => return None,
        };
        let meta = fs::symlink_metadata(path).logged_unless_missing("look at a file")?;
        let mut source = Self::new(path.to_owned(), agent, format, &meta);
        if agent == "gemini" {
            source.cwd = path.ancestors().nth(2).and_then(project_root);
        }
        meta.is_file().then_some(source)
    }
}

/// All transcripts that are there, in the order in which they were begun.
pub(super) fn all(context: &Context) -> Vec<Source> {
    let mut found = Vec::new();
    for root in roots(context, "CLAUDE_CONFIG_DIR", &[".claude", ".config/claude"]) {
        claude(&root, &mut found);
    }
    for root in roots(context, "CODEX_HOME", &[".codex"]) {
        for folder in ["sessions", "archived_sessions"] {
            walk(&root.join(folder), DEPTH, &mut |path, name, meta| {
                if name.starts_with("rollout-") && name.ends_with(".jsonl") {
                    found.push(Source::new(path, "codex", Format::Codex, meta));
                }
            });
        }
    }
    if let Some(home) = &context.home {
        gemini(&home.join(".gemini/tmp"), &mut found);
        walk(&home.join(".local/share/opencode/storage/message"), 2, &mut |path, name, meta| {
            if name.ends_with(".json") {
                found.push(Source::new(path, "opencode", Format::OpencodeMessage, meta));
            }
        });
    }
    found.sort_by(|a, b| (a.created, &a.path).cmp(&(b.created, &b.path)));
    found
}

/// opencode's databases: one, or one for each channel that it was installed from.
pub(super) fn opencode_databases(context: &Context) -> Vec<PathBuf> {
    let Some(home) = &context.home else { return Vec::new() };
    let mut found = Vec::new();
    walk(&home.join(".local/share/opencode"), 1, &mut |path, name, _| {
        if name.starts_with("opencode") && name.ends_with(".db") {
            found.push(path);
        }
    });
    found
}

fn claude(root: &Path, found: &mut Vec<Source>) {
    walk(&root.join("projects"), DEPTH, &mut |path, name, meta| {
        if name.ends_with(".jsonl") {
            found.push(Source::new(path, "claude", Format::Claude, meta));
        }
    });
}

/// Where Claude Code keeps the transcripts of a conversation's subagents.
pub fn subagents_of(conversation: &Path) -> PathBuf {
    conversation.with_extension("").join("subagents")
}

/// The transcripts of a conversation's subagents.
pub(super) fn subagents(conversation: &Path, found: &mut Vec<Source>) {
    walk(&subagents_of(conversation), 3, &mut |path, name, meta| {
        if name.ends_with(".jsonl") {
            found.push(Source::new(path, "claude", Format::Claude, meta));
        }
    });
}

fn gemini(root: &Path, found: &mut Vec<Source>) {
    for project in fs::read_dir(root).into_iter().flatten().flatten() {
        let first = found.len();
        walk(&project.path().join("chats"), 3, &mut |path, name, meta| {
            let format = if name.ends_with(".jsonl") {
                Format::Gemini
            } else if name.ends_with(".json") {
                Format::GeminiDocument
            } else {
                return;
            };
            found.push(Source::new(path, "gemini", format, meta));
        });
        let cwd = if found.len() > first { project_root(&project.path()) } else { None };
        for source in &mut found[first..] {
            source.cwd.clone_from(&cwd);
        }
    }
}

/// The folder that gemini's folder of a project is about.
fn project_root(folder: &Path) -> Option<String> {
    let bytes = files::read_regular(&folder.join(".project_root"), 64 * 1024)?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn roots(context: &Context, variable: &str, usual: &[&str]) -> Vec<PathBuf> {
    let named = context.agent_roots.iter().find(|(name, _)| name == variable);
    match (named, &context.home) {
        (Some((_, root)), _) => vec![root.clone()],
        (None, Some(home)) => usual.iter().map(|folder| home.join(folder)).collect(),
        (None, None) => Vec::new(),
    }
}

/// Links are not followed: they may lead anywhere.
fn walk(folder: &Path, depth: usize, seen: &mut impl FnMut(PathBuf, &str, &Metadata)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 1 {
            walk(&entry.path(), depth - 1, seen);
        } else if kind.is_file()
            && let Some(name) = entry.file_name().to_str()
            && let Some(meta) = entry.metadata().logged_unless_missing("look at a file")
        {
            seen(entry.path(), name, &meta);
        }
    }
}
