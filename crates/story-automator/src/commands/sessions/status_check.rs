//! `tmux-status-check` and `codex-status-check`: one session in six columns.

use crate::decide::session::row::{Row, State, Tongue};
use crate::session::look::{self, Asked};
use dogwatch_engine::Error;

use super::here;
use crate::call::Call;
use crate::reply::Reply;

pub(super) fn claude(call: &Call<'_>) -> Reply {
    answer(call, Tongue::Claude)
}

pub(super) fn codex(call: &Call<'_>) -> Reply {
    answer(call, Tongue::Codex)
}

fn answer(call: &Call<'_>, tongue: Tongue) -> Reply {
    let Some(name) = call.word(0).filter(|name| !name.is_empty()) else {
        return reply(&Row::error("no_session"), tongue);
    };
    if let Some(refusal) = here::refuse_bad_name(call, name) {
        return refusal;
    }
    match check(call, name, tongue) {
        Ok(row) => reply(&row, tongue),
        Err(error) => {
            let reply = reply(&Row::error(error.code()), tongue);
            Reply { stderr: here::in_words(&error), ..reply }
        }
    }
}

fn reply(row: &Row, tongue: Tongue) -> Reply {
    let is_failure = row.state == State::Error && tongue == Tongue::Claude;
    Reply::line(row).with_code(u8::from(is_failure))
}

fn check(call: &Call<'_>, name: &str, tongue: Tongue) -> Result<Row, Error> {
    let context = here::context()?;
    let place = here::place(call);
    let asked = Asked { name, tongue, runtime: place.runtime, counts: true };
    let mut described = look::once(&context, asked)?;
    let is_over = matches!(described.row.state, State::Completed | State::Crashed | State::Stuck);
    if is_over && call.flag("--full") {
        described.row.task = here::kept_output(&context, &place, name, &described);
    }
    Ok(described.row)
}
