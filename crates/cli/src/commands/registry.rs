use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_core::registry::{
    Entry, InPane, Observed, Registry, Status, TerminatedBy, TmuxServer,
};
use dogwatch_engine::registry::ManagedRegistry;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::registry as printed;
use jiff::Timestamp;

use crate::args::RegistryArgs;
use crate::table::Cell;
use crate::{environment, report, ui};

pub(crate) fn registry(context: &Context, args: &RegistryArgs) -> Result<u8, Error> {
    let args = args.list();
    let managed = environment::managed_registry(context, &args.which_registry, false)?;
    let mut store = context.store()?;
    let (registry, trouble) = match managed.read() {
        Ok(registry) => (registry, None),
        // What is running can be listed without the file.
        Err(error) => (Registry::default(), Some(error)),
    };
    let observed = managed.observe(&mut store, &registry)?;
    let rows = rows(&registry, &observed);
    if ui::prints_json() {
        ui::json(&printed::Registry {
            registry: ui::path(managed.file.path()),
            sessions: rows.iter().map(Row::shape).collect(),
            error: trouble.as_ref().map(report::detail),
        });
    } else {
        // An unreadable file is not an empty one.
        if trouble.is_none() || !rows.is_empty() {
            print(&managed, &rows);
        }
        if let Some(error) = &trouble {
            ui::talk(format_args!("error: {error}"));
        }
    }
    Ok(trouble.as_ref().map_or(exit_code::OK, Error::exit_code))
}

/// A session in the file, or one that belongs in it.
struct Row<'a> {
    name: &'a str,
    entry: Option<&'a Entry>,
    agent: &'a str,
    seen: &'static str,
    cwd: &'a str,
    conversation: Option<&'a str>,
}

fn rows<'a>(registry: &'a Registry, observed: &'a Observed) -> Vec<Row<'a>> {
    let listed = registry.sessions.iter().map(|(name, entry)| Row {
        name,
        entry: Some(entry),
        agent: &entry.agent,
        seen: seen(observed, name, entry),
        cwd: entry.cwd.as_deref().unwrap_or_default(),
        conversation: entry.conversation(),
    });
    let others =
        observed.sessions.iter().filter(|(name, _)| !registry.sessions.contains_key(*name));
    let others = others.filter_map(|(name, session)| {
        let pane = session.panes.iter().find(|pane| !pane.dead)?;
        let InPane::Runs(agent) = &pane.agent else { return None };
        let conversation = pane.conversation.as_deref();
        Some(Row { name, entry: None, agent, seen: "alive", cwd: &pane.cwd, conversation })
    });
    listed.chain(others).collect()
}

/// The state of a session in tmux.
fn seen(observed: &Observed, name: &str, entry: &Entry) -> &'static str {
    let is_elsewhere =
        |said: &Option<String>, here: &str| said.as_deref().is_some_and(|s| s != here);
    if is_elsewhere(&entry.host, &observed.host) || is_elsewhere(&entry.socket, &observed.socket) {
        return "elsewhere";
    }
    if observed.server == TmuxServer::Unreachable {
        return "unknown";
    }
    let panes = || observed.sessions.get(name).into_iter().flat_map(|session| &session.panes);
    let living = || panes().filter(|pane| !pane.dead);
    let no_agent = living().all(|pane| pane.agent == InPane::NoAgent);
    match living().count() {
        0 => "gone",
        _ if no_agent && observed.agents.contains(&entry.agent) => "agent gone",
        _ => "alive",
    }
}

fn print(managed: &ManagedRegistry<'_>, rows: &[Row<'_>]) {
    if rows.is_empty() {
        let path = ui::short_path(managed.file.path());
        ui::talk(format_args!(
            "the registry is empty ({path}); to add a session: dogwatch create claude"
        ));
        return;
    }
    let now = Timestamp::now();
    let mut table = ui::table(&[
        "NAME",
        "AGENT",
        "REGISTRY",
        "TMUX",
        "SINCE",
        "WORKSPACE",
        "CONVERSATION",
        "FOLDER",
    ]);
    for row in rows {
        let since = row.entry.and_then(|entry| entry.terminated_at.or(entry.begun()));
        let colour = match (row.status(), row.seen) {
            ("running", "alive") => AnsiColor::Green,
            ("terminated", "gone") => AnsiColor::Blue,
            (_, "elsewhere" | "unknown") => AnsiColor::Yellow,
            _ => AnsiColor::Red,
        };
        let text = |text: &str| ui::harmless(text.to_owned()).replace('\n', " ");
        table.row([
            text(row.name).into(),
            text(row.agent).into(),
            row.status().into(),
            Cell::painted(row.seen, colour),
            since.map(|since| ui::age(since, now)).unwrap_or_default().into(),
            text(row.entry.and_then(|entry| entry.workspace.as_deref()).unwrap_or_default()).into(),
            text(row.conversation.unwrap_or("-")).into(),
            text(&ui::short_path(row.cwd.as_ref())).into(),
        ]);
    }
    ui::line(table);
}

impl Row<'_> {
    fn status(&self) -> &'static str {
        match self.entry.map(|entry| &entry.status) {
            Some(Status::Running) => "running",
            Some(Status::Terminated) => "terminated",
            Some(Status::Other) => "other",
            None => "not listed",
        }
    }

    fn shape(&self) -> printed::Row {
        let entry = self.entry;
        let text = |field: fn(&Entry) -> Option<&str>| entry.and_then(field).map(ToOwned::to_owned);
        printed::Row {
            name: self.name.to_owned(),
            agent: self.agent.to_owned(),
            listed: entry.is_some(),
            status: entry.map(|_| self.status().to_owned()),
            seen: self.seen.replace(' ', "_"),
            workspace: text(|entry| entry.workspace.as_deref()),
            role: text(|entry| entry.role.as_deref()),
            cwd: self.cwd.to_owned(),
            conversation: self.conversation.map(ToOwned::to_owned),
            created_at: entry.and_then(|entry| entry.created_at),
            terminated_at: entry.and_then(|entry| entry.terminated_at),
            termination_mode: text(|entry| entry.terminated_by.map(TerminatedBy::as_str)),
            last_visible_status: text(|entry| entry.last_visible_status.as_deref()),
            delegate_job_id: text(|entry| entry.job.as_deref()),
        }
    }
}
