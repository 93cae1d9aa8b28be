use std::io::IsTerminal as _;

use dogwatch_core::exit_code;
use dogwatch_core::worktree::finish::{Consent, Way};
use dogwatch_engine::actions::finish::{self, AtStake, Finished, Request};
use dogwatch_engine::error::WorktreeError;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::worktree::{self, FinishedHow};

use crate::args::Finish;
use crate::commands::diff;
use crate::ui;

pub(crate) fn finish(context: &Context, args: &Finish) -> Result<u8, Error> {
    let way = way(args);
    if way == Way::Discard && !args.yes && !is_confirmed(context, args)? {
        return Ok(exit_code::FAILED);
    }
    let request = Request {
        way,
        into: args.into.clone(),
        message: args.message.clone(),
        consent: Consent { kill: args.kill, discard: way == Way::Discard },
    };
    let finished = finish::finish(context, &args.session, &request)?;
    if ui::prints_json() {
        ui::json(&shape(&finished));
        return Ok(exit_code::OK);
    }
    tell(&finished);
    Ok(exit_code::OK)
}

fn way(args: &Finish) -> Way {
    match args {
        Finish { merge: true, .. } => Way::Merge,
        Finish { rebase: true, .. } => Way::Rebase,
        Finish { squash: true, .. } => Way::Squash,
        Finish { keep: true, .. } => Way::Keep,
        _ => Way::Discard,
    }
}

/// Says what would be lost, and asks.
fn is_confirmed(context: &Context, args: &Finish) -> Result<bool, Error> {
    if !std::io::stdin().is_terminal() {
        return Err(WorktreeError::NotConfirmed.into());
    }
    let AtStake { worktree: found, commits, uncommitted, ignored } =
        finish::at_stake(context, &args.session)?;
    let counted = |count: usize, what: &str| {
        if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
    };
    let also = match ignored {
        0 => String::new(),
        count => format!(", and {}", counted(count, "ignored path")),
    };
    let question = format!(
        "Remove {} and the branch {}, with {} in no other branch and {}{also}?",
        ui::short_path(&found.folder),
        found.branch,
        counted(commits, "commit"),
        counted(uncommitted, "uncommitted file"),
    );
    Ok(ui::confirm(&question))
}

fn tell(finished: &Finished) {
    let Finished { worktree, way, into, commit, .. } = finished;
    for name in &finished.killed {
        ui::line(format_args!("ended {name}"));
    }
    let branch = &worktree.branch;
    match (way, into, commit) {
        (Way::Keep, ..) => {
            let folder = ui::short_path(&worktree.folder);
            ui::line(format_args!("kept {folder} on branch {branch}"));
        }
        (Way::Discard, ..) => {
            ui::line(format_args!("discarded {branch}"));
            if let Some(tip) = finished.tip.as_ref().filter(|_| finished.lost > 0) {
                ui::talk(format_args!("to get its commits back: git branch {branch} {tip}"));
            }
        }
        (way, Some(into), Some(commit)) => {
            let short = &commit[..commit.len().min(12)];
            ui::line(format_args!("{} {branch} into {into} ({short})", way.done()));
        }
        (way, ..) => ui::line(format_args!("{} {branch}", way.done())),
    }
    for note in &finished.notes {
        ui::talk(format_args!("note: {note}"));
    }
}

fn shape(finished: &Finished) -> worktree::Finished {
    worktree::Finished {
        name: finished.worktree.name.clone(),
        id: finished.worktree.session.clone(),
        worktree: diff::shape(&finished.worktree),
        how: match finished.way {
            Way::Merge => FinishedHow::Merged,
            Way::Rebase => FinishedHow::Rebased,
            Way::Squash => FinishedHow::Squashed,
            Way::Keep => FinishedHow::Kept,
            Way::Discard => FinishedHow::Discarded,
        },
        into: finished.into.clone(),
        commit: finished.commit.clone(),
        tip: finished.tip.clone(),
        folder_removed: finished.folder_removed,
        branch_removed: finished.branch_removed,
        killed: finished.killed.clone(),
        notes: finished.notes.clone(),
    }
}
