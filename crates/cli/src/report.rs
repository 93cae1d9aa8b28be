//! An error as a person or a machine reads it.

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use dogwatch_engine::Error;
use serde_json::json;

use crate::ui;

/// Says what went wrong, where, and what to do: on stderr for people, as JSON on stdout for machines.
pub(crate) fn failure(error: &Error, as_json: bool) -> ExitCode {
    if as_json {
        let mut object = json!({ "error": { "code": error.code(), "message": error.to_string() } });
        if let Some(hint) = error.hint() {
            object["error"]["hint"] = hint.into();
        }
        ui::json(&object);
    } else {
        let red = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
        ui::talk(format_args!("{red}error:{red:#} {error}"));
        if let Some(hint) = error.hint() {
            ui::talk(format_args!("hint: {hint}"));
        }
    }
    ExitCode::from(error.exit_code())
}
