use dogwatch_core::exit_code;
use dogwatch_engine::actions::spawn::{Place, Request, What};
use dogwatch_engine::observe::listing;
use dogwatch_engine::registry::create::{self, Creation};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::registry::Created;

use crate::args::Create;
use crate::commands::{job, spawn};
use crate::{environment, ui};

pub(crate) fn create(context: &Context, args: Create) -> Result<u8, Error> {
    let managed = environment::managed_registry(context, &args.which_registry, false)?;
    let here = environment::current_dir()?;
    let cwd = args.cwd.map_or_else(|| here.clone(), |dir| here.join(dir));
    let cwd = cwd.canonicalize().unwrap_or(cwd);
    let project = environment::project_of(&cwd);
    let workspace = args.workspace.unwrap_or_else(|| workspace(&project));
    let request = Request {
        what: What::Agent { name: args.agent, extra_args: args.args },
        prompt: args.prompt,
        name: args.name,
        story: None,
        project,
        cwd,
        model: args.model,
        resume: None,
        unattended: args.unattended,
        env: spawn::variables(&args.env)?,
        caller_env: std::env::vars_os().collect(),
        place: Place::OwnSession,
        tags: Vec::new(),
        membership: None,
        when_limited: None,
        subscriber: None,
    };
    let creation = Creation { request, workspace, role: args.role };
    let spawned = create::create(&managed, &creation, &environment::local_time())?;
    let job = args
        .submit_job
        .map(|prompt| create::submit_job(&managed, &spawned, &prompt, args.timeout))
        .transpose()?;
    if let Some(trouble) = job.as_ref().and_then(|submitted| submitted.trouble.as_ref()) {
        ui::talk(format_args!("warning: the job is not delivered yet: {trouble}"));
    }
    if ui::prints_json() {
        ui::json(&Created {
            spawned: spawn::shape(&spawned),
            workspace: creation.workspace,
            registry: ui::path(managed.file.path()),
            job: job.as_ref().map(|submitted| listing::brief(&submitted.job)),
        });
    } else {
        ui::line(&spawned.name);
    }
    Ok(job.map_or(exit_code::OK, |submitted| job::code_of_submitted(&submitted.job)))
}

/// The name of the project's directory, as far as a session's name can contain it.
fn workspace(project: &std::path::Path) -> String {
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(allowed).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "project".to_owned() } else { name.to_owned() }
}
