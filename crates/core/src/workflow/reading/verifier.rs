//! The verifiers of a step.

use std::ops::Range;

use jiff::SignedDuration;
use regex_lite::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::placeholders::placeholders;
use super::values::duration;
use super::{Problem, problem};
use crate::workflow::definition::{Count, Tree, Verifier};

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    SessionExit,
    Files,
    SprintStatus,
    StoryFile,
    Status,
    Policy,
    Build,
    Git,
    Command,
    Output,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVerifier {
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

impl RawVerifier {
    pub(super) fn check(raw: Spanned<Self>) -> Result<Verifier, Problem> {
        let (span, mut raw) = (raw.span(), raw.into_inner());
        let kind = *raw.kind.get_ref();
        let verifier = match kind {
            Kind::SessionExit => Verifier::SessionExit,
            Kind::Policy => Verifier::Policy,
            Kind::Build => Verifier::Build,
            Kind::Files => {
                let glob = raw.glob.take().ok_or_else(|| missing(&span, "glob"))?;
                placeholders(&glob)?;
                let count = match (raw.count.take(), raw.at_least.take()) {
                    (Some(count), None) => Count::Exactly(count.into_inner()),
                    (None, Some(least)) => Count::AtLeast(least.into_inner()),
                    (None, None) => Count::AtLeast(1),
                    (Some(_), Some(least)) => {
                        return problem(least.span(), "use count or at_least, not both");
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
            return problem(is.span(), "the list of words is empty");
        }
        Ok(is.into_inner())
    }

    /// Refuses keys of another kind of verifier.
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
                problem(span, format!("this kind of verifier does not take {key:?}"))
            }
            None => Ok(()),
        }
    }
}

fn missing(span: &Range<usize>, key: &str) -> Problem {
    (span.clone(), format!("this kind of verifier needs {key:?}"))
}

fn pattern(text: Option<Spanned<String>>) -> Result<Option<String>, Problem> {
    match text {
        Some(text) => match Regex::new(text.get_ref()) {
            Ok(_) => Ok(Some(text.into_inner())),
            Err(error) => problem(text.span(), format!("invalid regular expression: {error}")),
        },
        None => Ok(None),
    }
}
