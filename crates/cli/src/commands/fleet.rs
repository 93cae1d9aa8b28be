use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anstyle::AnsiColor;
use dogwatch_core::delivery::When;
use dogwatch_core::exit_code;
use dogwatch_core::fleet::{
    HostPicture, Kill, Order, Picture, Reply, ReplyState, Send, SessionState, Spawn,
};
use dogwatch_core::status::Status;
use dogwatch_engine::{Context, Error};
use dogwatch_fleet::{self, Viewer};
use dogwatch_protocol::fleet as printed;
use dogwatch_store::Mqtt;
use jiff::Timestamp;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::status as words;
use crate::args::{Fleet, FleetCommon, FleetOrder};
use crate::table::{Cell, Table};
use crate::usage::UsageError;
use crate::{environment, ui};

/// How long a host may take to start or end an agent.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn fleet(context: &Context, args: Fleet) -> Result<u8, Error> {
    let mqtt = environment::broker(context)?;
    match args.order {
        None if args.watch => watch(&mqtt),
        None => {
            let picture = dogwatch_fleet::picture(&mqtt)?;
            if ui::prints_json() {
                ui::json(&printed::Fleet { hosts: hosts(&picture) });
            } else if picture.hosts.is_empty() {
                ui::talk("no hosts; to publish this one: dogwatch relay");
            } else {
                ui::line(table(&picture, Timestamp::now()));
            }
            Ok(exit_code::OK)
        }
        Some(FleetOrder::Send(args)) => {
            let (host, session) = split(&args.target)?;
            let order = Order::Send(Send {
                session,
                text: args.text,
                slash: args.slash,
                when: if args.now { When::Now } else { When::Idle },
                timeout: Some(args.timeout.as_secs()),
            });
            ask(&mqtt, &host, &order, &args.common, args.timeout + PATIENCE)
        }
        Some(FleetOrder::Spawn(args)) => {
            let (host, name) = match args.target.split_once('/') {
                Some((host, name)) => (host.to_owned(), Some(name.to_owned())),
                None => (args.target.clone(), None),
            };
            let order = Order::Spawn(Spawn {
                agent: args.agent,
                cwd: args.cwd,
                name,
                prompt: args.prompt,
                model: args.model,
                unattended: args.unattended,
            });
            ask(&mqtt, &host, &order, &args.common, PATIENCE)
        }
        Some(FleetOrder::Kill(args)) => {
            let (host, session) = split(&args.target)?;
            let order = Order::Kill(Kill { session, now: args.now });
            ask(&mqtt, &host, &order, &args.common, PATIENCE)
        }
    }
}

fn split(target: &str) -> Result<(String, String), Error> {
    match target.split_once('/').filter(|(host, session)| !host.is_empty() && !session.is_empty()) {
        Some((host, session)) => Ok((host.to_owned(), session.to_owned())),
        None => Err(UsageError::NotHostAndSession { target: target.to_owned() }.into()),
    }
}

fn ask(
    mqtt: &Mqtt,
    host: &str,
    order: &Order,
    common: &FleetCommon,
    patience: Duration,
) -> Result<u8, Error> {
    let reply = dogwatch_fleet::ask(mqtt, host, order, common.expires, patience)?;
    if ui::prints_json() {
        ui::json(&reply);
    } else if reply.state == ReplyState::Done {
        ui::line(ui::harmless(in_words(&reply)));
    } else {
        let because = reply.because.clone().unwrap_or_default();
        ui::talk(ui::harmless(format!("{}: {because}", reply.state.as_str())));
    }
    Ok(code(&reply))
}

fn in_words(reply: &Reply) -> String {
    let word = |key: &str| reply.result.get(key).and_then(Value::as_str);
    let name = format!("{}/{}", reply.host, word("session").unwrap_or("?"));
    match (word("outcome"), word("by")) {
        (Some(outcome), _) => match word("because") {
            Some(because) => format!("{name}: {}: {because}", outcome.replace('_', " ")),
            None => format!("{name}: {}", outcome.replace('_', " ")),
        },
        (None, Some(by)) => format!("{name}: ended ({})", by.replace('_', " ")),
        (None, None) => name,
    }
}

fn code(reply: &Reply) -> u8 {
    match reply.state {
        ReplyState::Done => reply.exit.unwrap_or(exit_code::OK),
        ReplyState::Refused => exit_code::CONFLICT,
        ReplyState::Expired => exit_code::TIMEOUT,
        ReplyState::Failed | ReplyState::Unknown | ReplyState::Accepted => {
            reply.exit.unwrap_or(exit_code::FAILED)
        }
    }
}

/// Redraws the table on every change, until Ctrl-C.
fn watch(mqtt: &Mqtt) -> Result<u8, Error> {
    if !ui::prints_json() && !ui::stdout_is_terminal() {
        let instead = "dogwatch fleet --watch --json";
        return Err(UsageError::NeedsTerminal { instead }.into());
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(Error::io("listen for Ctrl-C"))?;
    }
    let mut viewer = Viewer::new(mqtt)?;
    // Ages change without an event.
    let pulse = if ui::prints_json() { Duration::from_mins(1) } else { Duration::from_secs(1) };
    while !stop.load(Ordering::Relaxed) {
        let has_news = viewer.next(pulse, &stop);
        let printed = if ui::prints_json() {
            if !has_news {
                continue;
            }
            let trouble = viewer.trouble();
            ui::try_json(&printed::FleetNews { hosts: hosts(viewer.picture()), trouble })
        } else {
            let trouble = viewer.trouble().map(|t| format!("{t}; retrying\n\n"));
            let table = table(viewer.picture(), Timestamp::now());
            ui::redraw(format_args!("{}{table}\n\nCtrl-C to exit", trouble.unwrap_or_default()))
        };
        if printed.is_err() {
            break;
        }
    }
    Ok(exit_code::OK)
}

fn table(picture: &Picture, now: Timestamp) -> Table {
    let mut table = ui::table(&["HOST", "NAME", "AGENT", "STATE", "FOR", "DETAIL"]);
    for (host, seen) in &picture.hosts {
        if seen.sessions.is_empty() {
            table.row([
                host.as_str().into(),
                "-".into(),
                "".into(),
                presence(seen),
                "".into(),
                note(seen).into(),
            ]);
        }
        for state in seen.sessions.values() {
            let (cell, detail) = session(seen, state);
            table.row([
                host.as_str().into(),
                state.session.name.as_str().into(),
                state.session.agent.as_str().into(),
                cell,
                state.since.map(|at| ui::age(at, now)).unwrap_or_default().into(),
                detail.into(),
            ]);
        }
    }
    table
}

fn presence(host: &HostPicture) -> Cell {
    if host.is_online() {
        Cell::painted("online", AnsiColor::Green)
    } else {
        Cell::painted("offline", AnsiColor::Red)
    }
}

fn note(host: &HostPicture) -> String {
    host.status.as_ref().and_then(|status| status.because.clone()).unwrap_or_default()
}

/// The state of a session; for an offline host the last known one.
fn session(host: &HostPicture, state: &SessionState) -> (Cell, String) {
    let word = state.status["state"].as_str().unwrap_or("?").to_owned();
    if !host.is_online() {
        return (
            Cell::painted("unknown", AnsiColor::Magenta),
            format!("host offline; last {word}"),
        );
    }
    match serde_json::from_value::<Status>(state.status.clone()) {
        Ok(status) => (words::state(&status), words::detail(&status)),
        Err(_) => (word.as_str().into(), String::new()),
    }
}

/// The JSON of the picture, documented in `docs/mqtt.md`.
fn hosts(picture: &Picture) -> Vec<printed::Host> {
    let host = |(name, seen): (&String, &HostPicture)| printed::Host {
        host: name.clone(),
        online: seen.is_online(),
        status: seen.status.clone(),
        sessions: seen.sessions.values().cloned().collect(),
    };
    picture.hosts.iter().map(host).collect()
}
