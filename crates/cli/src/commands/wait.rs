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
    let (outcome, judged, code) = match wait::wait(context, &args.sessions, &states, args.timeout)?
    {
        Waited::Happened(judged) => (WaitOutcome::Happened, judged, exit_code::OK),
        Waited::Impossible(one) => (WaitOutcome::Impossible, vec![*one], exit_code::CONFLICT),
        Waited::TimedOut(judged) => (WaitOutcome::Timeout, judged, exit_code::TIMEOUT),
    };
    if !args.json && code == exit_code::TIMEOUT {
        ui::talk("timed out");
    }
    if args.json {
        let sessions = judged.iter().map(words::shape).collect();
        ui::json(&WaitResult { outcome, sessions });
    } else {
        for one in &judged {
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
