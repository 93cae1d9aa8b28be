use dogwatch_core::exit_code;
use dogwatch_engine::watch::wait::{self, Targets, Waited};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::status::{StatusReport, WaitOutcome, WaitResult};

use crate::args::Wait;
use crate::commands::status as words;
use crate::ui;

pub(crate) fn wait(context: &Context, args: &Wait) -> Result<u8, Error> {
    words::known_states(&args.states)?;
    let targets = match args.sessions.as_slice() {
        [] => Targets::Listed,
        names => Targets::Named(names),
    };
    let waited = wait::wait(context, targets, &args.states, args.quorum(), args.timeout)?;
    let (outcome, followed, reached, code) = match waited {
        Waited::Happened(all, reached) => (WaitOutcome::Happened, all, reached, exit_code::OK),
        Waited::Impossible(one) => {
            (WaitOutcome::Impossible, vec![*one], Vec::new(), exit_code::CONFLICT)
        }
        Waited::TimedOut(all) => (WaitOutcome::Timeout, all, Vec::new(), exit_code::TIMEOUT),
    };
    if ui::prints_json() {
        ui::json(&WaitResult { outcome, reached, sessions: followed });
        return Ok(code);
    }
    if code == exit_code::TIMEOUT {
        ui::talk("timed out");
    }
    for one in &followed {
        if reached.is_empty() || reached.contains(&one.id) {
            ui::line(in_words(one));
        }
    }
    Ok(code)
}

fn in_words(one: &StatusReport) -> String {
    let detail = ui::harmless(words::detail(&one.verdict.status));
    let gap = if detail.is_empty() { "" } else { ": " };
    format!("{} is {}{gap}{detail}", one.name, one.verdict.status.as_str())
}
