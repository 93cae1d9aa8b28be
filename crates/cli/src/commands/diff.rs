use dogwatch_core::exit_code;
use dogwatch_engine::actions::diff;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::worktree;
use dogwatch_store::Worktree;

use crate::args::Diff;
use crate::ui;

pub(crate) fn diff(context: &Context, args: &Diff) -> Result<u8, Error> {
    let found = diff::find(context, &args.session)?;
    let compared = diff::compare(&found)?;
    if ui::prints_json() {
        let files = compared.files()?;
        let sum =
            |count: fn(&worktree::ChangedFile) -> Option<u64>| files.iter().filter_map(count).sum();
        ui::json(&worktree::Diff {
            name: found.name.clone(),
            id: found.session.clone(),
            worktree: shape(&found),
            base: compared.base.clone(),
            head: compared.head.clone(),
            commits: compared.commits()?,
            insertions: sum(|file| file.insertions),
            deletions: sum(|file| file.deletions),
            files,
        });
        return Ok(exit_code::OK);
    }
    if found.finished().is_none() && !found.folder.exists() {
        ui::talk(format_args!(
            "note: {} no longer exists; this is what is committed",
            ui::short_path(&found.folder)
        ));
    }
    let mut options = Vec::new();
    if args.stat {
        options.push("--stat");
    } else if args.name_only {
        options.push("--name-only");
    }
    if ui::stdout_is_terminal() {
        options.push("--color=always");
        // What agents write into files must not reach the terminal as commands.
        ui::screen(&compared.text(&options)?);
    } else {
        options.push("--no-color");
        compared.stream(&options)?;
    }
    Ok(exit_code::OK)
}

pub(super) fn shape(worktree: &Worktree) -> worktree::Worktree {
    worktree::Worktree {
        folder: ui::path(&worktree.folder),
        branch: worktree.branch.clone(),
        base: worktree.base.clone(),
        into: worktree.target.clone(),
        home: ui::path(&worktree.home),
    }
}
