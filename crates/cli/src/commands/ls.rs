use dogwatch_core::exit_code;
use dogwatch_engine::observe::snapshot::{self, SessionSnapshot};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::session::{Session, Sessions};
use dogwatch_store::Which;
use jiff::Timestamp;

use crate::args::Ls;
use crate::{environment, ui};

pub(crate) fn ls(context: &Context, args: &Ls) -> Result<u8, Error> {
    let (mut seen, mut left_out) = if args.all || args.archived {
        (snapshot::look(context, Which::All)?, 0)
    } else {
        snapshot::list(context)?
    };
    if args.archived {
        seen.retain(|one| one.session.archived);
    } else if !args.all {
        left_out += snapshot::hide_superseded(&mut seen, |one| one);
    }
    if args.project_only {
        let project = environment::project()?;
        seen.retain(|s| snapshot::is_of_project(s, &project));
    }
    seen.retain(|one| args.tags.iter().all(|tag| one.session.tags.contains(tag)));
    if args.json {
        ui::json(&Sessions { sessions: seen.iter().map(shape).collect(), left_out });
        return Ok(exit_code::OK);
    }
    if seen.is_empty() && left_out == 0 {
        ui::talk(ui::no_sessions(args.project_only));
    } else if !seen.is_empty() {
        print_table(&seen);
    }
    ui::talk_of_left_out(left_out);
    Ok(exit_code::OK)
}

fn print_table(seen: &[SessionSnapshot]) {
    let now = Timestamp::now();
    let mut table = ui::table(&["NAME", "AGENT", "STATE", "AGE", "FOLDER", "WHY"]).spare(&["WHY"]);
    for one in seen {
        table.row([
            one.session.name.as_str().into(),
            one.session.agent.as_str().into(),
            ui::state(one.life.state),
            ui::age(one.session.created, now).into(),
            ui::short_path(&one.session.cwd).into(),
            one.life.reason.as_str().into(),
        ]);
    }
    ui::line(table);
}

fn shape(seen: &SessionSnapshot) -> Session {
    let session = &seen.session;
    let ended = session.ended();
    Session {
        id: session.id.clone(),
        name: session.name.clone(),
        agent: session.agent.clone(),
        state: seen.life.state,
        since: seen.life.since,
        reason: seen.life.reason.clone(),
        exit: ended.map(|ended| ended.exit),
        cause: ended.map(|ended| ended.cause),
        by: ended.and_then(|ended| ended.by.clone()),
        project: session.project.to_string_lossy().into_owned(),
        cwd: session.cwd.to_string_lossy().into_owned(),
        story: session.story.clone(),
        model: session.model.clone(),
        conversation: session.conversation.clone(),
        command: session.command.clone(),
        pane: session.pane.clone(),
        pid: session.started().map(|started| started.agent.pid),
        attached: seen.pane.map(|pane| pane.attached > 0),
        created: session.created,
        put_away: session.archived,
        title: session.title.clone(),
        tags: session.tags.clone(),
    }
}
