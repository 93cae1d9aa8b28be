use std::sync::atomic::Ordering;
use std::time::Duration;

use dogwatch_core::exit_code;
use dogwatch_engine::watch::stream::Stream;
use dogwatch_engine::{Context, Error, config};
use dogwatch_fleet::{Host, Notice, Publisher, Trust};
use dogwatch_protocol::status::WatchLine;
use dogwatch_protocol::stream::Follow;
use dogwatch_store::Mqtt;

use crate::args::Relay;
use crate::{environment, interrupt, ui};

/// Longest wait before checking whether to stop.
const LONGEST: Duration = Duration::from_mins(1);

pub(crate) fn relay(context: &Context, args: &Relay) -> Result<u8, Error> {
    if args.stop_keeping {
        context.store()?.end_relay()?;
        return Ok(exit_code::OK);
    }
    let mqtt = environment::broker(context)?;
    let mut stream = Stream::open(context, &[], Follow::default())?;
    let stop = interrupt::flag(stream.waker())?;
    let _heartbeat = super::watch::heartbeat(context);
    // After the first listing, so that sessions that were published before are not published as gone.
    let mut shown = Vec::new();
    while !stream.is_complete() {
        shown.extend(stream.next(LONGEST, &stop)?);
        if stop.load(Ordering::Relaxed) {
            return Ok(exit_code::OK);
        }
        if stream.is_silent() {
            ui::talk(super::watch::SILENT);
        }
    }
    let publisher = publisher(context, mqtt, &shown)?;
    while !stop.load(Ordering::Relaxed) {
        for change in stream.next(LONGEST, &stop)? {
            publisher.show(&change);
        }
    }
    Ok(exit_code::OK)
}

/// Publishes beside a stream, if a broker is configured and no other process publishes.
pub(super) fn beside(context: &Context, shown: &[WatchLine]) -> Option<Publisher> {
    let trouble = |error: &Error| ui::talk(format_args!("note: not publishing: {error}"));
    let mqtt = environment::mqtt(context).inspect_err(trouble).ok()??;
    publisher(context, mqtt, shown).inspect_err(trouble).ok()
}

fn publisher(context: &Context, mqtt: Mqtt, shown: &[WatchLine]) -> Result<Publisher, Error> {
    let fleet = config::read(context)?.fleet;
    let allow = fleet.allow();
    let spawn = fleet.spawn_terms(context.home.as_deref());
    if allow.contains(&"spawn") && spawn.folders.is_empty() {
        ui::talk(
            "note: [fleet] allows spawn, but [fleet.spawn] allows no folders, so every remote spawn is refused",
        );
    }
    let host = Host {
        context: context.clone(),
        mqtt,
        allow,
        spawn,
        env: std::env::vars_os().collect(),
        clock: environment::local_time,
        version: env!("CARGO_PKG_VERSION"),
    };
    Publisher::start(host, shown, |notice| match notice {
        Notice::Connected { broker } => ui::talk(format_args!("publishing to {broker}")),
        Notice::Trouble { broker, problem } => {
            ui::talk(format_args!("note: the broker {broker} {problem}; retrying"));
        }
        Notice::Untrusted { broker, trust, refuses_orders } => {
            let problem = match trust {
                Trust::NoLogin => "is used without user and password",
                Trust::Anonymous => "accepts clients without a password",
                Trust::Authenticated | Trust::Unknown => "may accept clients without a password",
            };
            ui::talk(format_args!(
                "warning: the broker {broker} {problem}: anyone who can connect can read all events"
            ));
            if refuses_orders {
                ui::talk(
                    "warning: orders from other hosts are refused until the broker requires a password",
                );
            }
        }
    })
}
