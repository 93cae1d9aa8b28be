use dogwatch_core::exit_code;
use dogwatch_engine::actions::gc;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::session;
use jiff::Timestamp;

use crate::args::Gc;
use crate::ui;

pub(crate) fn gc(context: &Context, args: &Gc) -> Result<u8, Error> {
    let what = gc::What { dry_run: args.dry_run, ignored_too: args.ignored };
    let collected = gc::gc(context, args.older_than, what, Timestamp::now())?;
    if ui::prints_json() {
        ui::json(&session::Collected {
            dry_run: args.dry_run,
            sessions: collected.sessions.into_iter().map(|session| session.name).collect(),
            folders: collected.folders,
            processes: collected.processes,
            worktrees: collected.worktrees.iter().map(|folder| ui::path(folder)).collect(),
            left: collected.left.into_iter().map(left).collect(),
            files: collected.files.iter().map(|file| ui::path(file)).collect(),
            not_shrunk: collected.not_shrunk,
        });
        return Ok(exit_code::OK);
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    for session in &collected.sessions {
        ui::line(format_args!("{verb} {}", session.name));
    }
    let verb = if args.dry_run { "would end" } else { "ended" };
    for pid in &collected.processes {
        ui::line(format_args!("{verb} process {pid}, left over from an ended session"));
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    for folder in &collected.folders {
        ui::line(format_args!("{verb} the directory {folder}, which belongs to no session"));
    }
    for folder in &collected.worktrees {
        ui::line(format_args!("{verb} the worktree {}", ui::short_path(folder)));
    }
    for gc::Left { session, folder, why } in &collected.left {
        ui::talk(format_args!("kept the worktree of {session}, {}: {why}", ui::short_path(folder)));
    }
    for file in &collected.files {
        ui::line(format_args!("{verb} {}, which is unused", file.display()));
    }
    if let Some(why) = &collected.not_shrunk {
        ui::talk(format_args!("note: cannot shrink the database: {why}"));
    }
    if collected.sessions.is_empty()
        && collected.processes.is_empty()
        && collected.folders.is_empty()
        && collected.worktrees.is_empty()
        && collected.files.is_empty()
    {
        ui::talk("nothing to clean up");
    }
    Ok(exit_code::OK)
}

fn left(left: gc::Left) -> session::LeftWorktree {
    let gc::Left { session, folder, why } = left;
    session::LeftWorktree { session, folder: ui::path(&folder), why }
}
