use dogwatch_core::delivery::safe_text::Change;
use dogwatch_core::exit_code;
use dogwatch_engine::actions::send;
use dogwatch_engine::observe::messages;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::message::{self, CancelledMessage, MessageOutcome, Pending};
use dogwatch_store::Message;
use jiff::Timestamp;

use crate::args::Messages;
use crate::ui;

pub(crate) fn messages(context: &Context, args: &Messages) -> Result<u8, Error> {
    if let Some(id) = &args.cancel {
        let message = send::cancel(context, id)?;
        if ui::prints_json() {
            ui::json(&CancelledMessage { cancelled: message.id });
        } else {
            ui::line(format_args!("cancelled: {}", message.id));
        }
        return Ok(exit_code::OK);
    }
    let mut found = messages::list(context, args.target.as_deref(), args.last)?;
    if args.pending {
        found.retain(|(_, message)| message.outcome.is_none());
    }
    if ui::prints_json() {
        let shape = |(name, message): &(Option<String>, Message)| shape(name.as_deref(), message);
        ui::json(&message::Messages { messages: found.iter().map(shape).collect() });
    } else if found.is_empty() {
        ui::talk("no messages; to send one: dogwatch send NAME '…'");
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

/// How a text was changed, for people.
pub(super) fn change(change: Change) -> &'static str {
    match change {
        Change::LineEnds => "line endings were normalised",
        Change::ControlCharacters => {
            "control characters were removed, because the agent would act on them"
        }
        Change::Continued => "a space was appended, so that Enter submits the text",
        Change::TrailingLineEnds => "trailing line breaks were removed",
    }
}

fn shape(name: Option<&str>, message: &Message) -> message::Message {
    let outcome = match &message.outcome {
        Some(outcome) => MessageOutcome::Settled(outcome.clone()),
        None => MessageOutcome::Pending { outcome: Pending::Queued },
    };
    message::Message { posted: messages::posted(name, message), outcome }
}
