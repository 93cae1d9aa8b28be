//! `monitor-session`: waits until a session is over, and prints its outcome.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::decide::session::cues::Todos;
use crate::decide::session::outcome::{Outcome, Proof};
use crate::decide::session::row::{Row, State, Tongue};
use crate::session::look::Described;
use crate::session::monitor::{self, Ask, End};
use crate::session::{Place, agent};
use dogwatch_base::log::Logged as _;
use dogwatch_bmad::project::run_marker;
use dogwatch_bmad::{self, NotVerified};
use dogwatch_engine::{Context, Error};

use super::here;
use crate::call::Call;
use crate::project;
use crate::reply::Reply;

const USAGE: &str = "Usage: monitor-session <session_name> [options]
Options: --max-polls N --initial-wait N --project-root PATH --timeout MIN --verbose --json --agent TYPE --workflow TYPE --story-key KEY --state-file PATH
";

/// How often the run's marker is refreshed.
const HEARTBEAT: Duration = Duration::from_mins(1);

pub(super) fn answer(call: &Call<'_>) -> Reply {
    if call.asks_for_help() {
        return Reply::text(USAGE);
    }
    let Some(name) = call.word(0).filter(|name| !name.is_empty()) else {
        return Reply::refused(USAGE);
    };
    if let Err(why) = call.with_value("--state-file") {
        return Reply::refused(format!("{why}\n"));
    }
    if let Some(refusal) = here::refuse_bad_name(call, name) {
        return refusal;
    }
    match monitored(call, name) {
        Ok(outcome) if call.flag("--json") => Reply::json(&outcome),
        Ok(outcome) => Reply::line(outcome.csv()),
        Err(error) => Reply::refused(here::in_words(&error)),
    }
}

/// A number, or the default.
fn number(call: &Call<'_>, name: &str, otherwise: i64) -> i64 {
    call.option(name).and_then(|text| text.trim().parse().ok()).unwrap_or(otherwise)
}

fn monitored(call: &Call<'_>, name: &str) -> Result<Outcome, Error> {
    let context = here::context()?;
    let place = here::place(call);
    let agent = agent::of_session(&here::project(), call.option("--agent"), &here::wishes());
    let is_codex = agent == "codex";
    let minutes = number(call, "--timeout", 60);
    let minutes = u64::try_from(if is_codex { minutes * 3 / 2 } else { minutes }).unwrap_or(0);
    let grace = u64::try_from(number(call, "--initial-wait", 5)).unwrap_or(0);
    if number(call, "--max-polls", 30) <= 0 {
        // Zero polls mean no check at all. Other numbers do not limit: only time does.
        return Ok(Outcome::timeout(Todos::default(), "max_polls_exceeded"));
    }
    let ask = Ask {
        name,
        tongue: if is_codex { Tongue::Codex } else { Tongue::Claude },
        runtime: place.runtime,
        grace: Duration::from_secs(grace),
        at_most: Duration::from_secs(minutes.saturating_mul(60)),
    };
    let verbose = call.flag("--verbose");
    let project = dogwatch_bmad::Project { root: place.project.clone(), ..here::project() };
    let mut refreshed = None;
    let monitored = monitor::monitor(&context, ask, |look| {
        if verbose && look.is_news {
            progress(name, look.row, look.after);
        }
        // A process that waits for a session is alive: keep the run's marker fresh.
        if refreshed.is_none_or(|at: Instant| at.elapsed() >= HEARTBEAT) {
            refreshed = Some(Instant::now());
            run_marker::heartbeat(&project, &project::now()).logged("write a heartbeat");
        }
    })?;
    let todos = monitored.todos;
    Ok(match monitored.end {
        End::Over(described) => over(call, &context, &place, name, &described, todos),
        End::TimedOut => Outcome::timeout(todos, format!("exceeded_{minutes}m")),
        End::Unavailable(error) => {
            progress_error(name, &error);
            Outcome::timeout(todos, "status_unavailable")
        }
    })
}

fn over(
    call: &Call<'_>,
    context: &Context,
    place: &Place,
    name: &str,
    described: &Described,
    todos: Todos,
) -> Outcome {
    let kept = || here::kept_output(context, place, name, described);
    match described.row.state {
        State::Crashed => Outcome::crashed(todos, described.row.wait).with_output(kept()),
        State::Stuck => Outcome::stuck().with_output(kept()),
        State::Completed => {
            let output = kept();
            Outcome::ended(todos, proof(call, place, &output)).with_output(output)
        }
        _ => Outcome::not_found(todos),
    }
}

/// The result of the step's verifier.
fn proof(call: &Call<'_>, place: &Place, output: &str) -> Proof {
    let asked = dogwatch_bmad::Asked {
        step: call.option("--workflow").unwrap_or("dev"),
        story: call.option("--story-key").filter(|key| !key.is_empty()),
        state_file: call.option("--state-file"),
        output_file: Some(output).filter(|path| !path.is_empty()),
    };
    let project = dogwatch_bmad::Project { root: place.project.clone(), ..here::project() };
    match dogwatch_bmad::verify(&project, asked) {
        Ok(verdict) if verdict.is_verified() && verdict.verifier == "session_exit" => {
            Proof::EndIsEnough
        }
        Ok(verdict) if verdict.is_verified() => Proof::Verified,
        Ok(verdict) => {
            Proof::NotVerified(verdict.reason().unwrap_or("workflow_not_complete").to_owned())
        }
        Err(NotVerified::StoryKeyRequired) => Proof::NotVerified("story_key_required".to_owned()),
        Err(NotVerified::Contract(why)) => {
            // Not the agent's fault: a person should know.
            let _ = writeln!(std::io::stderr(), "the step cannot be verified: {why}");
            Proof::NotVerified("verifier_contract_invalid".to_owned())
        }
    }
}

/// A line for people at each change.
fn progress(name: &str, row: &Row, after: Duration) {
    let (done, total) = (row.todos.done, row.todos.total);
    let todos = if total > 0 { format!(" {done}/{total}") } else { String::new() };
    let gap = if row.task.is_empty() { "" } else { ": " };
    let (seconds, state) = (after.as_secs(), row.state.as_str());
    let _ = writeln!(std::io::stderr(), "[{seconds}s] {name} {state}{todos}{gap}{}", row.task);
}

fn progress_error(name: &str, error: &Error) {
    let _ = write!(std::io::stderr(), "{name}: {}", here::in_words(error));
}
