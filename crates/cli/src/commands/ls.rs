use dogwatch_core::exit_code;
use dogwatch_engine::observe::snapshot::{self, SessionSnapshot};
use dogwatch_engine::{Context, Error};
use dogwatch_store::Which;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::Ls;
use crate::{environment, ui};

pub(crate) fn ls(context: &Context, args: &Ls) -> Result<u8, Error> {
    let (mut seen, mut left_out) =
        if args.all { (snapshot::look(context, Which::All)?, 0) } else { snapshot::list(context)? };
    if !args.all {
        left_out += snapshot::hide_superseded(&mut seen, |one| one);
    }
    if args.project_only {
        let project = environment::project()?;
        seen.retain(|s| snapshot::is_of_project(s, &project));
    }
    if args.json {
        let sessions: Vec<Value> = seen.iter().map(to_json).collect();
        ui::json(&json!({ "sessions": sessions, "left_out": left_out }));
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

/// The stable shape of a session, documented in `docs/protocol.md`.
pub(crate) fn to_json(seen: &SessionSnapshot) -> Value {
    let session = &seen.session;
    json!({
        "id": session.id,
        "name": session.name,
        "agent": session.agent,
        "state": seen.life.state,
        "since": seen.life.since,
        "reason": seen.life.reason,
        "exit": session.ended.as_ref().map(|e| e.exit),
        "cause": session.ended.as_ref().map(|e| e.cause),
        "by": session.ended.as_ref().and_then(|e| e.by.as_deref()),
        "project": session.project,
        "cwd": session.cwd,
        "story": session.story,
        "model": session.model,
        "conversation": session.conversation,
        "command": session.command,
        "pane": session.pane,
        "pid": session.started.as_ref().map(|s| s.agent.pid),
        "attached": seen.pane.map(|pane| pane.attached > 0),
        "created": session.created,
        "put_away": session.put_away,
    })
}
