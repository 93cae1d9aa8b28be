use dogwatch_core::exit_code;
use dogwatch_core::status::Status;
use dogwatch_engine::observe::status::SessionStatus;
use dogwatch_engine::observe::wait::{self, Waited};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::status::{WaitOutcome, WaitResult};

use crate::args::Wait;
use crate::commands::status as words;
use crate::ui;
use crate::usage::UsageError;

pub(crate) fn wait(context: &Context, args: &Wait) -> Result<u8, Error> {
    let states: Vec<String> = args.states.clone();
    if let Some(unknown) = states.iter().find(|state| !Status::WORDS.contains(&state.as_str())) {
        let known = Status::WORDS.join(", ");
        return Err(UsageError::UnknownState { given: unknown.clone(), known }.into());
    }
    let (outcome, statuses, code) =
        match wait::wait(context, &args.sessions, &states, args.timeout)? {
            Waited::Happened(statuses) => (WaitOutcome::Happened, statuses, exit_code::OK),
            Waited::Impossible(one) => (WaitOutcome::Impossible, vec![*one], exit_code::CONFLICT),
            Waited::TimedOut(statuses) => (WaitOutcome::Timeout, statuses, exit_code::TIMEOUT),
        };
    if !args.json && code == exit_code::TIMEOUT {
        ui::talk("timed out");
    }
    if args.json {
        let sessions = statuses.iter().map(words::shape).collect();
        ui::json(&WaitResult { outcome, sessions });
    } else {
        for one in &statuses {
            ui::line(in_words(one));
        }
    }
    Ok(code)
}

fn in_words(one: &SessionStatus) -> String {
    let detail = ui::harmless(words::detail(&one.verdict.status));
    let gap = if detail.is_empty() { "" } else { ": " };
    format!("{} is {}{gap}{detail}", one.seen.session.name, one.verdict.status.as_str())
}
