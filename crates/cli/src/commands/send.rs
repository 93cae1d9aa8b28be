use std::sync::atomic::AtomicBool;

use dogwatch_core::delivery::safe_text::MOST_BYTES;
use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::exit_code;
use dogwatch_engine::actions::send::{self, Receipt, Request};
use dogwatch_engine::actions::{callback, job};
use dogwatch_engine::{Context, Error};

use crate::args::{Send, SendWhen};
use crate::commands::given_text;
use crate::ui;
use crate::usage::UsageError;

pub(crate) fn send(context: &Context, args: &Send) -> Result<u8, Error> {
    let text = given_text::text(args.text.as_deref(), args.file.as_deref(), MOST_BYTES)?;
    let text = text.ok_or(UsageError::MissingMessage)?;
    let request = Request {
        target: &args.target,
        text: &text,
        slash: args.slash,
        when: match args.when {
            SendWhen::Idle => When::Idle,
            SendWhen::Now => When::Now,
        },
        timeout: args.timeout.or(args.notify_me.then_some(callback::PATIENCE)),
    };
    let receipt = if args.notify_me {
        let subscriber = callback::subscriber(context)?;
        let is_cancelled = AtomicBool::new(false);
        job::send_tracked(context, &request, &send::new_id(), &subscriber, &is_cancelled)?
    } else {
        send::send(context, &request)?
    };
    if ui::prints_json() {
        ui::json(&receipt.report());
    } else {
        ui::line(in_words(&receipt));
        for change in &receipt.terms.changes {
            ui::talk(format_args!("note: {}", super::messages::change(*change)));
        }
    }
    // Who is notified later need not wait: queued is what was asked for.
    let is_enough = args.notify_me && args.timeout.is_none();
    Ok(match code(&receipt.outcome) {
        exit_code::TIMEOUT if is_enough => exit_code::OK,
        code => code,
    })
}

fn in_words(receipt: &Receipt) -> String {
    let name = &receipt.name;
    match &receipt.outcome {
        Outcome::Delivered { proof, while_working } => {
            let queued = if *while_working { ", while it was working" } else { "" };
            format!("delivered to {name}, confirmed by its {}{queued}", proof.as_str())
        }
        Outcome::Queued { because } => {
            format!("queued: {name}: {because}; dogwatch delivers it when the agent is ready")
        }
        other => {
            let because = other.because().unwrap_or_default();
            format!("{}: {name}: {because}", other.as_str().replace('_', " "))
        }
    }
}

fn code(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Delivered { .. } => exit_code::OK,
        Outcome::Queued { .. } => exit_code::TIMEOUT,
        Outcome::Refused { .. } => exit_code::CONFLICT,
        Outcome::TypedNotSubmitted { .. } | Outcome::Failed { .. } => exit_code::FAILED,
    }
}
