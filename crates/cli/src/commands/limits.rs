use dogwatch_core::exit_code;
use dogwatch_engine::actions::limits;
use dogwatch_engine::observe::limits::{accounts, clock};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::limits::{
    AccountLimits, LimitPolicySet, LimitWindow, LimitedSession, LimitsPaused,
};
use jiff::Timestamp;

use crate::args::{Limits, LimitsVerb};
use crate::ui;

pub(crate) fn limits(context: &Context, args: &Limits) -> Result<u8, Error> {
    match &args.verb {
        None => show(context)?,
        Some(LimitsVerb::Set(set)) => {
            let session = limits::set(context, &set.session, set.policy.clone())?;
            let (id, name, when_limited) = (session.id, session.name, set.policy.to_string());
            if ui::prints_json() {
                ui::json(&LimitPolicySet { id, name, when_limited });
            } else {
                ui::line(format_args!("{name}: {when_limited}"));
            }
        }
        Some(LimitsVerb::Pause(_)) => pause(context, true)?,
        Some(LimitsVerb::Resume(_)) => pause(context, false)?,
    }
    Ok(exit_code::OK)
}

fn pause(context: &Context, paused: bool) -> Result<(), Error> {
    let changed = limits::pause(context, paused, Timestamp::now())?;
    if ui::prints_json() {
        ui::json(&LimitsPaused { paused, changed });
        return Ok(());
    }
    ui::line(match (paused, changed) {
        (true, true) => "paused: no session is continued automatically",
        (true, false) => "already paused",
        (false, true) => "resumed",
        (false, false) => "not paused",
    });
    Ok(())
}

fn show(context: &Context) -> Result<(), Error> {
    let now = Timestamp::now();
    let found = accounts(context, now)?;
    if ui::prints_json() {
        ui::json(&found);
        return Ok(());
    }
    if let Some(since) = found.paused {
        ui::talk(format_args!("automatic continuation is paused since {}", clock(since, now)));
    }
    if found.accounts.is_empty() {
        ui::talk("no agents are running");
        return Ok(());
    }
    let header = ["ACCOUNT", "UNTIL", "WINDOWS", "SESSION", "STATE", "WHEN LIMITED", "NEXT"];
    let mut table = ui::table(&header);
    for AccountLimits { account, until, windows, sessions, .. } in found.accounts {
        let windows: Vec<String> = windows.iter().map(|window| words(window, now)).collect();
        let mut first =
            [account, until.map(|at| clock(at, now)).unwrap_or_default(), windows.join(", ")];
        for LimitedSession { name, state, when_limited, last, .. } in sessions {
            let next = last.map(|last| {
                if let Some(at) = last.continues {
                    return format!("continues {}", clock(at, now));
                }
                let because = last.because.map(|why| format!(": {why}")).unwrap_or_default();
                format!("{}{because}", last.action.as_str().replace('_', " "))
            });
            let [account, until, windows] = std::mem::take(&mut first);
            let next = next.unwrap_or_default();
            table.row([account, until, windows, name, state, when_limited, next].map(Into::into));
        }
    }
    ui::line(table);
    Ok(())
}

/// `5-hour 93 %, resets 15:00`
fn words(window: &LimitWindow, now: Timestamp) -> String {
    let used = window.used_percent.map(|used| format!(" {used:.0} %")).unwrap_or_default();
    let resets = window.resets.map(|at| format!(" resets {}", clock(at, now))).unwrap_or_default();
    format!("{}{used}{resets}", window.window)
}
