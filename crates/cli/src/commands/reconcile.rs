use std::io;
use std::sync::atomic::Ordering;

use dogwatch_core::exit_code;
use dogwatch_core::registry::Drift;
use dogwatch_engine::registry::monitor::{Monitor, Turn};
use dogwatch_engine::registry::push::NoBroker;
use dogwatch_engine::registry::{ManagedRegistry, Pass};
use dogwatch_engine::{Context, Error};
use dogwatch_fleet::BrokerPush;
use dogwatch_protocol::registry as printed;
use jiff::tz::TimeZone;

use crate::args::Reconcile;
use crate::{environment, interrupt, ui};

pub(crate) fn reconcile(context: &Context, args: &Reconcile) -> Result<u8, Error> {
    let managed = environment::managed_registry(context, &args.which_registry, args.status)?;
    if args.once || args.dry_run {
        let pass = managed.pass(args.dry_run)?;
        if args.wants_json() {
            ui::json(&shape(&pass));
        } else {
            in_words(&pass, args.dry_run);
        }
        return Ok(exit_code::OK);
    }
    monitor(context, managed, args)
}

fn monitor(context: &Context, managed: ManagedRegistry<'_>, args: &Reconcile) -> Result<u8, Error> {
    let shown = ui::short_path(managed.file.path());
    let mut monitor = Monitor::new(managed, args.interval)?;
    if args.subscribe {
        monitor.listen_to(match environment::mqtt(context)? {
            Some(mqtt) => Box::new(BrokerPush::start(&mqtt, monitor.waker())?),
            None => Box::new(NoBroker),
        });
    }
    let waker = monitor.waker();
    let stop = interrupt::flag(move || waker.wake())?;
    ui::talk(format_args!("watching {shown}; Ctrl-C to stop"));
    // Report the same failure once, and again if it changes.
    let mut trouble = None;
    while let Some(turn) = monitor.next(&stop) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let printed = match turn {
            Turn::Passed(pass) => {
                if trouble.take().is_some() {
                    ui::talk(format_args!("{shown} is readable again"));
                }
                tell(&pass, args.wants_json())
            }
            // The database was replaced: while this process lives, no other command could use it.
            Turn::Failed(error) if error.is_replaced() => return Err(error),
            Turn::Failed(error) => {
                let text = error.to_string();
                if trouble.as_ref() != Some(&text) {
                    ui::talk(format_args!("error: {text}"));
                    trouble = Some(text);
                }
                Ok(())
            }
            Turn::Push { away } => {
                match away {
                    Some(why) => ui::talk(format_args!("checking at intervals: {why}")),
                    None => ui::talk("subscribed to the broker"),
                }
                Ok(())
            }
        };
        match printed {
            Ok(()) => {}
            // The output is closed: end.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            Err(error) => return Err(Error::io("write the result")(error)),
        }
    }
    Ok(exit_code::OK)
}

fn tell(pass: &Pass, as_json: bool) -> io::Result<()> {
    if as_json {
        return if pass.drifts.is_empty() { Ok(()) } else { ui::try_json(&shape(pass)) };
    }
    let time = pass.checked_at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
    pass.drifts.iter().try_for_each(|drift| ui::try_line(format_args!("{time}  {}", line(drift))))
}

fn in_words(pass: &Pass, dry_run: bool) {
    for drift in &pass.drifts {
        ui::line(line(drift));
    }
    let (checked, news, old) = (pass.checked, pass.drifts.len(), pass.standing.len());
    let done = match (dry_run, pass.written) {
        (true, _) => "nothing written (--dry-run)",
        (false, true) => "registry updated",
        (false, false) => "registry unchanged",
    };
    ui::talk(format_args!(
        "sessions checked: {checked}; differences: {news} new, {old} known; {done}"
    ));
}

fn line(drift: &Drift) -> String {
    let hint = drift.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    ui::harmless(format!("[{}] {}{hint}", drift.kind.class(), drift.message)).replace('\n', " ")
}

fn shape(pass: &Pass) -> printed::Pass {
    printed::Pass {
        checked_at: pass.checked_at,
        sessions_checked: pass.checked,
        drifts: pass.drifts.iter().map(Drift::shape).collect(),
        standing: pass.standing.iter().map(Drift::shape).collect(),
        written: pass.written,
    }
}
