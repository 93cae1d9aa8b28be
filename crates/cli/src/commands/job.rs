use std::time::Instant;

use dogwatch_core::delivery::safe_text::MOST_BYTES;
use dogwatch_core::exit_code;
use dogwatch_core::job::JobState;
use dogwatch_engine::actions::{callback, job};
use dogwatch_engine::observe::jobs;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::job::{self as printed, JobBrief};
use dogwatch_store::Job;
use jiff::Timestamp;

use crate::args::{Job as JobArgs, JobSubmit, JobVerb};
use crate::commands::given_text;
use crate::table::Table;
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn job(context: &Context, args: &JobArgs) -> Result<u8, Error> {
    match &args.verb {
        JobVerb::Submit(args) => submit(context, args),
        JobVerb::Ls(args) => {
            let found = jobs::list(context, args.target.as_deref(), args.last)?;
            if ui::prints_json() {
                let shape = |(name, job): &(Option<String>, Job)| shape(name.as_deref(), job);
                ui::json(&printed::Jobs { jobs: found.iter().map(shape).collect() });
            } else if found.is_empty() {
                ui::talk("no jobs; to submit one: dogwatch job submit NAME '…'");
            } else {
                ui::line(table(&found));
            }
            Ok(exit_code::OK)
        }
        JobVerb::Show(args) => {
            let found = jobs::find(context, &args.id)?;
            if ui::prints_json() {
                print_json(context, &found);
            } else {
                show(context, &found);
            }
            Ok(exit_code::OK)
        }
        JobVerb::Wait(args) => {
            let found = job::wait(context, &args.id, args.timeout)?;
            print_end(context, &found);
            Ok(code(&found))
        }
        JobVerb::Cancel(args) => {
            let found = job::cancel(context, &args.id, &environment::who(context))?;
            if ui::prints_json() {
                print_json(context, &found);
            } else {
                ui::line(format_args!("{}: {}", found.id, found.state.as_str()));
            }
            Ok(exit_code::OK)
        }
    }
}

fn submit(context: &Context, args: &JobSubmit) -> Result<u8, Error> {
    let begun = Instant::now();
    let prompt = given_text::text(args.prompt.as_deref(), args.file.as_deref(), MOST_BYTES)?;
    let prompt = prompt.ok_or(UsageError::MissingPrompt)?;
    let subscriber = args.notify_me.then(|| callback::subscriber(context)).transpose()?;
    // Who is notified later need not wait.
    let is_brief = args.notify_me && !args.wait && args.timeout.is_none();
    let patience = if is_brief { Some(callback::PATIENCE) } else { args.timeout };
    let submitted = job::submit_for(context, &args.target, &prompt, patience, subscriber.as_ref())?;
    if let Some(trouble) = &submitted.trouble {
        ui::talk(format_args!("warning: not delivered yet: {trouble}"));
    }
    let mut found = submitted.job;
    if args.wait {
        if !ui::prints_json() {
            ui::talk(format_args!("job {}", found.id));
        }
        let left = args.timeout.map(|limit| limit.saturating_sub(begun.elapsed()));
        found = job::wait(context, &found.id, left)?;
        print_end(context, &found);
        return Ok(code(&found));
    }
    if ui::prints_json() {
        print_json(context, &found);
    } else {
        ui::line(&found.id);
    }
    // Queued is what was asked for, if the runner of the session delivers it.
    let is_enough = is_brief && submitted.trouble.is_none() && found.session.origin().is_managed();
    Ok(match code_of_submitted(&found) {
        exit_code::TIMEOUT if is_enough => exit_code::OK,
        code => code,
    })
}

/// The exit code after submitting.
pub(super) fn code_of_submitted(job: &Job) -> u8 {
    match job.state {
        JobState::Delivered | JobState::Running => exit_code::OK,
        _ => code(job),
    }
}

fn code(job: &Job) -> u8 {
    match job.state {
        JobState::Done { .. } => exit_code::OK,
        JobState::Failed { .. } => exit_code::FAILED,
        JobState::Cancelled { .. } => exit_code::CONFLICT,
        JobState::Queued | JobState::Delivered | JobState::Running => exit_code::TIMEOUT,
    }
}

/// Prints the result to stdout, and how the job ended to stderr.
fn print_end(context: &Context, job: &Job) {
    if ui::prints_json() {
        return print_json(context, job);
    }
    if let Some(result) = job.state.result() {
        ui::line(ui::harmless(result.to_owned()));
    }
    ui::talk(format_args!("job {} is {}", job.id, ui::harmless(in_words(job))));
}

fn in_words(job: &Job) -> String {
    let word = job.state.as_str();
    match (&job.state, &job.waiting) {
        (JobState::Failed { because, .. }, _) => format!("{word}: {because}"),
        (JobState::Cancelled { by }, _) => format!("{word} by {by}"),
        (_, Some(waiting)) => format!("{word}, waiting for {waiting}"),
        _ => word.to_owned(),
    }
}

fn show(context: &Context, job: &Job) {
    let name = jobs::name_of(context, job).unwrap_or_else(|| job.session.to_string());
    ui::line(format_args!("{} for {name}: {}", job.id, ui::harmless(in_words(job))));
    let times = [
        ("submitted", Some(job.submitted)),
        ("delivered", job.delivered),
        ("running", job.running),
        ("ended", job.ended),
    ];
    for (word, at) in times {
        if let Some(at) = at {
            ui::line(format_args!("{word:<10}{at:.0}"));
        }
    }
    ui::line(format_args!("\n{}", ui::harmless(job.prompt.trim_end().to_owned())));
    if let Some(result) = job.state.result() {
        ui::line(format_args!("\n{}", ui::harmless(result.to_owned())));
    }
}

fn table(found: &[(Option<String>, Job)]) -> Table {
    let now = Timestamp::now();
    let mut table = ui::table(&["ID", "SESSION", "STATE", "AGE", "PROMPT"]);
    for (name, job) in found {
        table.row([
            job.id.as_str().into(),
            name.as_deref().unwrap_or(&job.session).into(),
            state(job).into(),
            ui::age(job.submitted, now).into(),
            ui::harmless(job.prompt.clone()).replace('\n', " ").into(),
        ]);
    }
    table
}

/// The state in a word or two, for tables.
fn state(job: &Job) -> String {
    words(job.state.as_str(), job.waiting.is_some())
}

/// The same of a job beside its session.
pub(super) fn in_short(job: &JobBrief) -> String {
    words(&job.state, job.waiting.is_some())
}

fn words(state: &str, waits: bool) -> String {
    if waits { format!("{state}, waiting") } else { state.to_owned() }
}

fn print_json(context: &Context, job: &Job) {
    ui::json(&shape(jobs::name_of(context, job).as_deref(), job));
}

fn shape(name: Option<&str>, job: &Job) -> printed::Job {
    printed::Job {
        id: job.id.clone(),
        session: job.session.clone(),
        name: name.map(ToOwned::to_owned),
        prompt: job.prompt.clone(),
        submitted: job.submitted,
        delivered: job.delivered,
        running: job.running,
        ended: job.ended,
        waiting: job.waiting.clone(),
        state: job.state.clone(),
    }
}
