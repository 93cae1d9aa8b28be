//! Files that a policy names: finds and reads them, and compares them with the pinned ones.

use std::path::{Path, PathBuf};

use crate::format::slug::short_hash;
use crate::policy::fault::PolicyFault;
use crate::policy::pinned::BUILT_IN;
use crate::policy::{DataFile, Policy, bundled_file};
use serde_json::{Map, Value};

use crate::Project;
use crate::policy::load::{Need, text_of};
use crate::project::files::{is_below, tidy};
use crate::project::layout::{skill_roots, usual_skill_root};

const PORTABLE: &str = "<skills-root>/";
const KINDS: [&str; 4] = ["workflow", "instructions", "checklist", "template"];

/// A file that was found, and what it says.
struct Found {
    path: String,
    text: String,
}

/// Review contracts, which verifiers need too.
pub(crate) fn find_contract(project: &Project, policy: &mut Value) -> Result<(), PolicyFault> {
    for_each_step(policy, |_, step| keep(project, step, DataFile::Contract))
}

/// The files of every step, as far as they are needed.
pub(crate) fn resolve(
    project: &Project,
    policy: &mut Value,
    need: Need,
) -> Result<(), PolicyFault> {
    let known = Policy::new(policy.clone())?;
    for_each_step(policy, |name, step| {
        if need == Need::Skills {
            let assets = skill_files(project, &known, name)?;
            if let Some(kept) = step.get_mut("assets").and_then(Value::as_object_mut) {
                kept.insert("files".to_owned(), Value::Object(assets));
            }
        }
        let contract = known.step(name)?;
        if contract.data_file(DataFile::Template).is_empty() {
            return Err(PolicyFault::NoTemplate(name.to_owned()));
        }
        if contract.data_file(DataFile::Schema).is_empty() {
            return Err(PolicyFault::NoSchema(name.to_owned()));
        }
        keep(project, step, DataFile::Template)?;
        keep(project, step, DataFile::Schema)
    })
}

/// Steps in the order of execution, whatever the order in the policy.
fn for_each_step(
    policy: &mut Value,
    mut each: impl FnMut(&str, &mut Value) -> Result<(), PolicyFault>,
) -> Result<(), PolicyFault> {
    let Some(steps) = policy.get_mut("steps").and_then(Value::as_object_mut) else { return Ok(()) };
    for name in crate::policy::STEPS {
        if let Some(step) = steps.get_mut(name) {
            each(name, step)?;
        }
    }
    Ok(())
}

/// Stores path, hash and text of a named file beside its name. An existing text was pinned.
fn keep(project: &Project, step: &mut Value, file: DataFile) -> Result<(), PolicyFault> {
    let (part, word) = file.place();
    let Some(part) = step.get_mut(part).and_then(Value::as_object_mut) else { return Ok(()) };
    let (path_at, hash_at, text_at) =
        (format!("{word}Path"), format!("{word}Hash"), format!("{word}Text"));
    let name = part.get(&format!("{word}File")).and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() || part.contains_key(&text_at) {
        return Ok(());
    }
    let mut found = find(project, name)?;
    let pinned = part.get(&hash_at).and_then(Value::as_str).filter(|pinned| !pinned.is_empty());
    if let Some(pinned) = pinned.filter(|pinned| *pinned != short_hash(&found.text)) {
        // A run that began with another installation keeps using its files, while they are unchanged.
        let kept = part.get(&path_at).and_then(Value::as_str).map(Path::new);
        let kept = kept.map(|path| read(project, path)).transpose()?.flatten();
        let Some(kept) = kept.filter(|kept| pinned == short_hash(&kept.text)) else {
            let what = word.to_owned();
            return Err(PolicyFault::DataFileChanged { what, path: found.path });
        };
        found = kept;
    }
    let hash = short_hash(&found.text);
    part.insert(path_at, Value::from(found.path));
    part.insert(hash_at, Value::from(hash));
    part.insert(text_at, Value::from(found.text));
    Ok(())
}

/// Finds a data file: of the installed skill, built in, of the project, or of any skill.
fn find(project: &Project, name: &str) -> Result<Found, PolicyFault> {
    let missing = || PolicyFault::DataFileMissing(name.to_owned());
    let mut outside = false;
    if let Some(portable) = name.strip_prefix(PORTABLE) {
        for root in skill_roots(project) {
            let path = root.join(portable);
            if tidy(&path).starts_with(&root)
                && let Some(found) = read(project, &path)?
            {
                return Ok(found);
            }
        }
    } else {
        let mut roots: Vec<&Path> = project.own_skill.iter().map(PathBuf::as_path).collect();
        roots.push(&project.root);
        for (nth, root) in roots.iter().enumerate() {
            let path = root.join(name);
            if !is_below(&path, root) {
                outside = true;
                continue;
            }
            // Built-in files come before the project's, which may have a directory of that name by chance.
            if nth + 1 == roots.len() && bundled_file(name).is_some() {
                break;
            }
            if let Some(found) = read(project, &path)? {
                return Ok(found);
            }
        }
    }
    if let Some(text) = bundled_file(name) {
        return Ok(Found { path: format!("{BUILT_IN}{name}"), text: text.to_owned() });
    }
    let is_inside = name.starts_with(PORTABLE) || is_below(&project.root.join(name), &project.root);
    if outside && !is_inside {
        Err(PolicyFault::DataFileOutside(name.to_owned()))
    } else {
        Err(missing())
    }
}

fn read(project: &Project, path: &Path) -> Result<Option<Found>, PolicyFault> {
    let path_shown = || tidy(path).display().to_string();
    Ok(text_of(project, path)?.map(|text| Found { path: path_shown(), text }))
}

/// The files of a step's skill, as paths for an agent in the project.
fn skill_files(
    project: &Project,
    policy: &Policy,
    name: &str,
) -> Result<Map<String, Value>, PolicyFault> {
    let step = policy.step(name)?;
    let skill = step.skill_name();
    if skill.is_empty() {
        return Err(PolicyFault::NoSkillName(name.to_owned()));
    }
    if skill.contains(['/', '\\']) || skill == ".." || skill == "." {
        return Err(PolicyFault::SkillName(skill.to_owned()));
    }
    let mut files = Map::from_iter([("skill".to_owned(), Value::from(""))]);
    files.extend(KINDS.iter().map(|kind| ((*kind).to_owned(), Value::from(""))));
    let mut roots = skill_roots(project).into_iter().map(|root| root.join(skill));
    let found = roots.find(|folder| folder.join("SKILL.md").is_file());
    let folder = found.clone().unwrap_or_else(|| usual_skill_root(project).join(skill));
    let missing = |kind: &str, looked_for: Vec<PathBuf>| PolicyFault::AssetMissing {
        kind: kind.to_owned(),
        step: name.to_owned(),
        looked_for: looked_for.iter().map(|path| path.display().to_string()).collect(),
    };
    if found.is_some() {
        files.insert("skill".to_owned(), Value::from(shown(project, &folder.join("SKILL.md"))));
    } else if step.requires("skill") {
        return Err(missing("skill", vec![folder.join("SKILL.md")]));
    }
    for kind in KINDS {
        let candidates: Vec<PathBuf> =
            step.candidates(kind).iter().map(|file| folder.join(file)).collect();
        let file = candidates.iter().find(|file| is_below(file, &folder) && file.is_file());
        if let Some(file) = file {
            files.insert(kind.to_owned(), Value::from(shown(project, file)));
        } else if step.requires(kind) && kind == "workflow" && found.is_some() {
            // A skill without a workflow file is its own workflow.
            files.insert(kind.to_owned(), files["skill"].clone());
        } else if step.requires(kind) {
            return Err(missing(kind, candidates));
        }
    }
    if found.is_none() {
        // A directory without SKILL.md is not a skill.
        files.values_mut().for_each(|file| *file = Value::from(""));
    }
    Ok(files)
}

fn shown(project: &Project, path: &Path) -> String {
    path.strip_prefix(&project.root).unwrap_or(path).display().to_string()
}
