use dogwatch_core::delivery::safe_text::Change;
use dogwatch_core::exit_code;
use dogwatch_engine::actions::send;
use dogwatch_engine::{Context, Error};
use dogwatch_store::Message;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::Messages;
use crate::ui;

pub(crate) fn messages(context: &Context, args: &Messages) -> Result<u8, Error> {
    if let Some(id) = &args.cancel {
        let message = send::cancel(context, id)?;
        if args.json {
            ui::json(&json!({ "cancelled": message.id }));
        } else {
            ui::line(format_args!("taken back: {}", message.id));
        }
        return Ok(exit_code::OK);
    }
    let mut found = send::messages(context, args.target.as_deref(), args.last)?;
    if args.pending {
        found.retain(|(_, message)| message.outcome.is_none());
    }
    if args.json {
        let all: Vec<Value> =
            found.iter().map(|(name, message)| to_json(name.as_deref(), message)).collect();
        ui::json(&json!({ "messages": all }));
    } else if found.is_empty() {
        ui::talk("no messages; send one: dogwatch send NAME '…'");
    } else {
        ui::line(table(&found));
    }
    Ok(exit_code::OK)
}

fn table(found: &[(Option<String>, Message)]) -> crate::table::Table {
    let now = Timestamp::now();
    let mut table = ui::table(&["ID", "TO", "AGE", "OUTCOME", "TEXT"]);
    for (name, message) in found {
        table.row([
            message.id.as_str().into(),
            name.as_deref().unwrap_or(&message.session).into(),
            ui::age(message.posted, now).into(),
            outcome(message).into(),
            message.text.replace('\n', " ").into(),
        ]);
    }
    table
}

fn outcome(message: &Message) -> String {
    match &message.outcome {
        Some(outcome) => outcome.as_str().replace('_', " "),
        None => "queued".to_owned(),
    }
}

/// What was done to a text, for people.
pub(super) fn change(change: Change) -> &'static str {
    match change {
        Change::LineEnds => "line ends were made plain",
        Change::ControlCharacters => {
            "control characters were left out: they would act on the agent instead of being read"
        }
        Change::Continued => "a blank was put after it, lest Enter be taken for a new line",
        Change::TrailingLineEnds => "line ends at its end were left out",
    }
}

/// The stable shape of a message, documented in `docs/protocol.md`.
pub(super) fn to_json(name: Option<&str>, message: &Message) -> Value {
    let mut object = json!({
        "id": message.id,
        "session": message.session,
        "name": name,
        "text": message.text,
        "slash": message.slash,
        "posted": message.posted,
        "staged": message.staged,
        "submitted": message.submitted,
        "done": message.done,
        "outcome": "queued",
    });
    let outcome = message.outcome.as_ref().and_then(|o| serde_json::to_value(o).ok());
    if let (Some(object), Some(Value::Object(outcome))) = (object.as_object_mut(), outcome) {
        object.extend(outcome);
    }
    object
}
