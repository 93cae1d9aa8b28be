use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_engine::doctor::{self, Check, Health};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::tools;
use dogwatch_tmux::{Server, Socket};

use crate::table::Cell;
use crate::{environment, ui};

/// Also looks around when the state folder cannot be used at all: that is when it is needed most.
pub(crate) fn doctor(context: &Result<Context, Error>) -> u8 {
    let checks = match context {
        Ok(context) => {
            let mut checks = doctor::tmux(context);
            checks.extend(doctor::state(&context.state));
            checks.push(doctor::supervisor(context));
            checks.extend(doctor::configuration(context));
            checks.extend(doctor::notifications(context));
            checks
                .extend(dogwatch_fleet::doctor::broker(&context.state, environment::mqtt(context)));
            checks.extend(doctor::agents(context));
            checks
        }
        Err(error) => vec![
            doctor::tmux_program(&Server::new(Socket::Default)),
            doctor::failed("state directory", error),
        ],
    };
    let healthy = checks.iter().all(|c| c.health != Health::Bad);
    if ui::prints_json() {
        let checks = checks.iter().map(shape).collect();
        ui::json(&tools::Diagnosis { ok: healthy, checks });
    } else {
        print_table(&checks);
    }
    if healthy { exit_code::OK } else { exit_code::FAILED }
}

fn print_table(checks: &[Check]) {
    let mut table = ui::table(&["CHECK", "HEALTH", "FOUND", "REMEDY"]);
    for check in checks {
        let colour = match check.health {
            Health::Good => AnsiColor::Green,
            Health::Missing | Health::Warning => AnsiColor::Yellow,
            Health::Bad => AnsiColor::Red,
        };
        table.row([
            check.subject.as_str().into(),
            Cell::painted(check.health.as_str(), colour),
            check.found.as_str().into(),
            check.remedy.as_deref().unwrap_or_default().into(),
        ]);
    }
    ui::line(table);
}

fn shape(check: &Check) -> tools::Check {
    tools::Check {
        check: check.subject.clone(),
        health: check.health.as_str().to_owned(),
        found: check.found.clone(),
        remedy: check.remedy.clone(),
    }
}
