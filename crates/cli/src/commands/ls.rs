use dogwatch_core::exit_code;
use dogwatch_engine::observe::{listing, snapshot};
use dogwatch_engine::socket::client;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::session::{Session, Sessions};
use dogwatch_protocol::stream::Ask;
use dogwatch_store::Which;
use jiff::Timestamp;

use crate::args::Ls;
use crate::{environment, ui};

pub(crate) fn ls(context: &Context, args: &Ls) -> Result<u8, Error> {
    let mut listed = look(context, args)?;
    if args.project_only {
        let project = environment::project()?;
        listed.sessions.retain(|one| one.project == project.to_string_lossy());
    }
    listed.sessions.retain(|one| args.tags.iter().all(|tag| one.tags.contains(tag)));
    if ui::prints_json() {
        ui::json(&listed);
        return Ok(exit_code::OK);
    }
    if listed.sessions.is_empty() && listed.left_out == 0 {
        ui::talk(ui::no_sessions(args.project_only));
    } else if !listed.sessions.is_empty() {
        print_table(&listed.sessions);
    }
    ui::talk_of_left_out(listed.left_out);
    Ok(exit_code::OK)
}

fn look(context: &Context, args: &Ls) -> Result<Sessions, Error> {
    let is_current = !args.all && !args.archived;
    if is_current && let Some(listed) = client::ask(context, Ask::Ls) {
        return Ok(listed);
    }
    let as_of = Timestamp::now();
    let (mut seen, mut left_out) = if is_current {
        snapshot::list(context)?
    } else {
        (snapshot::look(context, Which::All)?, 0)
    };
    if args.archived {
        seen.retain(|one| one.session.archived);
    } else if is_current {
        left_out += snapshot::hide_superseded(&mut seen, |one| one);
    }
    Ok(listing::sessions(&seen, left_out, as_of))
}

fn print_table(sessions: &[Session]) {
    let now = Timestamp::now();
    let mut table = ui::table(&["NAME", "AGENT", "STATE", "AGE", "FOLDER", "WHY"]).spare(&["WHY"]);
    for one in sessions {
        table.row([
            one.name.as_str().into(),
            one.agent.as_str().into(),
            ui::state(one.state),
            ui::age(one.created, now).into(),
            ui::short_path(one.cwd.as_ref()).into(),
            one.reason.as_str().into(),
        ]);
    }
    ui::line(table);
}
