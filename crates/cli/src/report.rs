//! Errors, for people on stderr and for programs as JSON.

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use dogwatch_engine::Error;
use dogwatch_protocol::error::{ErrorDetail, ErrorReport};

use crate::ui;

/// An error next to other results, without the hint.
pub(crate) fn detail(error: &Error) -> ErrorDetail {
    ErrorDetail { code: error.code().to_owned(), message: error.to_string(), hint: None }
}

/// Prints what went wrong, where, and what to do: on stderr for people, as JSON on stdout for programs.
pub(crate) fn failure(error: &Error, as_json: bool) -> ExitCode {
    if as_json {
        let hint = error.hint();
        ui::json(&ErrorReport { error: ErrorDetail { hint, ..detail(error) } });
    } else {
        let red = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
        ui::talk(format_args!("{red}error:{red:#} {error}"));
        if let Some(hint) = error.hint() {
            ui::talk(format_args!("hint: {hint}"));
        }
    }
    ExitCode::from(error.exit_code())
}
