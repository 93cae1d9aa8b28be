//! A verdict as the helper prints it.

use dogwatch_bmad::format::review::Outcome;
use dogwatch_bmad::{Finding, Verdict, count};
use serde::Serialize;

const SPRINT_STATUS: &str = "sprint-status.yaml";

/// The printed form. The fields and their order are the helper's.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Printed<'v> {
    Unknown {
        verified: bool,
        reason: &'v str,
        input: &'v str,
    },
    SessionExit {
        verified: bool,
        source: &'v str,
        #[serde(skip_serializing_if = "Option::is_none")]
        story: Option<&'v str>,
        #[serde(rename = "outputFile", skip_serializing_if = "Option::is_none")]
        output_file: Option<&'v str>,
    },
    #[serde(rename_all = "camelCase")]
    Created {
        verified: bool,
        story: &'v str,
        source: &'v str,
        pattern: &'v str,
        expected_matches: i64,
        actual_matches: i64,
        matches: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'v str>,
    },
    Reviewed {
        verified: bool,
        story: &'v str,
        sprint_status: &'v str,
        story_file_status: &'v str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'v str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<&'v str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<&'v str>,
    },
    NoStories {
        verified: bool,
        epic: &'v str,
        reason: &'v str,
        source: &'v str,
    },
    #[serde(rename_all = "camelCase")]
    Epic {
        verified: bool,
        epic: &'v str,
        story: &'v str,
        total_stories: usize,
        done_stories: usize,
        source: &'v str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'v str>,
    },
}

pub(crate) fn printed(verdict: &Verdict) -> Printed<'_> {
    let (verified, reason) = (verdict.is_verified(), verdict.reason());
    match &verdict.finding {
        Finding::UnknownStory { input } => {
            Printed::Unknown { verified, reason: reason.unwrap_or_default(), input }
        }
        Finding::SessionExit { story, output_file } => Printed::SessionExit {
            verified,
            source: "session_exit",
            story: story.as_deref(),
            output_file: output_file.as_deref(),
        },
        Finding::Created { story, pattern, expected, matches } => Printed::Created {
            verified,
            story,
            source: "artifact_glob",
            pattern,
            expected_matches: *expected,
            actual_matches: count(matches),
            matches: matches.iter().map(|path| path.display().to_string()).collect(),
            reason,
        },
        Finding::Reviewed { story, sprint, story_file, outcome } => {
            let (source, note) = match outcome {
                Outcome::Complete { source, sprint_lags } => {
                    (Some(source.as_str()), sprint_lags.then_some("sprint_status_not_updated"))
                }
                Outcome::NotComplete => (None, None),
            };
            let (sprint_status, story_file_status) = (sprint, story_file);
            Printed::Reviewed {
                verified,
                story,
                sprint_status,
                story_file_status,
                reason,
                source,
                note,
            }
        }
        Finding::Epic { epic, total: 0, .. } => Printed::NoStories {
            verified,
            epic,
            reason: reason.unwrap_or_default(),
            source: SPRINT_STATUS,
        },
        Finding::Epic { epic, asked, total, done } => Printed::Epic {
            verified,
            epic,
            story: asked,
            total_stories: *total,
            done_stories: *done,
            source: SPRINT_STATUS,
            reason,
        },
    }
}
