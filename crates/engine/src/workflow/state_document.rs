//! The state document and the marker of a run of stories, in story-automator's formats. Both are computed from the journal,
//! so the next driver repairs what a killed one left incomplete.

use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_bmad::format::fields;
use dogwatch_bmad::format::marker::{Marker, NewMarker};
use dogwatch_bmad::format::state_template::{self, Begun, epic_slug};
use dogwatch_bmad::run_document::{self, TEMPLATE};
use dogwatch_core::name::slug;
use dogwatch_core::workflow::{AgentChoice, Plan, Run, Standing};
use dogwatch_store::ProjectFile;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value};

use super::git::Tree;
use crate::Error;
use crate::workflow::run_context::RunContext;
use dogwatch_bmad::policy::load;
use dogwatch_bmad::project::run_marker;
use dogwatch_bmad::{marker_path, one_at_a_time, read_text_to_change, write_text};

/// State documents, from the project's root.
pub(super) const FOLDER: &str = "_bmad-output/story-automator";
/// The stop hook takes a run without a heartbeat for half an hour as gone.
const HEARTBEAT: SignedDuration = SignedDuration::from_mins(1);

/// The path of a new run's document, from the project's root.
pub(super) fn new_document(plan: &Plan, now: Timestamp) -> String {
    let epic = Value::from(plan.groups().join("-"));
    let stamp = now.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S");
    format!("{FOLDER}/orchestration-{}-{stamp}.md", epic_slug(Some(&epic)))
}

/// Fails before the run begins if the document or the marker would be behind a link.
pub(super) fn must_be_reached(home: &dogwatch_bmad::Project) -> Result<(), Error> {
    for path in [home.root.join(FOLDER).join("x"), marker_path(home)] {
        ProjectFile::named(Some(&home.root), &path)
            .and_then(|file| file.must_be_reached())
            .map_err(Error::io(format!("write below {}", home.root.display())))?;
    }
    Ok(())
}

/// Updates the document and the marker.
pub(super) fn keep(ctx: &RunContext<'_>, run: &Run) -> Result<(), Error> {
    let Some(file) = ctx.settings.state_file.clone().filter(|_| ctx.settings.is_bmad) else {
        return Ok(());
    };
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let path = ctx.project.join(&file);
    // The run's helper commands update it too.
    let ours = one_at_a_time(&ctx.project, &path)?;
    let before = match read_text_to_change(&ctx.project, &path)? {
        Some(text) => text,
        None => begin(ctx, run, &now)?,
    };
    let text = run_document::document(&before, run, &ctx.journal.facts_after(0));
    if text != before || !path.is_file() {
        let text = fields::set(&text, "lastUpdated", &format!("\"{now}\"")).unwrap_or(text);
        write_text(&ctx.project, &path, &text)?;
    }
    drop(ours);
    marker(ctx, run, &file, &now)
}

/// A new document with the policy pinned; not pinned if the skills that a pinned policy needs are not installed.
fn begin(ctx: &RunContext<'_>, run: &Run, now: &str) -> Result<String, Error> {
    hide(ctx)?;
    let stamp = Timestamp::now().to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let pinned = load::pin(&ctx.home, &stamp);
    let begun = match &pinned {
        Ok(snapshot) => Begun {
            now,
            policy_version: snapshot.version,
            snapshot_file: &snapshot.file,
            snapshot_hash: &snapshot.hash,
        },
        Err(_) => Begun { now, policy_version: 0, snapshot_file: "", snapshot_hash: "" },
    };
    let config = config(&run.plan);
    let mut text =
        state_template::fill(TEMPLATE, &config, &begun).unwrap_or_else(|_| TEMPLATE.to_owned());
    if pinned.is_err() {
        for (key, value) in [("policyVersion", "\"\""), ("legacyPolicy", "true")] {
            text = fields::set(&text, key, value).unwrap_or(text);
        }
    }
    Ok(text)
}

/// Excludes our own files from commits.
fn hide(ctx: &RunContext<'_>) -> Result<(), Error> {
    let Some(tree) = Tree::of(&ctx.project) else { return Ok(()) };
    tree.exclude(&format!("{FOLDER}/"))?;
    if let Ok(marker) = marker_path(&ctx.home).strip_prefix(&ctx.project) {
        tree.exclude(&marker.display().to_string())?;
    }
    Ok(())
}

/// The values for the state document, under the names of its template.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Filling {
    epic: String,
    epic_name: String,
    story_range: Vec<String>,
    status: &'static str,
    overrides: Overrides,
    agent_config: AgentConfig,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Overrides {
    skip_automate: bool,
    max_parallel: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentConfig {
    default_primary: String,
    default_fallback: bool,
    per_task: Map<String, Value>,
}

/// The agents of a step; `false` for no fallback.
#[derive(Serialize)]
struct TaskAgents {
    primary: String,
    fallback: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

fn config(plan: &Plan) -> Map<String, Value> {
    let crews = plan.items.first().map(|item| item.agents.clone()).unwrap_or_default();
    let entry = |crew: &AgentChoice| {
        value(&TaskAgents {
            primary: crew.primary.clone(),
            fallback: crew.fallback.clone().map_or(Value::Bool(false), Value::from),
            model: crew.model.clone(),
        })
    };
    let mut per_task: Map<String, Value> =
        crews.iter().map(|(step, crew)| (step.clone(), entry(crew))).collect();
    per_task.extend(plan.group_agents.iter().map(|(step, crew)| (step.clone(), entry(crew))));
    let epic = plan.groups().join(", ");
    let config = value(&Filling {
        epic_name: format!("Epic {epic}"),
        epic,
        story_range: plan.items.iter().map(|item| item.id.clone()).collect(),
        status: "READY",
        overrides: Overrides {
            skip_automate: plan.skip.contains(&"auto".to_owned()),
            max_parallel: plan.side_by_side.max(1),
        },
        agent_config: AgentConfig {
            default_primary: crews.get("dev").map_or("auto", |crew| &crew.primary).to_owned(),
            default_fallback: false,
            per_task,
        },
    });
    config.as_object().cloned().unwrap_or_default()
}

/// Serialises texts, numbers and maps of them, which cannot fail.
fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// The marker exists while the run is active; not while it waits for a person, and not when it is over.
fn marker(ctx: &RunContext<'_>, run: &Run, file: &str, now: &str) -> Result<(), Error> {
    let failed = |path: &Path| format!("write {}", path.display());
    let path = marker_path(&ctx.home);
    let there = run_marker::read(&ctx.home)
        .logged("read the marker of a run")
        .flatten()
        .and_then(|text| Marker::read(&text));
    let is_ours = there.as_ref().is_some_and(|marker| marker.state_file() == file);
    let left = i64::try_from(run_document::stories_left(run)).unwrap_or(i64::MAX);
    let goes_on = run.standing == Standing::Going && !run.is_held_up() && left > 0;
    if !goes_on {
        if is_ours {
            run_marker::remove(&ctx.home).map_err(Error::io(failed(&path)))?;
        }
        return Ok(());
    }
    let (story, _) = run_document::place(run).unwrap_or_default();
    let epic = run.plan.item(&story).and_then(|item| item.group.clone()).unwrap_or_default();
    let project_slug = slug(&ctx.project);
    let new = NewMarker {
        epic: &epic,
        story: &story,
        remaining: left,
        state_file: file,
        project_slug: &project_slug,
        pid: i64::from(std::process::id()),
        heartbeat: None,
    };
    let wanted = Marker::new(new, now);
    let same = |marker: &Marker| {
        let of = |marker: &Marker, key: &str| {
            serde_json::from_str::<Value>(&marker.text()).logged("read JSON").unwrap_or_default()
                [key]
                .clone()
        };
        let keys = ["currentStory", "storiesRemaining", "stateFile", "pid"];
        let heard: Option<Timestamp> =
            of(marker, "heartbeat").as_str().and_then(|t| t.parse().ok());
        let is_fresh = heard.is_some_and(|at| Timestamp::now().duration_since(at) < HEARTBEAT);
        is_fresh && keys.iter().all(|key| of(marker, key) == of(&wanted, key))
    };
    if there.as_ref().is_some_and(same) {
        return Ok(());
    }
    run_marker::create(&ctx.home, &wanted).map(drop).map_err(Error::io(failed(&path)))
}

/// The state document of an active run that is not dogwatch's.
pub(super) fn other_active_run(home: &dogwatch_bmad::Project) -> Option<String> {
    use dogwatch_bmad::format::marker::Age;
    let marker =
        Marker::read(&run_marker::read(home).logged("read the marker of a run").flatten()?)?;
    (marker.age(Timestamp::now()) == Age::Live).then(|| marker.state_file().to_owned())
}
