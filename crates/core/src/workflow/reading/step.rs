//! One step of a workflow file.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::SignedDuration;
use serde::Deserialize;
use toml::Spanned;

use super::placeholders::placeholders;
use super::values::{MOST, count, duration, name, word};
use super::verifier::RawVerifier;
use super::{Problem, problem};
use crate::escalation::Trigger;
use crate::workflow::definition::{Failure, MERGE, Per, Prompt, Retry, Step, Verifier, Work};

const USUAL_TIMEOUT: SignedDuration = SignedDuration::from_mins(60);
const USUAL_ATTEMPTS: u32 = 5;

/// Steps that a policy has prompts and verifiers for.
pub const POLICY_STEPS: [&str; 5] = ["create", "dev", "auto", "review", "retro"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    pub(super) id: Spanned<String>,
    label: Option<String>,
    per: Option<Per>,
    prompt: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    extra: Option<Spanned<String>>,
    run: Option<Spanned<Vec<String>>>,
    commit: Option<Spanned<String>>,
    agent: Option<Spanned<String>>,
    fallback: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    #[serde(default)]
    verify: Vec<Spanned<RawVerifier>>,
    #[serde(default)]
    done_before: Option<Spanned<bool>>,
    #[serde(default)]
    optional: bool,
    cycles: Option<Spanned<u32>>,
    attempts: Option<Spanned<u32>>,
    timeout: Option<Spanned<SignedDuration>>,
    #[serde(default)]
    retry: BTreeMap<Failure, RawRetry>,
    #[serde(default)]
    defer_on_plateau: bool,
    asks: Option<Trigger>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRetry {
    times: Option<Spanned<u32>>,
    times_if_blocking: Option<Spanned<u32>>,
    delay: Option<Spanned<SignedDuration>>,
}

impl RawStep {
    pub(super) fn check(self, span: Range<usize>) -> Result<Step, Problem> {
        word(&self.id, "the id of a step")?;
        if self.id.get_ref() == MERGE {
            return problem(self.id.span(), "the id \"merge\" is reserved for parallel runs");
        }
        let id = self.id.get_ref().clone();
        let verify: Vec<Verifier> =
            self.verify.into_iter().map(RawVerifier::check).collect::<Result<_, _>>()?;
        let prompt = prompt(self.prompt, self.policy, self.extra)?;
        let work = match (prompt, self.run, self.commit) {
            (Some(prompt), None, None) => Work::Agent { prompt },
            (None, Some(run), None) if run.get_ref().is_empty() => {
                return problem(run.span(), "no program to run");
            }
            (None, Some(run), None) => Work::Command { run: run.into_inner() },
            (None, None, Some(message)) => {
                placeholders(&message)?;
                Work::Commit { message: message.into_inner() }
            }
            (None, None, None) => {
                let text = format!("step {id:?} does nothing; add prompt, run or commit");
                return problem(span, text);
            }
            _ => {
                let text = format!("step {id:?} has more than one of prompt, run and commit");
                return problem(span, text);
            }
        };
        if !matches!(work, Work::Agent { .. })
            && let Some(agent) =
                self.agent.as_ref().or(self.fallback.as_ref()).or(self.model.as_ref())
        {
            return problem(
                agent.span(),
                format!("step {id:?} has no prompt, so it takes no agent"),
            );
        }
        if let Some(asked) = self.done_before.as_ref().filter(|asked| *asked.get_ref())
            && verify.is_empty()
        {
            return problem(
                asked.span(),
                "this needs a verifier to check whether the step is already done",
            );
        }
        if !work.has_session() && verify.contains(&Verifier::SessionExit) {
            return problem(self.id.span(), format!("step {id:?} has no session that could exit"));
        }
        let mut retry = BTreeMap::new();
        for (failure, raw) in self.retry {
            retry.insert(failure, raw.check(failure)?);
        }
        let is_loop = self.cycles.is_some();
        let mut attempts = count(self.attempts.as_ref())?.unwrap_or(USUAL_ATTEMPTS);
        if let Some(cycles) = &self.cycles {
            attempts = count(Some(cycles))?.unwrap_or(attempts);
            for failure in [Failure::Unverified, Failure::Failed, Failure::Crash, Failure::Stuck] {
                let rule =
                    Retry { times: attempts, times_if_blocking: None, delay: SignedDuration::ZERO };
                retry.entry(failure).or_insert(rule);
            }
        }
        Ok(Step {
            label: self.label.unwrap_or_else(|| id.clone()),
            id,
            per: self.per.unwrap_or(Per::Item),
            work,
            agent: name(self.agent)?,
            fallback: name(self.fallback)?,
            model: name(self.model)?,
            verify,
            done_before: self.done_before.is_some_and(Spanned::into_inner),
            optional: self.optional,
            is_loop,
            attempts,
            timeout: duration(self.timeout, USUAL_TIMEOUT)?,
            retry,
            defer_on_plateau: self.defer_on_plateau,
            asks: self.asks,
        })
    }
}

impl RawRetry {
    fn check(self, failure: Failure) -> Result<Retry, Problem> {
        let limit = |value: Option<&Spanned<u32>>| match value {
            Some(value) if *value.get_ref() > MOST => {
                problem(value.span(), format!("at most {MOST} retries"))
            }
            value => Ok(value.map(|value| *value.get_ref())),
        };
        let usual = Retry::usual(failure);
        Ok(Retry {
            times: limit(self.times.as_ref())?.unwrap_or(usual.times),
            times_if_blocking: limit(self.times_if_blocking.as_ref())?,
            delay: match self.delay {
                Some(delay) if delay.get_ref().is_negative() => {
                    return problem(delay.span(), "the delay must not be negative");
                }
                Some(delay) => delay.into_inner(),
                None => usual.delay,
            },
        })
    }
}

/// The prompt, if the step is an agent's.
fn prompt(
    own: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    extra: Option<Spanned<String>>,
) -> Result<Option<Prompt>, Problem> {
    if let (Some(extra), None) = (&extra, &policy) {
        return problem(extra.span(), "there is no policy prompt to add it to");
    }
    Ok(match (own, policy) {
        (Some(_), Some(policy)) => {
            return problem(policy.span(), "the policy already has a prompt; remove one of them");
        }
        (Some(own), None) => {
            placeholders(&own)?;
            Some(Prompt::Own(own.into_inner()))
        }
        (None, Some(policy)) => {
            if !POLICY_STEPS.contains(&policy.get_ref().as_str()) {
                let known = POLICY_STEPS.map(|word| format!("`{word}`")).join(", ");
                let text =
                    format!("`{}` is not a step of the policy; steps: {known}", policy.get_ref());
                return problem(policy.span(), text);
            }
            let extra = extra.map(Spanned::into_inner).unwrap_or_default();
            Some(Prompt::Policy { step: policy.into_inner(), extra })
        }
        (None, None) => None,
    })
}
