//! The story sessions on the server, and their projects.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dogwatch_core::name;
use dogwatch_store::Which;
use dogwatch_tmux::{Command, Running};
use jiff::Timestamp;

use dogwatch_engine::{Context, Error};

/// A tmux session with the name of a story session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    /// The directory that it was created in.
    folder: PathBuf,
}

/// All of them, in tmux's order.
pub fn all(context: &Context) -> Result<Vec<Listed>, Error> {
    finish(ask(context))
}

fn ask(context: &Context) -> Result<Running, dogwatch_tmux::Error> {
    let format = "#{session_name}:#{session_path}";
    context.tmux.start(&[Command::new("list-sessions").option('F', format)])
}

fn finish(asked: Result<Running, dogwatch_tmux::Error>) -> Result<Vec<Listed>, Error> {
    let reply = match asked.and_then(Running::finish) {
        Ok(mut replies) => replies.pop().unwrap_or_default(),
        Err(error) if error.is_no_server() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let listed = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        // tmux allows no colon in a name.
        let (name, folder) = line.split_once(':')?;
        let is_story = name.starts_with("sa-");
        is_story.then(|| Listed { name: name.to_owned(), folder: folder.into() })
    };
    Ok(reply.lines().filter_map(listed).collect())
}

/// Those of one project. Managed ones are known by their project root; of others the name must match, and the directory be inside.
pub fn of_project(context: &Context, root: &Path) -> Result<Vec<Listed>, Error> {
    let asked = ask(context);
    // While tmux prepares its answer.
    let ours: HashMap<String, PathBuf> = context
        .store()?
        .sessions(&context.socket, Which::current(Timestamp::now()))?
        .into_iter()
        .map(|session| (session.name, session.project))
        .collect();
    let listed = finish(asked)?;
    let as_kept = PathBuf::from(&*root.to_string_lossy());
    let prefix = format!("sa-{}-", name::slug(root));
    let is_of_it = |one: &Listed| match ours.get(&one.name) {
        Some(project) => *project == as_kept,
        None => one.name.starts_with(&prefix) && is_inside(&one.folder, root),
    };
    Ok(listed.into_iter().filter(is_of_it).collect())
}

/// By the name alone, for callers that know no more.
pub fn of_slug(context: &Context, slug: &str) -> Result<Vec<Listed>, Error> {
    let prefix = format!("sa-{slug}-");
    Ok(all(context)?.into_iter().filter(|one| one.name.starts_with(&prefix)).collect())
}

fn is_inside(folder: &Path, root: &Path) -> bool {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).starts_with(root)
}
