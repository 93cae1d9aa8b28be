//! Two sessions that edit the same file, in one work tree or in two worktrees of one repository.
//!
//! An agent's hook tells of each edit before and after it is made. What was made is recorded; before the next one it checks the records of
//! other sessions that still live. What agents change by shell commands is not seen so: when the turn of a session with a worktree
//! of its own is over, all that differs from its base counts as edited.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_base::{git, program};
use dogwatch_core::collision::{both_edit, edit_call};
use dogwatch_core::notice::Occasion;
use dogwatch_core::notify::Facts;
use dogwatch_protocol::event_data::Collision;
use dogwatch_store::{CollisionNews, EditedFile, NotifyWhat, OthersEdit, Session, Store, Worktree};
use jiff::Timestamp;
use serde_json::Value;

use crate::notify::channels;
use crate::notify::outbox::{self, News, Rules};
use crate::observe::{files, git_head};
use crate::worktree::values::lives;
use crate::{Context, Error, config};

/// How long an agent waits for a database that others use, and for git.
const PATIENCE: Duration = Duration::from_millis(500);
/// Longest file that is compared with another worktree's.
const MOST_COMPARED: u64 = 4 * 1024 * 1024;
/// Most files of a worktree that are recorded.
const MOST_FILES: usize = 500;

/// Records the edit that a hook tells of. Returns the reason to refuse it, if the user wants that; each edit is refused
/// once.
pub fn attend(
    context: &Context,
    session: &str,
    payload: &Value,
    now: Timestamp,
) -> Result<Option<String>, Error> {
    let Some(call) = edit_call(payload) else { return Ok(None) };
    let mut store = Store::open_with_patience(&context.state, PATIENCE)?;
    let Some(session) = store.by_id(session)? else { return Ok(None) };
    let folder = payload["cwd"].as_str().map_or_else(|| session.cwd.clone(), PathBuf::from);
    let edited: Vec<EditedFile> =
        call.paths.iter().filter_map(|path| locate(&folder.join(path))).collect();
    if call.is_done {
        store.keep_edits(&session.id, &edited, now)?;
    }
    let new = report(context, &mut store, &session, &edited, !call.is_done, now)?;
    let told: Vec<String> = new.iter().filter(|one| one.held).map(for_the_agent).collect();
    Ok((!told.is_empty()).then(|| told.join("\n")))
}

/// Records what a session changed in its own worktree, when its turn is over.
pub fn attend_turn_end(context: &Context, session: &str, now: Timestamp) -> Result<(), Error> {
    let mut store = Store::open_with_patience(&context.state, PATIENCE)?;
    let Some(worktree) = store.worktree(session)? else { return Ok(()) };
    let Some(session) = store.by_id(session)? else { return Ok(()) };
    let Some(place) = git_head::of(&worktree.folder) else { return Ok(()) };
    let Some(changed) = changed(&worktree).logged("compare a worktree with its base") else {
        return Ok(());
    };
    let edited: Vec<EditedFile> = changed
        .into_iter()
        .take(MOST_FILES)
        .map(|path| EditedFile {
            repository: place.repository.clone(),
            path,
            tree: place.tree.clone(),
        })
        .collect();
    store.keep_edits(&session.id, &edited, now)?;
    report(context, &mut store, &session, &edited, false, now).map(drop)
}

/// Whether the user wants agents to be warned, and has not paused that.
fn tells_agents(context: &Context, store: &Store) -> Result<bool, Error> {
    Ok(config::read(context)?.collisions.tell_agent && store.rules_paused()?.is_none())
}

/// Records collisions of a session over these files. Returns those that are new.
fn report(
    context: &Context,
    store: &mut Store,
    session: &Session,
    edited: &[EditedFile],
    can_hold: bool,
    now: Timestamp,
) -> Result<Vec<Collision>, Error> {
    let mut new = Vec::new();
    for file in edited {
        let mut others: Vec<Session> = Vec::new();
        for edit in store.edits_of_others(&session.id, file)? {
            let Some(other) = store.by_id(&edit.session)? else { continue };
            if lives(context, &other) && !is_settled(file, &edit) {
                others.push(other);
            }
        }
        if others.is_empty() {
            continue;
        }
        others.sort_by_key(|other| other.created);
        let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
        let path = file.path.to_string_lossy().into_owned();
        let text = both_edit(&names, &session.name, &path);
        let with = names.into_iter().map(ToOwned::to_owned).collect();
        let held = can_hold && tells_agents(context, store)?;
        let data = Collision { path, with, text, held };
        let ids: Vec<&str> = others.iter().map(|other| other.id.as_str()).collect();
        let news = store.add_collision(&session.id, &ids, file, &data, now)?;
        if news == CollisionNews::Pair {
            notify(context, store, session, &data);
        }
        if news != CollisionNews::None {
            new.push(data);
        }
    }
    Ok(new)
}

fn notify(context: &Context, store: &mut Store, session: &Session, data: &Collision) {
    let Some(rules) = Rules::read(context).logged("read the configuration") else { return };
    let title = data.text.clone();
    let mut notice = channels::notice(Occasion::Collision, title, String::new(), data);
    notice.session = Some(session.name.clone());
    let about = Some(outbox::about(session));
    let facts = Facts { occasion: Occasion::Collision, about, dialog: None, hold: Duration::ZERO };
    let key = format!("collision/{}/{}/{}", session.id, data.with.join("/"), data.path);
    outbox::leave(context, store, &rules, &News { notice, facts, what: NotifyWhat::Key(&key) });
    context.state.tell_news(&session.id);
}

fn for_the_agent(new: &Collision) -> String {
    let with = new.with.join(" and ");
    format!(
        "dogwatch: {} is being edited by another agent as well (session {with}), so this call was held once. Read the file again \
         before you change it, or work on something else; if you go on, make the call again.",
        new.path
    )
}

/// Which file of which repository a path is.
fn locate(path: &Path) -> Option<EditedFile> {
    let path = files::resolved(path)?;
    let Some(place) = git_head::of(path.parent()?) else {
        return Some(EditedFile { repository: PathBuf::new(), tree: PathBuf::new(), path });
    };
    let tree = place.tree.canonicalize().logged_unless_missing("resolve a folder")?;
    let below = path.strip_prefix(&tree).ok()?.to_owned();
    // git's own files are no work.
    let is_gits = below.components().next().is_some_and(|first| first.as_os_str() == ".git");
    (!is_gits).then_some(EditedFile { repository: place.repository, path: below, tree })
}

/// Whether the other's edit is no longer in the way: in the same tree it was committed or undone, in another one the file is the same as
/// here.
fn is_settled(file: &EditedFile, other: &OthersEdit) -> bool {
    if file.repository.as_os_str().is_empty() {
        return false;
    }
    if other.tree == file.tree {
        return is_as_committed(file).unwrap_or(false);
    }
    let length = |tree: &Path| {
        fs::metadata(tree.join(&file.path)).logged_unless_missing("look at a file").map(|m| m.len())
    };
    let lengths = (length(&file.tree), length(&other.tree));
    if lengths.0 != lengths.1 || lengths.0.is_some_and(|length| length > MOST_COMPARED) {
        return false;
    }
    let read = |tree: &Path| files::read_regular(&tree.join(&file.path), MOST_COMPARED);
    read(&file.tree) == read(&other.tree)
}

/// Whether git finds a file unchanged since the last commit; `None` if git does not say.
fn is_as_committed(file: &EditedFile) -> Option<bool> {
    let mut command = git::quiet_command(&file.tree);
    command.args(["--literal-pathspecs", "status", "--porcelain", "-z", "--ignored"]);
    command.arg("--").arg(&file.path);
    let said = program::run(command, b"", PATIENCE).logged("run git")?;
    said.is_fine().then_some(said.stdout.bytes.is_empty())
}

/// All files of a worktree that differ from its base.
fn changed(worktree: &Worktree) -> Result<BTreeSet<PathBuf>, Error> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut all = BTreeSet::new();
    for words in [
        &["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", &worktree.base, "--"][..],
        &["ls-files", "--others", "--exclude-standard", "-z"],
    ] {
        let mut command = git::quiet_command(&worktree.folder);
        command.args(words);
        let said = program::run(command, b"", PATIENCE).map_err(Error::io("run git"))?;
        if said.is_fine() {
            let names = said.stdout.bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            all.extend(names.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name))));
        }
    }
    Ok(all)
}
