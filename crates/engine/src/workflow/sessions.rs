//! The sessions of a run: finds or starts them, waits for them, reads their output, ends them.

use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::name::{self, SessionName, StoryStep};
use dogwatch_core::permissions::Permissions;
use dogwatch_core::transcript::{Entry, Speaker};
use dogwatch_core::usage::PriceTable;
use dogwatch_core::workflow::state::Attempt;
use dogwatch_core::workflow::{
    Failure, How, Job, Prompt, Spent, Step, Subject, Verifier, Work, failed, session_end, spending,
};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::builds;
use super::dialogs::Dialogs;
use super::stories;
use crate::Error;
use crate::actions::kill;
use crate::actions::spawn::{self, Place, Request, What};
use crate::error::{AgentError, SessionError};
use crate::observe::changes::Changes;
use crate::observe::snapshot;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::{agents, capture, transcripts, usage};
use crate::workflow::run_context::RunContext;

/// How often to check for changes that no event reports.
const OWN_PACE: Duration = Duration::from_secs(1);
/// Lines of a screen that are kept.
const LINES: u32 = 400;
/// Longest transcript that is read for its tokens.
const TRANSCRIPT: u64 = 64 * 1024 * 1024;

/// The name for the session of an attempt that begins now. It is recorded before the session exists, so that the next driver
/// finds the session by it.
pub(super) fn name_for(
    ctx: &RunContext<'_>,
    job: &Job,
    step: &Step,
    n: u32,
) -> Result<SessionName, Error> {
    let base = name::story_name(&ctx.project, &place(ctx, job, step, n), Zoned::now().datetime())?;
    let store = ctx.context.store()?;
    for count in 1..100 {
        let name = base.numbered(count)?;
        if store.named(&ctx.context.socket, name.as_str())?.is_empty() {
            return Ok(name);
        }
    }
    Ok(base)
}

/// The place of an attempt's session in the run.
fn place(ctx: &RunContext<'_>, job: &Job, step: &Step, n: u32) -> StoryStep {
    let cycle = (step.is_loop || n > 1).then(|| n.to_string());
    match &job.subject {
        Subject::Group(group) => StoryStep {
            step: step.id.clone(),
            epic: String::new(),
            story: group.replace('.', "-"),
            cycle,
        },
        Subject::Item(item) => {
            let epic = ctx.journal.run().plan.item(item).and_then(|item| item.group.clone());
            let (epic, story) = (epic.unwrap_or_default(), item.replace('.', "-"));
            StoryStep { step: step.id.clone(), epic, story, cycle }
        }
    }
}

/// The id of the attempt's session: an existing one, or a new one.
pub(super) fn spawn(
    ctx: &RunContext<'_>,
    job: &Job,
    step: &Step,
    attempt: &Attempt,
) -> Result<String, Error> {
    let name = attempt.name.as_deref().unwrap_or_default();
    let there = || -> Result<Option<String>, Error> {
        let bearers = ctx.context.store()?.named(&ctx.context.socket, name)?;
        Ok(bearers.into_iter().find(|s| s.project == ctx.project).map(|session| session.id.into()))
    };
    if let Some(id) = there()? {
        return Ok(id);
    }
    let text = |text: &str| ctx.fill(text, job, attempt.n);
    let (what, prompt) = match &step.work {
        Work::Agent { prompt } => {
            if attempt.n > 1 && step.verify.contains(&Verifier::Build) {
                builds::again(ctx, job)?;
            }
            let prompt = match prompt {
                Prompt::Own(own) => text(own),
                Prompt::Policy { step, extra } => stories::prompt(ctx, job, step, &text(extra))?,
            };
            let launch = agents::profile(ctx.context, &attempt.agent)?.launch;
            let level = ctx.settings.permissions;
            let by_level = dogwatch_core::permissions::args(level, &launch).ok_or_else(|| {
                Error::Agent(AgentError::NoSuchPermissions {
                    agent: attempt.agent.clone(),
                    level: level.as_str(),
                })
            })?;
            let extra_args =
                by_level.iter().chain(&ctx.settings.agent_args).map(Into::into).collect();
            (What::Agent { name: attempt.agent.clone(), extra_args }, Some(prompt))
        }
        Work::Command { run } => {
            (What::Command(run.iter().map(|word| text(word).into()).collect()), None)
        }
        Work::Commit { .. } | Work::Merge => return Ok(String::new()),
    };
    let env = [
        ("DOGWATCH_RUN", ctx.journal.id.clone()),
        ("DOGWATCH_ITEM", job.subject.name().to_owned()),
        ("DOGWATCH_STEP", step.id.clone()),
        ("DOGWATCH_ATTEMPT", attempt.n.to_string()),
    ];
    let request = Request {
        what,
        prompt,
        name: Some(name.to_owned()),
        story: Some(place(ctx, job, step, attempt.n)),
        project: ctx.project.clone(),
        cwd: ctx.folder(job),
        model: attempt.model.clone(),
        resume: None,
        unattended: ctx.settings.permissions == Permissions::Bypass,
        env: env.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        caller_env: ctx.caller_env.clone(),
        place: Place::OwnSession,
        tags: Vec::new(),
        membership: None,
        when_limited: Some(dogwatch_core::limits::WhenLimited::Notify),
        subscriber: None,
    };
    match spawn::spawn(ctx.context, &request, &Zoned::now()) {
        Ok(spawned) => Ok(spawned.id.into()),
        // It may still come up, and must not be started twice.
        Err(error @ Error::Session(SessionError::StartNotConfirmed { .. })) => {
            there()?.ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// Waits until the session's work has ended. `None` if the run stops first.
pub(super) fn wait(
    ctx: &RunContext<'_>,
    job: &Job,
    n: u32,
    id: &str,
    begun: Timestamp,
    limit: SignedDuration,
) -> Result<Option<How>, Error> {
    let context = ctx.context;
    let mut reader = StatusReader::new(context)?;
    context.state.news();
    let mut changes = Changes::new();
    // A monotonic clock, which stops while the machine sleeps, as the agent does.
    let mut deadline = Instant::now().checked_add(time_left(begun, Timestamp::now(), limit));
    let mut dialogs = Dialogs::new(ctx, job, n);
    let mut looked = Instant::now();
    loop {
        let now = Timestamp::now();
        let status = match reader.one(id, now) {
            Ok(status) => status,
            Err(Error::Session(SessionError::NoSuchSession { .. })) => {
                dialogs.over()?;
                return Ok(Some(failed(Failure::Lost, "its session was removed")));
            }
            Err(error) => return Err(error),
        };
        // The attempt's time limit does not run while a person is asked.
        let is_asking = dialogs.look(&status)?;
        let elapsed = std::mem::replace(&mut looked, Instant::now()).elapsed();
        if is_asking {
            deadline = deadline.and_then(|deadline| deadline.checked_add(elapsed));
        }
        ctx.note_asking(job, n, is_asking);
        if let Some(how) = end_of(&status).filter(|_| !is_asking) {
            dialogs.over()?;
            return Ok(Some(how));
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            dialogs.over()?;
            return Ok(Some(failed(Failure::Stuck, &format!("timeout after {limit:#}"))));
        }
        if ctx.stop_is_wanted() {
            return Ok(None);
        }
        changes.set(reader.interests(std::slice::from_ref(&status)));
        changes.wait(OWN_PACE);
    }
}

/// The rest of an attempt's time limit. A clock that was set back does not extend it.
fn time_left(begun: Timestamp, now: Timestamp, limit: SignedDuration) -> Duration {
    let used = now.duration_since(begun).clamp(SignedDuration::ZERO, limit);
    (limit - used).try_into().unwrap_or_default()
}

fn end_of(status: &SessionStatus) -> Option<How> {
    session_end(&status.verdict, &status.seen.life.reason, &Zoned::now())
}

/// Saves the session's output, and counts the tokens that it used.
pub(super) fn save_output(
    ctx: &RunContext<'_>,
    id: &str,
    job: &Job,
    n: u32,
) -> (Option<String>, Spent) {
    let Some(seen) = snapshot::find(ctx.context, id).logged("find a session") else {
        return (None, Spent::default());
    };
    let mut spent = Spent::default();
    let mut said = String::new();
    let rules = agents::profile(ctx.context, &seen.session.agent)
        .logged("read an agent's profile")
        .and_then(|p| p.transcript);
    if let Some(rules) = rules {
        let signals = ctx
            .context
            .store()
            .and_then(|mut store| store.signals(id))
            .logged("read a session's signals")
            .unwrap_or_default();
        let told = transcripts::path_told(&signals);
        if let Some(path) = transcripts::locate(ctx.context, &seen.session, &rules, told) {
            let text = transcripts::last_lines(&path, TRANSCRIPT).unwrap_or_default();
            let table = usage::prices(ctx.context).logged("read the configuration");
            let table = table.unwrap_or_else(|| PriceTable::with(Vec::new()));
            spent = spending::spent(rules.dialect, &text, ctx.settings.prices, &table);
            said = written_out(&transcripts::tail(&path, rules.dialect));
        }
    }
    if said.is_empty() {
        let captured = capture::capture(ctx.context, &seen, Some(LINES), false);
        said = captured
            .map(|c| String::from_utf8_lossy(&c.text).into_owned())
            .logged("capture a screen")
            .unwrap_or_default();
    }
    let path = ctx.output(job, n);
    let kept = ctx.context.state.run(&ctx.journal.id).is_ok()
        && dogwatch_store::replace(&path, said.as_bytes()).is_ok();
    (kept.then(|| path.to_string_lossy().into_owned()), spent)
}

/// The transcript as text. Every line of a prompt is marked, because prompts quote what an answer should look like.
fn written_out(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let mark = match entry.speaker {
            Speaker::Person => "> ",
            Speaker::Agent => "",
            Speaker::Tool => "* ",
        };
        for line in entry.text.lines() {
            text.push_str(mark);
            text.extend(line.chars().filter(|c| !c.is_control() || *c == '\t'));
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// Ends a session and closes its pane; a session that is gone counts as closed.
pub(super) fn close(ctx: &RunContext<'_>, id: &str) -> Result<(), Error> {
    match snapshot::find(ctx.context, id) {
        Ok(seen) => kill::kill(ctx.context, &seen, false, Timestamp::now()).map(drop),
        Err(Error::Session(SessionError::NoSuchSession { .. })) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use dogwatch_core::record::{Cause, Exit};

    use super::*;
    use crate::tests::world::World;

    /// The end that a run sees in a recorded screen that has been shown for so many seconds.
    fn end_by_screen(screen: &str, seconds: i64) -> Option<How> {
        let world = World::new();
        world.codex("web", screen);
        let mut status = world.judged("web").unwrap();
        let now = Timestamp::now();
        status.verdict.since = Some(now - SignedDuration::from_secs(seconds));
        end_of(&status)
    }

    fn failure(how: Option<How>) -> Option<Failure> {
        match how {
            Some(How::Failed { failure, .. }) => Some(failure),
            _ => None,
        }
    }

    #[test]
    fn a_finished_turn_is_the_end_of_a_step() {
        assert!(matches!(end_by_screen("done_turn", 0), Some(How::Finished)));
        for screen in ["idle_fresh", "idle_half_typed", "working_thinking"] {
            assert!(end_by_screen(screen, 600).is_none(), "{screen}");
        }
    }

    #[test]
    fn a_dialog_ends_a_step_after_a_while() {
        assert!(end_by_screen("permission_exec", 10).is_none(), "a person may be at it");
        assert_eq!(failure(end_by_screen("permission_exec", 600)), Some(Failure::Waiting));
    }

    #[test]
    fn limits_and_errors_end_a_step_at_once() {
        assert_eq!(failure(end_by_screen("error_usage_limit", 0)), Some(Failure::Limit));
        assert_eq!(failure(end_by_screen("error_403", 0)), Some(Failure::Error));
    }

    #[test]
    fn how_a_session_ended_decides_about_its_step() {
        let table = [
            (Exit::Code(0), Cause::Itself, None),
            (Exit::Code(2), Cause::Itself, Some(Failure::Crash)),
            (Exit::Signal(15), Cause::Request, Some(Failure::Crash)),
        ];
        for (exit, cause, expected) in table {
            let world = World::new();
            let placed = world.codex("web", "working_thinking");
            world.ended(&placed, exit, cause);
            let how = end_of(&world.judged("web").unwrap());
            assert!(how.is_some(), "{exit:?}");
            assert_eq!(failure(how), expected, "{exit:?}");
        }
    }

    #[test]
    fn while_tmux_does_not_answer_nothing_has_ended() {
        let world = World::new();
        world.codex("web", "done_turn");
        world.judged("web").unwrap();
        world.fake.hang(true);
        assert!(end_of(&world.judged("web").unwrap()).is_none());
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_extend_the_time_limit() {
        let at = |second: i64| Timestamp::from_second(1_794_700_000 + second).unwrap();
        let limit = SignedDuration::from_secs(60);
        for (now, want) in [(0, 60), (20, 40), (60, 0), (900, 0), (-900, 60)] {
            assert_eq!(time_left(at(0), at(now), limit).as_secs(), want, "{now}");
        }
    }
}
