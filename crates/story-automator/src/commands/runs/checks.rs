//! `escalate`, `verify-step`, `verify-code-review`: checks that decide how a run continues.

use crate::answers::{NothingToVerify, ReviewNotVerified, StepNotVerified};
use crate::commands::verdict::printed;
use crate::decide::escalation::{self, Limits};
use dogwatch_bmad::policy::load::{self, Need};
use dogwatch_bmad::{self, Asked, NotVerified};

use super::{Call, Reply, project};

/// `escalate <trigger> [context] [--state-file FILE]`. Without the necessary data the answer is to ask a person.
pub(super) fn escalate(call: &Call) -> Reply {
    let answer = call.with_value("--state-file").and_then(|state_file| {
        let policy = load::load(&project::here(), state_file, Need::Skills);
        let policy = policy.map_err(|fault| fault.to_string())?;
        let limits = Limits {
            review_cycles: policy.max_review_cycles(),
            crash_retries: policy.max_crash_retries(),
        };
        let words: Vec<&str> = positional(call);
        let trigger = words.first().copied().unwrap_or_default();
        let context = words.get(1).copied().unwrap_or_default();
        Ok(escalation::answer(trigger, context, limits))
    });
    Reply::json(&answer.unwrap_or_else(escalation::ask))
}

/// Words that are neither the option nor its value.
fn positional<'a>(call: &Call<'a>) -> Vec<&'a str> {
    let mut words = call.words.iter().map(String::as_str);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "--state-file" {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept
}

/// `verify-step <step> <story|epic> [--state-file FILE] [--output-file FILE]`
pub(super) fn verify_step(call: &Call) -> Reply {
    let (Some(step), Some(input)) = (call.word(0), call.word(1)) else {
        return Reply::json(&NothingToVerify {
            verified: false,
            reason: "step_and_story_required",
        })
        .failed();
    };
    let options = Call::new(call.command, call.words.get(2..).unwrap_or_default());
    let verdict = options.with_value("--state-file").and_then(|state_file| {
        let output_file = options.with_value("--output-file")?;
        let asked = Asked { step, story: Some(input), state_file, output_file };
        dogwatch_bmad::verify(&project::here(), asked).map_err(|error| error.to_string())
    });
    match verdict {
        Ok(verdict) => Reply::json(&printed(&verdict)),
        Err(error) => {
            let reason = "verifier_contract_invalid";
            let report = StepNotVerified { verified: false, step, input, reason, error };
            Reply::json(&report).failed()
        }
    }
}

/// `verify-code-review <story> [--state-file FILE]`
pub(super) fn verify_code_review(call: &Call) -> Reply {
    let Some(input) = call.word(0) else {
        return Reply::json(&NothingToVerify { verified: false, reason: "story_key_required" })
            .failed();
    };
    let options = Call::new(call.command, call.words.get(1..).unwrap_or_default());
    let verdict = options
        .with_value("--state-file")
        .map_err(NotVerified::Contract)
        .and_then(|state_file| dogwatch_bmad::verify_review(&project::here(), input, state_file));
    match verdict {
        Ok(verdict) if verdict.is_verified() => Reply::json(&printed(&verdict)),
        Ok(verdict) => Reply::json(&printed(&verdict)).failed(),
        Err(error) => {
            let error = error.to_string();
            let report = ReviewNotVerified {
                verified: false,
                reason: "review_contract_invalid",
                input,
                error,
            };
            Reply::json(&report).failed()
        }
    }
}
