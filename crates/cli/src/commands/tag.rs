use std::collections::BTreeMap;

use dogwatch_core::exit_code;
use dogwatch_engine::actions::label;
use dogwatch_engine::observe::status::{SessionStatus, StatusReader};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::label::{Labelled, Tag as TagRow, Tags};
use dogwatch_store::{Session, Which};
use jiff::Timestamp;

use crate::args::{Tag, TagLs, TagVerb};
use crate::ui;

pub(crate) fn tag(context: &Context, args: &Tag) -> Result<u8, Error> {
    let now = Timestamp::now();
    let session = match &args.verb {
        TagVerb::Add(add) => label::tag(context, &add.session, &add.tags, &[], now)?,
        TagVerb::Rm(rm) if rm.all => label::untag(context, &rm.session, now)?,
        TagVerb::Rm(rm) => label::tag(context, &rm.session, &[], &rm.tags, now)?,
        TagVerb::Ls(args) => return ls(context, args, now),
    };
    tell(&session);
    Ok(exit_code::OK)
}

fn tell(session: &Session) {
    if ui::prints_json() {
        ui::json(&shape(session));
    } else if session.tags.is_empty() {
        ui::line(format_args!("{}: no tags", session.name));
    } else {
        ui::line(format_args!("{}: {}", session.name, session.tags.join(" ")));
    }
}

pub(super) fn shape(session: &Session) -> Labelled {
    let Session { name, id, title, tags, .. } = session.clone();
    Labelled { name, id, title, tags }
}

fn ls(context: &Context, args: &TagLs, now: Timestamp) -> Result<u8, Error> {
    let which = if args.all { Which::All } else { Which::current(now) };
    let statuses = StatusReader::new(context)?.all_of(which, now)?;
    let tags = by_tag(&statuses);
    if ui::prints_json() {
        ui::json(&Tags { tags });
    } else if tags.is_empty() {
        ui::talk("no tags; to add one: dogwatch tag add NAME TAG");
    } else {
        let mut table = ui::table(&["TAG", "SESSIONS"]);
        for row in tags {
            table.row([row.tag.into(), row.sessions.join(" ").into()]);
        }
        ui::line(table);
    }
    Ok(exit_code::OK)
}

fn by_tag(statuses: &[SessionStatus]) -> Vec<TagRow> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for session in statuses.iter().map(|one| &one.seen.session) {
        for tag in &session.tags {
            found.entry(tag).or_default().push(session.name.clone());
        }
    }
    let row = |(tag, sessions): (&str, _)| TagRow { tag: tag.to_owned(), sessions };
    found.into_iter().map(row).collect()
}
