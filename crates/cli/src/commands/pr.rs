use dogwatch_core::exit_code;
use dogwatch_engine::actions::pull_request::{self, Request};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::worktree;

use crate::args::Pr;
use crate::ui;

pub(crate) fn pr(context: &Context, args: &Pr) -> Result<u8, Error> {
    let request = Request {
        title: args.title.clone(),
        body: args.body.clone(),
        draft: args.draft,
        into: args.into.clone(),
    };
    let opened = pull_request::open(context, &args.session, &request)?;
    for note in &opened.notes {
        ui::talk(format_args!("note: {note}"));
    }
    if ui::prints_json() {
        ui::json(&worktree::PullRequest {
            name: opened.worktree.name.clone(),
            id: opened.worktree.session.clone(),
            branch: opened.worktree.branch.clone(),
            into: opened.into,
            remote: opened.remote,
            url: opened.url,
            opened: opened.is_new,
        });
    } else {
        ui::line(&opened.url);
    }
    Ok(exit_code::OK)
}
