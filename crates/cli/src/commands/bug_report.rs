use std::path::{Path, PathBuf};

use dogwatch_core::exit_code;
use dogwatch_core::recording::ScreenAlone;
use dogwatch_engine::actions::bug_report;
use dogwatch_engine::actions::bug_report::materials;
use dogwatch_engine::error::SessionError;
use dogwatch_engine::observe::listing;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::tools;
use dogwatch_store::ProjectFile;
use jiff::Timestamp;

use crate::args::BugReport;
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn bug_report(context: &Context, args: &BugReport) -> Result<u8, Error> {
    let given = args.out.as_deref().map(place).transpose()?;
    let materials = materials::look(context, &args.session, Timestamp::now())?;
    let session = &materials.judged.seen.session;
    let (parent, name) = if let Some(place) = given {
        place
    } else {
        let time = environment::local_time().strftime("%y%m%d-%H%M%S").to_string();
        // The name of an unmanaged session may contain anything.
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let name = session.name.replace(|c| !allowed(c), "-");
        (context.state.records()?, format!("{name}-{time}"))
    };
    let verdict = listing::report(&materials.judged);
    let around = environment::surroundings();
    let recorded = bug_report::record(context, &materials, &verdict, &around, (&parent, &name))?;
    let alone = recorded.meta.screen_alone.as_ref();
    if ui::prints_json() {
        ui::json(&tools::BugReport {
            name: session.name.clone(),
            id: session.id.clone(),
            state: recorded.meta.state.clone(),
            folder: ui::path(&recorded.folder),
            files: recorded.meta.files.clone(),
            screen_alone: alone.cloned(),
        });
        return Ok(exit_code::OK);
    }
    ui::line(recorded.folder.display());
    match alone {
        Some(ScreenAlone { same: true, after, .. }) => {
            ui::talk(format_args!(
                "masking did not change the status read from the screen ({after})"
            ));
        }
        Some(ScreenAlone { before, after, .. }) => ui::talk(format_args!(
            "warning: masking changed the status read from the screen from {before} to {after}"
        )),
        None => {}
    }
    ui::talk(
        "note: the folder contains what the agent wrote and read; review it before you send it",
    );
    Ok(exit_code::OK)
}

/// The parent directory of the report, and its name.
fn place(out: &Path) -> Result<(PathBuf, String), Error> {
    let Some(name) = out.file_name().and_then(|name| name.to_str()) else {
        return Err(UsageError::NotAFolderName { path: out.to_owned() }.into());
    };
    // Refuses links of a repository.
    ProjectFile::named(None, out)
        .and_then(|file| file.must_be_reached())
        .map_err(Error::io(format!("make {}", out.display())))?;
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).to_owned();
    let Ok(parent) = parent.canonicalize() else {
        return Err(SessionError::NoSuchFolder { path: parent }.into());
    };
    Ok((parent, name.to_owned()))
}
