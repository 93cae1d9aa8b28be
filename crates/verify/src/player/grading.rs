//! Asks `status` in a situation, and grades the answer.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::job::JobState;
use dogwatch_core::status::Verdict;
use dogwatch_engine::Error;
use dogwatch_engine::actions::bug_report::{self, Surroundings, materials};
use dogwatch_engine::actions::job;
use dogwatch_engine::observe::status::SessionStatus;
use dogwatch_protocol::status::StatusReport;
use dogwatch_protocol::verification::{Grade, Situation};
use jiff::Timestamp;

use super::{ANSWER, PACE, Played, Player};
use crate::truth::{Truth, told};

/// How long `status` may take to be right.
const GRACE: Duration = Duration::from_secs(3);
/// Then it is asked this often, and must not change its mind.
const LOOKS: usize = 4;
const LOOK_PACE: Duration = Duration::from_millis(200);

impl Player<'_> {
    fn read(&mut self) -> Result<SessionStatus, Error> {
        self.reader.one(&self.target, Timestamp::now())
    }

    /// Asks `status`, again and again, and grades it.
    pub(crate) fn check(&mut self, name: &str, truth: &Truth) -> Played {
        self.may_go_on()?;
        let begun = Instant::now();
        let mut settled = None;
        let mut failure = None;
        while begun.elapsed() < GRACE && settled.is_none() {
            match self.read() {
                Ok(judged) if truth.grade(&judged.verdict) == Grade::Right => {
                    settled = Some(begun.elapsed());
                }
                // sleep: whatever will make it right is asked for again.
                _ => std::thread::sleep(PACE),
            }
        }
        let mut verdicts: Vec<Verdict> = Vec::new();
        for _ in 0..LOOKS {
            match self.read() {
                Ok(judged) => verdicts.push(judged.verdict),
                Err(error) => failure = Some(error.to_string()),
            }
            // sleep: the verdict must hold for a while.
            std::thread::sleep(LOOK_PACE);
        }
        let worst = truth.worst(&verdicts);
        let grade = worst.map_or(Grade::NotKnown, |(grade, _)| grade);
        let verdict = worst.map(|(_, verdict)| verdict.clone());
        if !matches!(grade, Grade::Right) {
            self.record(name, verdict.as_ref());
        }
        let source = verdict.as_ref().and_then(Verdict::decided_by);
        let said = verdict.as_ref().map(|verdict| told(&verdict.status));
        let basis = verdict.as_ref().map(|verdict| verdict.basis.as_str().to_owned());
        self.note(name, grade, &truth.to_string(), |situation| {
            situation.said = said;
            situation.basis = basis;
            situation.source = source.map(|source| source.as_str().to_owned());
            situation.settled_ms =
                settled.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            situation.note = failure;
        });
        if let Some((_, decided)) = self.found.last_mut() {
            *decided = source;
        }
        Ok(())
    }

    /// Submits a job and grades its end.
    pub(crate) fn check_job(&mut self, name: &str, prompt: &str, is_done: bool) -> Played {
        let context = &self.world.context;
        let submitted = job::submit(context, &self.target, prompt, Some(ANSWER))?;
        let found = job::wait(context, &submitted.job.id, Some(ANSWER))?;
        let grade = match (&found.state, is_done) {
            (JobState::Done { .. }, true) | (JobState::Failed { .. }, false) => Grade::Right,
            (JobState::Done { .. }, false) | (JobState::Failed { .. }, true) => Grade::Lie,
            _ => Grade::Wrong,
        };
        if grade != Grade::Right {
            self.record(name, None);
        }
        let truth = if is_done { "job done" } else { "job failed" };
        let note = match &found.state {
            JobState::Failed { because, .. } => Some(because.clone()),
            _ => submitted.trouble,
        };
        self.note(name, grade, truth, |situation| {
            situation.said = Some(format!("job {}", found.state.as_str()));
            situation.note = note;
        });
        Ok(())
    }

    pub(crate) fn not_applicable(&mut self, name: &str, why: &str) {
        self.note(name, Grade::NotApplicable, "", |situation| {
            situation.note = Some(why.to_owned());
        });
    }

    pub(crate) fn not_played(&mut self, name: &str, why: &str) {
        self.record(name, None);
        self.note(name, Grade::NotPlayed, "", |situation| situation.note = Some(why.to_owned()));
    }

    /// An earlier situation of the same session could not be played.
    pub(crate) fn not_reached(&mut self, name: &str, earlier: &str) {
        let why = format!("not reached: {earlier} was not played");
        self.note(name, Grade::NotPlayed, "", |situation| situation.note = Some(why));
    }

    fn note(&mut self, name: &str, grade: Grade, truth: &str, fill: impl FnOnce(&mut Situation)) {
        let mut situation = Situation {
            name: name.to_owned(),
            start: self.start,
            grade,
            truth: truth.to_owned(),
            said: None,
            basis: None,
            source: None,
            settled_ms: None,
            note: None,
        };
        fill(&mut situation);
        (self.notes.tell)(&situation);
        self.found.push((situation, None));
    }

    /// Keeps what was seen for a bug report.
    fn record(&mut self, name: &str, verdict: Option<&Verdict>) {
        let context = &self.world.context;
        let Some(materials) =
            materials::look(context, &self.target, Timestamp::now()).logged("look at a session")
        else {
            return;
        };
        let session = &materials.judged.seen.session;
        let report = StatusReport {
            id: session.id.clone(),
            name: session.name.clone(),
            agent: session.agent.clone(),
            ours: materials.judged.seen.is_ours(),
            pane: materials.judged.seen.pane_id().map(|pane| pane.to_string()),
            verdict: verdict.unwrap_or(&materials.judged.verdict).clone(),
            notes: materials.judged.notes.clone(),
        };
        let around = Surroundings { names: self.notes.task.names.clone(), variables: Vec::new() };
        let folder = self.notes.task.reports();
        std::fs::create_dir_all(&folder).logged("create a directory");
        let name = format!("{}-{name}", self.start.as_str());
        bug_report::record(context, &materials, &report, &around, (&folder, &name))
            .logged("write a recording");
    }

    /// How long `watch` took to report the ends of turns.
    pub(crate) fn latencies(&self) -> Vec<Duration> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for (index, end) in self.ends.iter().enumerate() {
            let next = self.ends.get(index + 1);
            let idle = seen.iter().find(|(at, state)| {
                at >= end && next.is_none_or(|next| at < next) && *state == "idle"
            });
            found.extend(idle.map(|(at, _)| at.duration_since(*end)));
        }
        found
    }
}
