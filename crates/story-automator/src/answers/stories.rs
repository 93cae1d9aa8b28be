//! The answers of commands about stories.

use dogwatch_bmad::format::complexity::Complexity;
use dogwatch_bmad::format::junit::Counts;
use serde::Serialize;
use serde_json::Value;

/// `agents-build`.
#[derive(Debug, Serialize)]
pub(crate) struct AgentsBuilt<'a> {
    pub(crate) path: &'a str,
    pub(crate) stories: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<usize>,
}

/// The agents of a task. No fallback is the text `false`, as in the original.
#[derive(Debug, Serialize)]
pub(crate) struct TaskAgent<'a> {
    pub(crate) primary: &'a str,
    pub(crate) fallback: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
}

/// `agents-resolve`.
#[derive(Debug, Serialize)]
pub(crate) struct AgentResolved<'a> {
    pub(crate) story: &'a str,
    pub(crate) task: &'a str,
    #[serde(flatten)]
    pub(crate) agent: TaskAgent<'a>,
    pub(crate) complexity: String,
}

/// `agents-resolve` with an unreadable plan.
#[derive(Debug, Serialize)]
pub(crate) struct AgentsFileInvalid<'a> {
    pub(crate) ok: bool,
    pub(crate) story: &'a str,
    pub(crate) task: &'a str,
    pub(crate) error: &'a str,
    pub(crate) detail: String,
}

/// `retro-agent`.
#[derive(Debug, Serialize)]
pub(crate) struct RetroAgent<'a> {
    pub(crate) task: &'a str,
    #[serde(flatten)]
    pub(crate) agent: TaskAgent<'a>,
}

/// `commit-story`.
#[derive(Debug, Serialize)]
pub(crate) struct StoryCommitted<'a> {
    pub(crate) ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a str>,
    #[serde(rename = "leftOut", skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<LeftOutFile>,
}

/// A file that is not in the commit.
#[derive(Debug, Serialize)]
pub(crate) struct LeftOutFile {
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// Files with merge conflicts.
#[derive(Debug, Serialize)]
pub(crate) struct Unmerged {
    pub(crate) paths: Vec<String>,
}

/// `commit-ready`: no.
#[derive(Debug, Serialize)]
pub(crate) struct NotReady<'a> {
    pub(crate) ready: bool,
    pub(crate) reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) story: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current_status: Option<&'a str>,
}

/// `commit-ready`: yes.
#[derive(Debug, Serialize)]
pub(crate) struct ReadyToCommit<'a> {
    pub(crate) ready: bool,
    pub(crate) story: &'a str,
    pub(crate) status: &'a str,
    pub(crate) uncommitted_changes: bool,
}

/// `get-epic-stories` for an epic without stories.
#[derive(Debug, Serialize)]
pub(crate) struct NoEpicStories<'a> {
    pub(crate) ok: bool,
    pub(crate) epic: &'a str,
    pub(crate) error: &'a str,
    pub(crate) count: usize,
}

/// `get-epic-stories`.
#[derive(Debug, Serialize)]
pub(crate) struct EpicStories<'a> {
    pub(crate) epic: &'a str,
    pub(crate) stories: Vec<&'a str>,
    pub(crate) count: usize,
    pub(crate) source: &'a str,
}

/// The number of an epic, or the text in its place.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum EpicNumber<'a> {
    Number(i64),
    Text(&'a str),
}

/// `check-epic-complete`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EpicChecked<'a> {
    pub(crate) is_last_story: bool,
    pub(crate) epic: EpicNumber<'a>,
    pub(crate) story_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_in_epic: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) epic_story_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<&'a str>,
}

/// `check-blocking`.
#[derive(Debug, Serialize)]
pub(crate) struct BlockingChecked<'a> {
    pub(crate) blocking: bool,
    pub(crate) story: String,
    pub(crate) epic: &'a str,
    pub(crate) dependents: Vec<String>,
    pub(crate) reason: &'a str,
    pub(crate) source: &'a str,
}

/// `parse-epic`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EpicParsed<'a> {
    pub(crate) epic_title: &'a str,
    pub(crate) stories: Vec<EpicStory<'a>>,
    pub(crate) count: usize,
    pub(crate) file: Option<&'a str>,
}

/// A story of an epic.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EpicStory<'a> {
    pub(crate) epic_num: &'a str,
    pub(crate) epic_title: &'a str,
    pub(crate) story_num: &'a str,
    pub(crate) story_id: String,
    pub(crate) title: &'a str,
}

/// `parse-story`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoryParsed<'a> {
    pub(crate) story_id: String,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) acceptance_criteria: &'a [String],
    pub(crate) dependencies: &'a str,
    pub(crate) complexity: Complexity,
}

/// `parse-story-range`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RangeParsed<'a> {
    pub(crate) indices: &'a [usize],
    pub(crate) story_ids: Vec<&'a str>,
    pub(crate) count: usize,
}

/// `epic-complete`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EpicReached {
    pub(crate) epic_complete: bool,
    pub(crate) max_epic_story: String,
}

/// An unknown subcommand.
#[derive(Debug, Serialize)]
pub(crate) struct Subcommand<'a> {
    pub(crate) subcommand: &'a str,
}

/// An unreadable file of presets.
#[derive(Debug, Serialize)]
pub(crate) struct PresetsInvalid<'a> {
    pub(crate) file: &'a str,
    pub(crate) detail: String,
}

/// `agent-config load`.
#[derive(Debug, Serialize)]
pub(crate) struct PresetLoaded {
    pub(crate) name: String,
    pub(crate) config: Value,
}

/// `agent-config list`.
#[derive(Debug, Serialize)]
pub(crate) struct PresetNames {
    pub(crate) presets: Vec<PresetName>,
    pub(crate) count: usize,
}

/// A preset, and when it was created.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PresetName {
    pub(crate) name: String,
    pub(crate) created_at: String,
}

/// A missing preset.
#[derive(Debug, Serialize)]
pub(crate) struct NoPreset<'a> {
    pub(crate) name: &'a str,
}

/// `agent-config save` and `delete`.
#[derive(Debug, Serialize)]
pub(crate) struct PresetChanged<'a> {
    pub(crate) name: &'a str,
    pub(crate) action: &'a str,
}

/// `reconcile-story`.
#[derive(Debug, Serialize)]
pub(crate) struct StoryReconciled {
    pub(crate) story_file: String,
    pub(crate) git_files: Vec<String>,
    pub(crate) missing_from_story: Vec<String>,
    pub(crate) stale_in_story: Vec<String>,
    pub(crate) in_sync: bool,
    pub(crate) wrote: bool,
}

/// `derive-project-slug`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectSlug {
    pub(crate) slug: String,
    pub(crate) project_root: String,
}

/// `sprint-status get`.
#[derive(Debug, Serialize)]
pub(crate) struct SprintStatus<'a> {
    pub(crate) found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) story: Option<&'a str>,
    pub(crate) status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) done: Option<bool>,
}

/// `sprint-status check-epic` of an epic without stories.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EpicWithoutStories<'a> {
    pub(crate) ok: bool,
    pub(crate) epic: &'a str,
    pub(crate) all_stories_done: bool,
    pub(crate) reason: &'a str,
    pub(crate) count: usize,
}

/// `sprint-status check-epic`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EpicCounted<'a> {
    pub(crate) epic: &'a str,
    pub(crate) all_stories_done: bool,
    pub(crate) total: usize,
    pub(crate) done: usize,
    pub(crate) count: usize,
    pub(crate) stories: Vec<&'a str>,
}

/// `normalize-key`.
#[derive(Debug, Serialize)]
pub(crate) struct StoryNormalized<'a> {
    pub(crate) id: String,
    pub(crate) prefix: String,
    pub(crate) key: &'a str,
}

/// `story-file-status`.
#[derive(Debug, Serialize)]
pub(crate) struct StoryFileStatus<'a> {
    pub(crate) story_key: &'a str,
    pub(crate) file: String,
    pub(crate) status: &'a str,
    pub(crate) title: &'a str,
}

/// `test-counts` without anything to count.
#[derive(Debug, Serialize)]
pub(crate) struct TestsSkipped<'a> {
    pub(crate) skipped: bool,
    pub(crate) reason: &'a str,
    pub(crate) test_counts: Option<Counts>,
    pub(crate) wrote: bool,
}

/// `test-counts`.
#[derive(Debug, Serialize)]
pub(crate) struct TestsCounted<'a> {
    pub(crate) skipped: bool,
    pub(crate) story_file: String,
    pub(crate) source: &'a str,
    pub(crate) junit_path: String,
    pub(crate) test_counts: Counts,
    pub(crate) wrote: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command_exit: Option<i32>,
}

/// An unreadable test report.
#[derive(Debug, Serialize)]
pub(crate) struct BadReport {
    pub(crate) junit_path: String,
}
