//! `marker …`: the marker of an active run, and its entry in `.gitignore`.

use std::path::Path;

use crate::answers::{BadEntry, Ignored, MarkerCheck, MarkerPath, failure, success};
use dogwatch_bmad::format::marker::{Marker, NewMarker};
use dogwatch_bmad::project::run_marker::{self, Heard};
use dogwatch_bmad::{Project, marker_path};

use super::{Call, Reply, no, project, trouble};

const USAGE: &str =
    "Usage: orchestrator-helper marker <path|create|remove|check|heartbeat> [args]\n";

pub(super) fn answer(call: &Call) -> Reply {
    let Some((action, rest)) = call.split() else { return Reply::refused(USAGE) };
    let project = project::here();
    match action {
        "--help" | "-h" => Reply::text(USAGE),
        "path" => path(&project),
        "create" => create(&project, &rest),
        "remove" => match run_marker::remove(&project) {
            Ok(()) => Reply::line("Marker removed"),
            Err(error) => trouble(call, error),
        },
        "check" => check(&project, call),
        "heartbeat" => heartbeat(&project, call),
        _ => Reply::refused(USAGE),
    }
}

fn path(project: &Project) -> Reply {
    let file = marker_path(project);
    let entry = file.strip_prefix(&project.root).unwrap_or(&file);
    Reply::json(&MarkerPath {
        file: file.display().to_string(),
        entry: entry.display().to_string(),
    })
}

fn create(project: &Project, call: &Call) -> Reply {
    let given = |name: &str| call.option(name).unwrap_or_default();
    let number = |name: &str| given(name).trim().parse().unwrap_or(0);
    let new = NewMarker {
        epic: given("--epic"),
        story: given("--story"),
        remaining: number("--remaining"),
        state_file: given("--state-file"),
        project_slug: given("--project-slug"),
        pid: number("--pid"),
        heartbeat: call.option("--heartbeat").filter(|time| !time.is_empty()),
    };
    let marker = Marker::new(new, &project::now());
    let file = marker_path(project).display().to_string();
    match run_marker::create(project, &marker) {
        Ok(replaced) => {
            let mut reply = Reply::line(format!("Marker created: {file}"));
            if replaced {
                reply.stderr = format!(
                    "{file} was that of another run, heard of within the last half hour; it was replaced\n"
                );
            }
            reply
        }
        Err(error) => trouble(call, error),
    }
}

fn check(project: &Project, call: &Call) -> Reply {
    match run_marker::read(project) {
        Ok(None) => Reply::json(&MarkerCheck { exists: false, file: None, error: None }),
        Ok(Some(text)) => {
            let file = marker_path(project).display().to_string();
            let mut reply =
                Reply::json(&MarkerCheck { exists: true, file: Some(file), error: None });
            reply.stdout.push_str(&text);
            reply
        }
        Err(error) => trouble(call, error),
    }
}

fn heartbeat(project: &Project, call: &Call) -> Reply {
    let now = project::now();
    match run_marker::heartbeat(project, &now) {
        Ok(Heard::Updated) => Reply::line(format!("Heartbeat updated: {now}")),
        Ok(Heard::NoMarker) => Reply::line("No marker file to update").failed(),
        Ok(Heard::Corrupt) => {
            let error = Some("marker_corrupt");
            Reply::json(&MarkerCheck { exists: true, file: None, error }).failed()
        }
        Err(error) => trouble(call, error),
    }
}

/// `ensure-marker-gitignore --gitignore FILE --entry NAME`
pub(super) fn ignore(call: &Call) -> Reply {
    let given = |name: &str| call.option(name).filter(|value| !value.trim().is_empty());
    let (Some(file), Some(entry)) = (given("--gitignore"), given("--entry")) else {
        return no("missing_args");
    };
    if entry.contains(['\n', '\r']) {
        return Reply::json(&failure("invalid_entry", BadEntry { entry })).failed();
    }
    match run_marker::ignore(&call.project(), Path::new(file), entry.trim()) {
        Ok(changed) => Reply::json(&success(Ignored { changed, path: file })),
        Err(error) => trouble(call, error),
    }
}
