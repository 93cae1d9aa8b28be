use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::{Event, kind};
use dogwatch_core::exit_code;
use dogwatch_engine::observe::events::{self, Journal, Query};
use dogwatch_engine::{Context, Error};
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::args::Events;
use crate::usage::UsageError;
use crate::{environment, interrupt, ui};

/// Longest wait before checking whether the journal was replaced.
const LONGEST: Duration = Duration::from_secs(2);

pub(crate) fn events(context: &Context, args: &Events) -> Result<u8, Error> {
    if let Some(unknown) = args.kind.as_deref().filter(|word| !kind::ALL.contains(word)) {
        let known = kind::ALL.join(", ");
        return Err(UsageError::UnknownEventKind { given: unknown.to_owned(), known }.into());
    }
    if let Some(session) = &args.session {
        events::must_be_known(context, session)?;
    }
    // A mistake in the configuration must not prevent reading the journal.
    let mqtt = environment::mqtt(context).logged("read the configuration").flatten();
    let host = mqtt.map_or_else(environment::host, |mqtt| mqtt.host);
    let query = Query {
        since: args.since,
        session: args.session.clone(),
        kind: args.kind.clone(),
        last: args.last,
    };
    let mut journal = Journal::open(context, query, host)?;
    let waker = journal.waker();
    let stop = interrupt::flag(move || waker.wake())?;
    loop {
        let events = journal.read()?;
        let is_all = events.is_empty();
        for event in events {
            if let Err(error) = tell(&event) {
                return super::watch::ended_by(error);
            }
        }
        if stop.load(Ordering::Relaxed) || (is_all && !args.follow) {
            return Ok(exit_code::OK);
        }
        if !is_all {
            continue;
        }
        journal.wait(LONGEST);
    }
}

fn tell(event: &Event) -> io::Result<()> {
    if ui::prints_json() {
        return ui::try_json(event);
    }
    let time = event.at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let name = event.session.as_ref().map_or("-", |session| session.name.as_str());
    let line = format!("{time}  {name}  {}{}", event.kind, detail(event));
    ui::try_line(ui::harmless(line).replace('\n', " "))
}

/// Its details, in a few words.
pub(super) fn detail(event: &Event) -> String {
    let data = &event.data;
    let word = |key: &str| data.get(key).and_then(Value::as_str);
    if event.kind == kind::STATE {
        let from = word("from").map(|from| format!("{from} → ")).unwrap_or_default();
        let more = word("question").or(word("text")).or(word("task")).or(word("missing"));
        let more = more.map(|more| format!(": {more}")).unwrap_or_default();
        return format!(": {from}{}{more}", word("state").unwrap_or("?"));
    }
    let number = |key: &str| data.get(key).and_then(Value::as_i64);
    let words = match event.kind.as_str() {
        kind::ENDED => {
            serde_json::from_value(data["exit"].clone()).logged("read JSON").map(ui::exit)
        }
        kind::MESSAGE_POSTED => return String::new(),
        kind::MESSAGE_SETTLED => data["outcome"]["outcome"].as_str().map(ToOwned::to_owned),
        kind::RUN => {
            let about = word("job").or(word("item")).map(|it| format!(" {it}")).unwrap_or_default();
            word("fact").map(|fact| format!("{}{about} {fact}", word("run").unwrap_or_default()))
        }
        kind::TOOL_CALL => {
            let said = |key: &str| word(key).unwrap_or_default();
            Some(format!("{} by {}: {}", said("tool"), said("by"), said("outcome")))
        }
        kind::JOB => word("state").map(ToOwned::to_owned),
        kind::ESCALATION_RAISED => {
            let problem = data["situation"]["problem"].as_str().unwrap_or_default();
            number("number").map(|number| format!("{number}, {problem}"))
        }
        kind::ESCALATION_ANSWERED => {
            let said = |key: &str| data["outcome"][key].as_str();
            let by = said("by").map(|by| format!(" by {by}")).unwrap_or_default();
            let how = said("action").or(said("how")).unwrap_or_default();
            number("number").map(|number| format!("{number}, {how}{by}"))
        }
        _ => word("because").or(word("message")).or(word("agent")).map(ToOwned::to_owned),
    };
    match words {
        Some(more) => format!(": {more}"),
        None if data.as_object().is_none_or(serde_json::Map::is_empty) => String::new(),
        None => format!(": {data}"),
    }
}
