use std::fs::File;
use std::io::Read;
use std::path::Path;

use dogwatch_core::delivery::safe_text::MOST_BYTES;
use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::exit_code;
use dogwatch_engine::act::send::{self, Receipt, Request};
use dogwatch_engine::{Context, Error};
use serde_json::{Value, json};

use crate::args::{Send, SendWhen};
use crate::ui;

pub(crate) fn send(context: &Context, args: &Send) -> Result<u8, Error> {
    let text = text(args)?;
    let request = Request {
        target: &args.target,
        text: &text,
        slash: args.slash,
        when: match args.when {
            SendWhen::Idle => When::Idle,
            SendWhen::Now => When::Now,
        },
        timeout: args.timeout,
    };
    let receipt = send::send(context, &request)?;
    if args.json {
        ui::json(&to_json(&receipt));
    } else {
        ui::line(in_words(&receipt));
        for change in &receipt.terms.changes {
            ui::talk(format_args!("note: {}", super::messages::change(*change)));
        }
    }
    Ok(code(&receipt.outcome))
}

fn text(args: &Send) -> Result<String, Error> {
    let stdin = Path::new("-");
    let bytes = match (&args.text, &args.file) {
        (Some(text), _) if text != "-" => return Ok(text.clone()),
        (None, Some(file)) if file != stdin => {
            let action = format!("read {}", file.display());
            File::open(file).and_then(read).map_err(Error::io(action))?
        }
        (None, None) => {
            let problem =
                "what is to be sent? Give a text, `-` for standard input, or --file".into();
            return Err(Error::BadArgument { problem });
        }
        _ => read(std::io::stdin()).map_err(Error::io("read standard input"))?,
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::BadArgument { problem: format!("the message is not UTF-8 (byte {at})") }
    })
}

/// A little more than is taken, so that too long is noticed, and no more.
fn read(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES as u64 + 4096).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn in_words(receipt: &Receipt) -> String {
    let name = &receipt.name;
    match &receipt.outcome {
        Outcome::Delivered { proof, while_working } => {
            let queued = if *while_working { ", while it worked" } else { "" };
            format!("delivered to {name}, proven by its {}{queued}", proof.word())
        }
        other => {
            let because = other.because().unwrap_or_default();
            format!("{}: {name}: {because}", other.word().replace('_', " "))
        }
    }
}

/// The stable shape of a receipt, documented in `docs/protocol.md`.
fn to_json(receipt: &Receipt) -> Value {
    let mut object = super::messages::to_json(Some(&receipt.name), &receipt.message);
    if let (Some(object), Ok(Value::Object(outcome))) =
        (object.as_object_mut(), serde_json::to_value(&receipt.outcome))
    {
        object.extend(outcome);
        object.insert("changes".into(), json!(receipt.terms.changes));
    }
    object
}

fn code(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Delivered { .. } => exit_code::OK,
        Outcome::Queued { .. } => exit_code::TIMEOUT,
        Outcome::Refused { .. } => exit_code::CONFLICT,
        Outcome::TypedNotSubmitted { .. } | Outcome::Failed { .. } => exit_code::FAILED,
    }
}
