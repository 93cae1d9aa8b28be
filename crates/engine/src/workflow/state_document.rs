//! What others see of a run of stories: the state document and the marker, as the original keeps them. Both follow from the
//! journal, so whoever comes after us puts right what we were killed over.

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
/// A run that was not heard of for half an hour counts as gone.
const HEARTBEAT: SignedDuration = SignedDuration::from_mins(1);

/// Where the document of a run that begins now will be, from the project's root.
pub(super) fn new_document(plan: &Plan, now: Timestamp) -> String {
    let epic = Value::from(plan.groups().join("-"));
    let stamp = now.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S");
    format!("{FOLDER}/orchestration-{}-{stamp}.md", epic_slug(Some(&epic)))
}

/// A link of the project's where document or marker would be is found before the run begins.
pub(super) fn must_be_reached(home: &dogwatch_bmad::Project) -> Result<(), Error> {
    for path in [home.root.join(FOLDER).join("x"), marker_path(home)] {
        ProjectFile::named(Some(&home.root), &path)
            .and_then(|file| file.must_be_reached())
            .map_err(Error::io(format!("write below {}", home.root.display())))?;
    }
    Ok(())
}

/// Brings document and marker up to date.
pub(super) fn keep(site: &RunContext<'_>, run: &Run) -> Result<(), Error> {
    let Some(file) = site.settings.state_file.clone().filter(|_| site.settings.is_bmad) else {
        return Ok(());
    };
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let path = site.project.join(&file);
    // Helpers of the run update it too.
    let ours = one_at_a_time(&site.project, &path)?;
    let before = match read_text_to_change(&site.project, &path)? {
        Some(text) => text,
        None => begin(site, run, &now)?,
    };
    let text = run_document::document(&before, run, &site.journal.facts_after(0));
    if text != before || !path.is_file() {
        let text = fields::set(&text, "lastUpdated", &format!("\"{now}\"")).unwrap_or(text);
        write_text(&site.project, &path, &text)?;
    }
    drop(ours);
    marker(site, run, &file, &now)
}

/// A document with the policy pinned; without one if the skills are not installed that a pinned policy must have.
fn begin(site: &RunContext<'_>, run: &Run, now: &str) -> Result<String, Error> {
    hide(site)?;
    let stamp = Timestamp::now().to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let pinned = load::pin(&site.home, &stamp);
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

/// Our own files are in no commit.
fn hide(site: &RunContext<'_>) -> Result<(), Error> {
    let Some(tree) = Tree::of(&site.project) else { return Ok(()) };
    tree.exclude(&format!("{FOLDER}/"))?;
    if let Ok(marker) = marker_path(&site.home).strip_prefix(&site.project) {
        tree.exclude(&marker.display().to_string())?;
    }
    Ok(())
}

/// What the state document is filled with, in the words of its template.
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

/// Who does a step; no fallback is `false`.
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

/// Texts, numbers and maps of them: nothing in it can fail.
fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// While the run goes on its marker says so; while a person is waited for, or when it is over, there is none.
fn marker(site: &RunContext<'_>, run: &Run, file: &str, now: &str) -> Result<(), Error> {
    let failed = |path: &Path| format!("write {}", path.display());
    let path = marker_path(&site.home);
    let there = run_marker::read(&site.home)
        .logged("read the marker of a run")
        .flatten()
        .and_then(|text| Marker::read(&text));
    let is_ours = there.as_ref().is_some_and(|marker| marker.state_file() == file);
    let left = i64::try_from(run_document::stories_left(run)).unwrap_or(i64::MAX);
    let goes_on = run.standing == Standing::Going && !run.is_held_up() && left > 0;
    if !goes_on {
        if is_ours {
            run_marker::remove(&site.home).map_err(Error::io(failed(&path)))?;
        }
        return Ok(());
    }
    let (story, _) = run_document::place(run).unwrap_or_default();
    let epic = run.plan.item(&story).and_then(|item| item.group.clone()).unwrap_or_default();
    let project_slug = slug(&site.project);
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
    run_marker::create(&site.home, &wanted).map(drop).map_err(Error::io(failed(&path)))
}

/// The state document of another's run that is heard of right now.
pub(super) fn somebody_elses(home: &dogwatch_bmad::Project) -> Option<String> {
    use dogwatch_bmad::format::marker::Age;
    let marker =
        Marker::read(&run_marker::read(home).logged("read the marker of a run").flatten()?)?;
    (marker.age(Timestamp::now()) == Age::Live).then(|| marker.state_file().to_owned())
}
