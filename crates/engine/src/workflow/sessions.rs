//! The sessions of a run: found or started, waited for, heard, and ended.

use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::name::{self, SessionName, StoryStep};
use dogwatch_core::permissions::Permissions;
use dogwatch_core::transcript::{Entry, Speaker};
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
use crate::observe::{agents, capture, transcripts};
use crate::workflow::run_context::RunContext;

/// How often is looked for what nobody tells of.
const OWN_PACE: Duration = Duration::from_secs(1);
/// Lines of a screen that are kept.
const LINES: u32 = 400;
/// Longest transcript that is read for its tokens.
const TRANSCRIPT: u64 = 64 * 1024 * 1024;

/// What the session of an attempt that begins now will be called. It has this name before it is there, so that it is found
/// by whoever comes after us.
pub(super) fn name_for(
    site: &RunContext<'_>,
    job: &Job,
    step: &Step,
    n: u32,
) -> Result<SessionName, Error> {
    let base =
        name::story_name(&site.project, &place(site, job, step, n), Zoned::now().datetime())?;
    let store = site.context.store()?;
    for count in 1..100 {
        let name = base.numbered(count)?;
        if store.named(&site.context.socket, name.as_str())?.is_empty() {
            return Ok(name);
        }
    }
    Ok(base)
}

/// The place of an attempt's session in the run.
fn place(site: &RunContext<'_>, job: &Job, step: &Step, n: u32) -> StoryStep {
    let cycle = (step.is_loop || n > 1).then(|| n.to_string());
    match &job.subject {
        Subject::Group(group) => StoryStep {
            step: step.id.clone(),
            epic: String::new(),
            story: group.replace('.', "-"),
            cycle,
        },
        Subject::Item(item) => {
            let epic = site.journal.run().plan.item(item).and_then(|item| item.group.clone());
            let (epic, story) = (epic.unwrap_or_default(), item.replace('.', "-"));
            StoryStep { step: step.id.clone(), epic, story, cycle }
        }
    }
}

/// The id of the attempt's session: of the one that is there, or of a new one.
pub(super) fn spawn(
    site: &RunContext<'_>,
    job: &Job,
    step: &Step,
    attempt: &Attempt,
) -> Result<String, Error> {
    let name = attempt.name.as_deref().unwrap_or_default();
    let there = || -> Result<Option<String>, Error> {
        let bearers = site.context.store()?.named(&site.context.socket, name)?;
        Ok(bearers.into_iter().find(|s| s.project == site.project).map(|session| session.id.into()))
    };
    if let Some(id) = there()? {
        return Ok(id);
    }
    let text = |text: &str| site.fill(text, job, attempt.n);
    let (what, prompt) = match &step.work {
        Work::Agent { prompt } => {
            if attempt.n > 1 && step.verify.contains(&Verifier::Build) {
                builds::again(site, job)?;
            }
            let prompt = match prompt {
                Prompt::Own(own) => text(own),
                Prompt::Policy { step, extra } => stories::prompt(site, job, step, &text(extra))?,
            };
            let launch = agents::profile(site.context, &attempt.agent)?.launch;
            let level = site.settings.permissions;
            let by_level = dogwatch_core::permissions::args(level, &launch).ok_or_else(|| {
                Error::Agent(AgentError::NoSuchPermissions {
                    agent: attempt.agent.clone(),
                    level: level.as_str(),
                })
            })?;
            let extra_args =
                by_level.iter().chain(&site.settings.agent_args).map(Into::into).collect();
            (What::Agent { name: attempt.agent.clone(), extra_args }, Some(prompt))
        }
        Work::Command { run } => {
            (What::Command(run.iter().map(|word| text(word).into()).collect()), None)
        }
        Work::Commit { .. } | Work::Merge => return Ok(String::new()),
    };
    let env = [
        ("DOGWATCH_RUN", site.journal.id.clone()),
        ("DOGWATCH_ITEM", job.subject.name().to_owned()),
        ("DOGWATCH_STEP", step.id.clone()),
        ("DOGWATCH_ATTEMPT", attempt.n.to_string()),
    ];
    let request = Request {
        what,
        prompt,
        name: Some(name.to_owned()),
        story: Some(place(site, job, step, attempt.n)),
        project: site.project.clone(),
        cwd: site.folder(job),
        model: attempt.model.clone(),
        resume: None,
        unattended: site.settings.permissions == Permissions::Bypass,
        env: env.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        caller_env: site.caller_env.clone(),
        place: Place::OwnSession,
        seat: None,
    };
    match spawn::spawn(site.context, &request, &Zoned::now()) {
        Ok(spawned) => Ok(spawned.id.into()),
        // It may come up yet, and must not be started twice.
        Err(error @ Error::Session(SessionError::StartNotConfirmed { .. })) => {
            there()?.ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// Waits until the session has nothing more to do. `None` if we are to stop before.
pub(super) fn wait(
    site: &RunContext<'_>,
    job: &Job,
    n: u32,
    id: &str,
    begun: Timestamp,
    limit: SignedDuration,
) -> Result<Option<How>, Error> {
    let context = site.context;
    let mut reader = StatusReader::new(context)?;
    context.state.news();
    let mut changes = Changes::new();
    // By a clock that stands still while the machine sleeps: so does the agent.
    let mut deadline = Instant::now().checked_add(time_left(begun, Timestamp::now(), limit));
    let mut dialogs = Dialogs::new(site, job, n);
    let mut looked = Instant::now();
    loop {
        let now = Timestamp::now();
        let judged = match reader.one(id, now) {
            Ok(judged) => judged,
            Err(Error::Session(SessionError::NoSuchSession { .. })) => {
                dialogs.over()?;
                return Ok(Some(failed(Failure::Lost, "its session was removed")));
            }
            Err(error) => return Err(error),
        };
        // While a person is asked, the agent's time stands still.
        let is_asking = dialogs.look(&judged)?;
        let elapsed = std::mem::replace(&mut looked, Instant::now()).elapsed();
        if is_asking {
            deadline = deadline.and_then(|deadline| deadline.checked_add(elapsed));
        }
        site.note_asking(job, n, is_asking);
        if let Some(how) = end_of(&judged).filter(|_| !is_asking) {
            dialogs.over()?;
            return Ok(Some(how));
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            dialogs.over()?;
            return Ok(Some(failed(Failure::Stuck, &format!("timeout after {limit:#}"))));
        }
        if site.stop_is_wanted() {
            return Ok(None);
        }
        changes.set(reader.interests(std::slice::from_ref(&judged)));
        changes.wait(OWN_PACE);
    }
}

/// What is left of an attempt's time when we begin to wait for it. A clock that was set back does not give it more.
fn time_left(begun: Timestamp, now: Timestamp, limit: SignedDuration) -> Duration {
    let used = now.duration_since(begun).clamp(SignedDuration::ZERO, limit);
    (limit - used).try_into().unwrap_or_default()
}

fn end_of(judged: &SessionStatus) -> Option<How> {
    session_end(&judged.verdict, &judged.seen.life.reason, &Zoned::now())
}

/// Keeps what the session said, and counts what it used up.
pub(super) fn hear(site: &RunContext<'_>, id: &str, job: &Job, n: u32) -> (Option<String>, Spent) {
    let Some(seen) = snapshot::find(site.context, id).logged("find a session") else {
        return (None, Spent::default());
    };
    let mut spent = Spent::default();
    let mut said = String::new();
    let rules = agents::profile(site.context, &seen.session.agent)
        .logged("read an agent's profile")
        .and_then(|p| p.transcript);
    if let Some(rules) = rules {
        let signals = site
            .context
            .store()
            .and_then(|mut store| store.signals(id))
            .logged("read a session's signals")
            .unwrap_or_default();
        let told = transcripts::path_told(&signals);
        if let Some(path) = transcripts::locate(site.context, &seen.session, &rules, told) {
            let text = transcripts::last_lines(&path, TRANSCRIPT).unwrap_or_default();
            spent = spending::spent(rules.dialect, &text);
            spent.micro_usd = site.settings.prices.of(spent);
            said = written_out(&transcripts::tail(&path, rules.dialect));
        }
    }
    if said.is_empty() {
        let captured = capture::capture(site.context, &seen, Some(LINES), false);
        said = captured
            .map(|c| String::from_utf8_lossy(&c.text).into_owned())
            .logged("capture a screen")
            .unwrap_or_default();
    }
    let path = site.output(job, n);
    let kept = site.context.state.run(&site.journal.id).is_ok()
        && dogwatch_store::replace(&path, said.as_bytes()).is_ok();
    (kept.then(|| path.to_string_lossy().into_owned()), spent)
}

/// What was said, with the words of people marked in every line: they quote what an answer should look like.
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

/// Ends a session and closes its pane; one that is gone is closed.
pub(super) fn close(site: &RunContext<'_>, id: &str) -> Result<(), Error> {
    match snapshot::find(site.context, id) {
        Ok(seen) => kill::kill(site.context, &seen, false, Timestamp::now()).map(drop),
        Err(Error::Session(SessionError::NoSuchSession { .. })) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use dogwatch_core::record::{Cause, Exit};

    use super::*;
    use crate::tests::world::World;

    /// What a run makes of a session that shows a recorded screen, and has for so many seconds.
    fn end_by_screen(screen: &str, seconds: i64) -> Option<How> {
        let world = World::new();
        world.codex("web", screen);
        let mut judged = world.judged("web").unwrap();
        let now = Timestamp::now();
        judged.verdict.since = Some(now - SignedDuration::from_secs(seconds));
        end_of(&judged)
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
    fn a_dialog_counts_after_a_while() {
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
    fn how_long_an_attempt_has() {
        let at = |second: i64| Timestamp::from_second(1_794_700_000 + second).unwrap();
        let limit = SignedDuration::from_secs(60);
        for (now, want) in [(0, 60), (20, 40), (60, 0), (900, 0), (-900, 60)] {
            assert_eq!(time_left(at(0), at(now), limit).as_secs(), want, "{now}");
        }
    }
}
