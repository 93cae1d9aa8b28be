use std::io;
use std::time::Duration;

use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_engine::notify::outbox;
use dogwatch_engine::{Context, Error, summon};
use dogwatch_protocol::notice::{Delivery, DeliveryState, NotifyLog, NotifyTest};
use dogwatch_store::read_limited;
use jiff::tz::TimeZone;

use crate::args::{self, NotifyArgs, NotifyFollow, NotifyPublish, NotifyVerb};
use crate::table::Cell;
use crate::usage::UsageError;
use crate::{environment, ui};

/// Longer than any notification.
const MOST_BYTES: u64 = 1024 * 1024;
const PUBLISH: Duration = Duration::from_secs(20);

pub(crate) fn notify(context: &Context, args: &NotifyArgs) -> Result<u8, Error> {
    match &args.verb {
        NotifyVerb::Test(args) => test(context, args),
        NotifyVerb::Log(args) => log(context, args),
        NotifyVerb::Publish(args) => publish(context, args),
        NotifyVerb::Follow(args) => Ok(follow(context, args)),
    }
}

fn test(context: &Context, args: &args::NotifyTest) -> Result<u8, Error> {
    let Some(channels) = outbox::test(context, args.channel.as_deref())? else {
        let given = args.channel.clone().unwrap_or_default();
        return Err(UsageError::UnknownChannel { given }.into());
    };
    let ok = channels.iter().all(|channel| channel.ok);
    if ui::prints_json() {
        ui::json(&NotifyTest { ok, channels });
    } else {
        let mut table = ui::table(&["CHANNEL", "RESULT", "TOOK", "PROBLEM"]);
        for one in channels {
            let (word, colour) =
                if one.ok { ("sent", AnsiColor::Green) } else { ("failed", AnsiColor::Red) };
            table.row([
                ui::harmless(one.channel).into(),
                Cell::painted(word, colour),
                format!("{} ms", one.milliseconds).into(),
                ui::harmless(one.because.unwrap_or_default()).replace('\n', " ").into(),
            ]);
        }
        ui::line(table);
    }
    Ok(if ok { exit_code::OK } else { exit_code::FAILED })
}

fn log(context: &Context, args: &args::NotifyLog) -> Result<u8, Error> {
    let mut deliveries = context.store()?.notify_log(args.last)?;
    if args.failed {
        deliveries.retain(|one| {
            one.state == DeliveryState::Failed
                || (one.state == DeliveryState::Waiting && one.attempts > 0)
        });
    }
    if ui::prints_json() {
        ui::json(&NotifyLog { deliveries });
        return Ok(exit_code::OK);
    }
    if deliveries.is_empty() {
        let failed = if args.failed { " that failed" } else { "" };
        ui::talk(format_args!("no notifications{failed}; to try a channel: dogwatch notify test"));
        return Ok(exit_code::OK);
    }
    let mut table = ui::table(&["TIME", "CHANNEL", "RESULT", "TRIES", "NOTIFICATION", "NOTE"]);
    for one in &deliveries {
        let colour = match one.state {
            DeliveryState::Sent => AnsiColor::Green,
            DeliveryState::Failed => AnsiColor::Red,
            DeliveryState::Waiting | DeliveryState::Skipped => AnsiColor::Yellow,
        };
        table.row([
            one.at.to_zoned(TimeZone::system()).strftime("%m-%d %H:%M:%S").to_string().into(),
            ui::harmless(one.channel.clone()).into(),
            Cell::painted(one.state.as_str(), colour),
            one.attempts.to_string().into(),
            ui::harmless(one.title.clone()).replace('\n', " ").into(),
            ui::harmless(note(one)).replace('\n', " ").into(),
        ]);
    }
    ui::line(table);
    Ok(exit_code::OK)
}

/// Why it failed, and when it is tried next.
fn note(one: &Delivery) -> String {
    let because = one.because.clone().unwrap_or_default();
    let Some(due) = one.due else { return because };
    let at = due.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
    let gap = if because.is_empty() { "" } else { "; " };
    format!("{because}{gap}due at {at}")
}

fn publish(context: &Context, args: &NotifyPublish) -> Result<u8, Error> {
    let mqtt = environment::broker(context)?;
    let payload =
        read_limited(io::stdin(), MOST_BYTES).map_err(Error::io("read the notification"))?;
    dogwatch_fleet::publish(&mqtt, &args.topic, payload, PUBLISH)?;
    Ok(exit_code::OK)
}

/// What runners of version 0.1 call: the supervisor does it now. There is nothing to wait for.
fn follow(context: &Context, args: &NotifyFollow) -> u8 {
    summon::poke(context, &args.session);
    ui::line("rest - -");
    exit_code::OK
}
