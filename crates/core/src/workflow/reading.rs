//! A workflow file, read. What is wrong with it is said with line and column, before anything starts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use jiff::SignedDuration;
use regex_lite::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::definition::{
    Count, Failure, MERGE, Per, Prompt, Retry, Step, Tree, Verifier, Work, Workflow,
};
use crate::escalation::Trigger;
use crate::slips::{distance, place};

/// A workflow file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct BadWorkflow {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub problem: String,
    pub hint: Option<String>,
}

type Problem = (Range<usize>, String);

/// Reads a workflow; `file` is only for the error text.
pub fn read(file: &str, text: &str) -> Result<Workflow, BadWorkflow> {
    let bad = |(span, problem): Problem| {
        let (line, column) = place(text, span.start);
        let hint = hint(&problem);
        BadWorkflow { file: file.to_owned(), line, column, problem, hint }
    };
    let raw: RawWorkflow = toml::from_str(text).map_err(|error| {
        bad((error.span().unwrap_or(0..0), error.message().replace('\n', "; ")))
    })?;
    raw.check().map_err(bad)
}

/// The word that was probably meant, out of those that the error names.
fn hint(problem: &str) -> Option<String> {
    let words: Vec<&str> = problem.split('`').skip(1).step_by(2).collect();
    let (written, known) = words.split_first()?;
    let nearest = known.iter().min_by_key(|word| distance(written, word))?;
    (distance(written, nearest) <= 3).then(|| format!("did you mean `{nearest}`?"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkflow {
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    items: Vec<Spanned<String>>,
    #[serde(default)]
    step: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    id: Spanned<String>,
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

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    SessionExit,
    Files,
    SprintStatus,
    StoryFile,
    Status,
    Policy,
    Git,
    Command,
    Output,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVerifier {
    kind: Spanned<Kind>,
    glob: Option<Spanned<String>>,
    count: Option<Spanned<u32>>,
    at_least: Option<Spanned<u32>>,
    is: Option<Spanned<Vec<String>>>,
    tree: Option<Spanned<Tree>>,
    run: Option<Spanned<String>>,
    timeout: Option<Spanned<SignedDuration>>,
    success: Option<Spanned<String>>,
    failure: Option<Spanned<String>>,
}

/// More of anything than this is a slip of the pen.
const MOST: u32 = 1000;
const USUAL_TIMEOUT: SignedDuration = SignedDuration::from_mins(60);
const USUAL_ATTEMPTS: u32 = 5;

fn problem<T>(span: Range<usize>, text: impl Into<String>) -> Result<T, Problem> {
    Err((span, text.into()))
}

impl RawWorkflow {
    fn check(self) -> Result<Workflow, Problem> {
        word(&self.name, "the name of a workflow")?;
        if self.step.is_empty() {
            return problem(self.name.span(), "the workflow has no steps: add a [[step]]");
        }
        let mut items = Vec::new();
        for item in self.items {
            word(&item, "an item")?;
            if items.contains(item.get_ref()) {
                return problem(
                    item.span(),
                    format!("the item {:?} is there twice", item.get_ref()),
                );
            }
            items.push(item.into_inner());
        }
        let mut ids = BTreeSet::new();
        let mut steps = Vec::new();
        for raw in self.step {
            let (span, raw) = (raw.span(), raw.into_inner());
            if !ids.insert(raw.id.get_ref().clone()) {
                let text = format!("there is another step with the id {:?}", raw.id.get_ref());
                return problem(raw.id.span(), text);
            }
            steps.push(raw.check(span)?);
        }
        if !steps.iter().any(|step| step.per == Per::Item) {
            return problem(self.name.span(), "no step is done per item");
        }
        Ok(Workflow { name: self.name.into_inner(), title: self.title, items, steps })
    }
}

impl RawStep {
    fn check(self, span: Range<usize>) -> Result<Step, Problem> {
        word(&self.id, "the id of a step")?;
        if self.id.get_ref() == MERGE {
            return problem(self.id.span(), "the id \"merge\" is kept for stories side by side");
        }
        let id = self.id.get_ref().clone();
        let verify: Vec<Verifier> =
            self.verify.into_iter().map(RawVerifier::check).collect::<Result<_, _>>()?;
        let prompt = prompt(self.prompt, self.policy, self.extra)?;
        let work = match (prompt, self.run, self.commit) {
            (Some(prompt), None, None) => Work::Agent { prompt },
            (None, Some(run), None) if run.get_ref().is_empty() => {
                return problem(run.span(), "there is no program to run");
            }
            (None, Some(run), None) => Work::Command { run: run.into_inner() },
            (None, None, Some(message)) => {
                placeholders(&message)?;
                Work::Commit { message: message.into_inner() }
            }
            (None, None, None) => {
                let text = format!("the step {id:?} does nothing: give it a prompt, run or commit");
                return problem(span, text);
            }
            _ => {
                let text = format!("the step {id:?} has more than one of prompt, run and commit");
                return problem(span, text);
            }
        };
        if !matches!(work, Work::Agent { .. })
            && let Some(agent) =
                self.agent.as_ref().or(self.fallback.as_ref()).or(self.model.as_ref())
        {
            return problem(
                agent.span(),
                format!("the step {id:?} has no prompt, so no agent does it"),
            );
        }
        if let Some(asked) = self.done_before.as_ref().filter(|asked| *asked.get_ref())
            && verify.is_empty()
        {
            return problem(
                asked.span(),
                "without a verifier nobody can know whether it is done before",
            );
        }
        if !work.has_session() && verify.contains(&Verifier::SessionExit) {
            return problem(
                self.id.span(),
                format!("the step {id:?} has no session that could exit"),
            );
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
                problem(value.span(), format!("more than {MOST} retries are not meant, are they?"))
            }
            value => Ok(value.map(|value| *value.get_ref())),
        };
        let usual = Retry::usual(failure);
        Ok(Retry {
            times: limit(self.times.as_ref())?.unwrap_or(usual.times),
            times_if_blocking: limit(self.times_if_blocking.as_ref())?,
            delay: match self.delay {
                Some(delay) if delay.get_ref().is_negative() => {
                    return problem(delay.span(), "a delay cannot be negative");
                }
                Some(delay) => delay.into_inner(),
                None => usual.delay,
            },
        })
    }
}

impl RawVerifier {
    fn check(raw: Spanned<Self>) -> Result<Verifier, Problem> {
        let (span, mut raw) = (raw.span(), raw.into_inner());
        let kind = *raw.kind.get_ref();
        let verifier = match kind {
            Kind::SessionExit => Verifier::SessionExit,
            Kind::Policy => Verifier::Policy,
            Kind::Files => {
                let glob = raw.glob.take().ok_or_else(|| missing(&span, "glob"))?;
                placeholders(&glob)?;
                let count = match (raw.count.take(), raw.at_least.take()) {
                    (Some(count), None) => Count::Exactly(count.into_inner()),
                    (None, Some(least)) => Count::AtLeast(least.into_inner()),
                    (None, None) => Count::AtLeast(1),
                    (Some(_), Some(least)) => {
                        return problem(least.span(), "count and at_least exclude each other");
                    }
                };
                Verifier::Files { glob: glob.into_inner(), count }
            }
            Kind::SprintStatus => Verifier::SprintStatus { is: raw.words(&span)? },
            Kind::StoryFile => Verifier::StoryFile { is: raw.words(&span)? },
            Kind::Status => Verifier::Status { is: raw.words(&span)? },
            Kind::Git => {
                let tree = raw.tree.take().ok_or_else(|| missing(&span, "tree"))?;
                Verifier::Git { tree: tree.into_inner() }
            }
            Kind::Command => {
                let run = raw.run.take().ok_or_else(|| missing(&span, "run"))?;
                placeholders(&run)?;
                let timeout = duration(raw.timeout.take(), SignedDuration::from_mins(10))?;
                Verifier::Command { run: run.into_inner(), timeout }
            }
            Kind::Output => {
                let success = pattern(raw.success.take())?;
                let failure = pattern(raw.failure.take())?;
                if success.is_none() && failure.is_none() {
                    return Err(missing(&span, "success"));
                }
                Verifier::Output { success, failure }
            }
        };
        raw.nothing_left()?;
        Ok(verifier)
    }

    fn words(&mut self, span: &Range<usize>) -> Result<Vec<String>, Problem> {
        let is = self.is.take().ok_or_else(|| missing(span, "is"))?;
        if is.get_ref().is_empty() {
            return problem(is.span(), "there is no word that it could say");
        }
        Ok(is.into_inner())
    }

    /// A key that belongs to another kind was meant for something.
    fn nothing_left(&self) -> Result<(), Problem> {
        let left = [
            ("glob", self.glob.as_ref().map(Spanned::span)),
            ("count", self.count.as_ref().map(Spanned::span)),
            ("at_least", self.at_least.as_ref().map(Spanned::span)),
            ("is", self.is.as_ref().map(Spanned::span)),
            ("tree", self.tree.as_ref().map(Spanned::span)),
            ("run", self.run.as_ref().map(Spanned::span)),
            ("timeout", self.timeout.as_ref().map(Spanned::span)),
            ("success", self.success.as_ref().map(Spanned::span)),
            ("failure", self.failure.as_ref().map(Spanned::span)),
        ];
        match left.into_iter().find_map(|(key, span)| Some((key, span?))) {
            Some((key, span)) => {
                problem(span, format!("{key:?} means nothing to this kind of verifier"))
            }
            None => Ok(()),
        }
    }
}

/// What an agent is told, if the step is one's.
fn prompt(
    own: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    extra: Option<Spanned<String>>,
) -> Result<Option<Prompt>, Problem> {
    if let (Some(extra), None) = (&extra, &policy) {
        return problem(extra.span(), "there is no policy's prompt that it could be added to");
    }
    Ok(match (own, policy) {
        (Some(_), Some(policy)) => {
            return problem(policy.span(), "the policy has a prompt of its own: leave one out");
        }
        (Some(own), None) => {
            placeholders(&own)?;
            Some(Prompt::Own(own.into_inner()))
        }
        (None, Some(policy)) => {
            if !POLICY_STEPS.contains(&policy.get_ref().as_str()) {
                let known = POLICY_STEPS.map(|word| format!("`{word}`")).join(", ");
                let text = format!("`{}` is no step of a policy; {known} are", policy.get_ref());
                return problem(policy.span(), text);
            }
            let extra = extra.map(Spanned::into_inner).unwrap_or_default();
            Some(Prompt::Policy { step: policy.into_inner(), extra })
        }
        (None, None) => None,
    })
}

fn missing(span: &Range<usize>, key: &str) -> Problem {
    (span.clone(), format!("this kind of verifier needs {key:?}"))
}

fn pattern(text: Option<Spanned<String>>) -> Result<Option<String>, Problem> {
    match text {
        Some(text) => match Regex::new(text.get_ref()) {
            Ok(_) => Ok(Some(text.into_inner())),
            Err(error) => problem(text.span(), format!("not a regular expression: {error}")),
        },
        None => Ok(None),
    }
}

fn count(value: Option<&Spanned<u32>>) -> Result<Option<u32>, Problem> {
    match value {
        Some(value) if !(1..=MOST).contains(value.get_ref()) => {
            problem(value.span(), format!("from 1 to {MOST} are possible"))
        }
        value => Ok(value.map(|value| *value.get_ref())),
    }
}

fn duration(
    value: Option<Spanned<SignedDuration>>,
    usual: SignedDuration,
) -> Result<SignedDuration, Problem> {
    match value {
        Some(value) if !value.get_ref().is_positive() => {
            problem(value.span(), "the time must be longer than nothing")
        }
        value => Ok(value.map_or(usual, Spanned::into_inner)),
    }
}

fn name(value: Option<Spanned<String>>) -> Result<Option<String>, Problem> {
    match value {
        Some(value) if value.get_ref().trim().is_empty() => problem(value.span(), "it is empty"),
        value => Ok(value.map(Spanned::into_inner)),
    }
}

/// Ids become parts of session names, branches and files.
fn word(text: &Spanned<String>, what: &str) -> Result<(), Problem> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let value = text.get_ref();
    if value.is_empty()
        || value.len() > 60
        || !value.chars().all(fine)
        || value.starts_with(['-', '.'])
    {
        let text_ = format!(
            "{what} is made of letters, digits, '-', '_' and '.', 60 at most, and begins with neither '-' nor '.'"
        );
        return problem(text.span(), text_);
    }
    Ok(())
}

/// Steps that a policy has prompts and verifiers for.
pub const POLICY_STEPS: [&str; 5] = ["create", "dev", "auto", "review", "retro"];

/// What may be put into texts.
pub const PLACEHOLDERS: [&str; 11] = [
    "item",
    "story",
    "key",
    "prefix",
    "group",
    "epic",
    "title",
    "step",
    "label",
    "attempt",
    "artifacts",
];

/// Refuses `{words}` that stand for nothing; braces with anything else in them are left alone.
fn placeholders(text: &Spanned<String>) -> Result<(), Problem> {
    for (at, _) in text.get_ref().match_indices('{') {
        let Some(word) = word_in_braces(&text.get_ref()[at..]) else { continue };
        if !PLACEHOLDERS.contains(&word) {
            let known = PLACEHOLDERS.map(|word| format!("`{word}`")).join(", ");
            return problem(
                text.span(),
                format!("`{word}` in braces stands for nothing; known are {known}"),
            );
        }
    }
    Ok(())
}

fn word_in_braces(text: &str) -> Option<&str> {
    let word = text.strip_prefix('{')?.split_once('}')?.0;
    let fits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    fits.then_some(word)
}

/// Puts values in place of `{words}`; what was put in is not looked at again.
pub fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = word_in_braces(rest).and_then(|word| Some((word.len() + 2, value(word)?)));
        let (skip, text) = found.unwrap_or_else(|| (1, "{".to_owned()));
        out.push_str(&text);
        rest = &rest[skip..];
    }
    out + rest
}
