//! Keeps what was seen of a session in a folder that can be sent to somebody.

pub mod materials;

use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::mask::{self, Known, Masks};
use dogwatch_core::recording::{self, Evidence, Meta};
use dogwatch_core::screen::{self, grid::Grid};
use dogwatch_core::status::Source;
use dogwatch_protocol::bug_report::RecordedSignal;
use dogwatch_protocol::status::StatusReport;
use dogwatch_store::keep_record;
use serde_json::Value;

use crate::actions::bug_report::materials::Materials;
use crate::observe::files;
use crate::{Context, Error};

/// More than any file of a session's folder has.
const MAX_FILE: u64 = 1024 * 1024;

/// What the caller knows of the machine and its user.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The user, the host, the machine.
    pub names: Vec<String>,
    pub variables: Vec<(String, String)>,
}

/// A recording that was written.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub folder: PathBuf,
    pub meta: Meta,
}

/// Writes the recording into `parent`, under `name` or a numbered one. `verdict` is the verdict in the shape in which it
/// is published.
pub fn record(
    context: &Context,
    materials: &Materials,
    verdict: &StatusReport,
    around: &Surroundings,
    (parent, name): (&Path, &str),
) -> Result<Recorded, Error> {
    let masks = Masks::new(known(context, materials, around));
    let mut meta = meta(materials);
    let mut files: Vec<(&str, Vec<u8>)> = Vec::new();
    if let Some(screen) = &materials.screen {
        let text = String::from_utf8_lossy(&screen.text);
        let masked = masks.screen(&text, meta.width.unwrap_or(0).into());
        let title = meta.pane_title.as_ref().map(|title| masks.screen(title, 0));
        meta.screen_alone = screen::markers(&meta.agent).map(|_| {
            let before = screen::read(&meta.agent, &recording::screen(&meta, text.as_bytes()));
            meta.pane_title.clone_from(&title);
            let after = screen::read(&meta.agent, &recording::screen(&meta, masked.as_bytes()));
            recording::compare(&before, &after)
        });
        meta.pane_title = title;
        meta.file = Some(recording::SCREEN.to_owned());
        files.push((recording::SCREEN, plain(&masked)));
        files.push((recording::STYLED_SCREEN, masked.into_bytes()));
    }
    files.push((
        recording::VERDICT,
        written(
            &masks.json(serde_json::to_value(verdict).logged("write JSON").unwrap_or_default()),
        ),
    ));
    let signals = materials.signals.iter().map(|signal| {
        let payload = serde_json::from_str(&signal.payload);
        let payload = payload.unwrap_or_else(|_| Value::from(signal.payload.as_str()));
        let line = RecordedSignal {
            at: signal.at,
            agent: signal.agent.clone(),
            event: signal.event.clone(),
            spooled: signal.spooled,
            payload,
        };
        let line = serde_json::to_value(line).logged("write JSON").unwrap_or_default();
        format!("{}\n", masks.json(line))
    });
    files.push((recording::SIGNALS, signals.collect::<String>().into_bytes()));
    if let Some(transcript) = &materials.transcript {
        files.push((recording::TRANSCRIPT, masks.json_lines(transcript).into_bytes()));
    }
    let state = materials.agent_state.as_ref();
    if let Some(state) = state.and_then(|bytes| serde_json::from_slice(bytes).logged("read JSON")) {
        files.push((recording::AGENT_STATE, written(&masks.json(state))));
    }
    meta.files = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    let value = serde_json::to_value(&meta).logged("write JSON").unwrap_or_default();
    files.push((recording::META, written(&masks.json(value))));
    let folder = keep_record(parent, name, &files)?;
    Ok(Recorded { folder, meta })
}

/// Everything that is known to be private here.
fn known(context: &Context, materials: &Materials, around: &Surroundings) -> Known {
    let both = || around.variables.iter().chain(&materials.environment);
    let named = |wanted: &[&str]| -> Vec<String> {
        let found = both().filter(|(name, _)| wanted.contains(&name.as_str()));
        found.map(|(_, value)| value.clone()).collect()
    };
    let mut homes = named(&["HOME"]);
    homes.extend(context.home.iter().map(|home| home.to_string_lossy().into_owned()));
    let resolved: Vec<PathBuf> = homes
        .iter()
        .filter_map(|home| Path::new(home).canonicalize().logged_unless_missing("resolve a path"))
        .collect();
    homes.extend(resolved.iter().map(|home| home.to_string_lossy().into_owned()));
    let mut names = around.names.clone();
    names.extend(named(&["USER", "LOGNAME"]));
    names.extend(
        homes
            .iter()
            .filter_map(|home| Some(Path::new(home).file_name()?.to_string_lossy().into_owned())),
    );
    let mut secrets =
        mask::secret_values(both().map(|(name, value)| (name.as_str(), value.as_str())));
    secrets.extend(session_secrets(context, materials));
    Known { homes, names, secrets }
}

/// Passwords that dogwatch itself made up for the session.
fn session_secrets(context: &Context, materials: &Materials) -> Vec<String> {
    let folder = context.state.session(&materials.judged.seen.session.id);
    let written = materials.profile.iter().flat_map(|profile| &profile.files);
    let secrets = written.filter_map(|file| {
        let bytes = files::read_regular(&folder.path().join(&file.name), MAX_FILE)?;
        Some(mask::secrets_of(&serde_json::from_slice(&bytes).logged("read JSON")?))
    });
    secrets.flatten().collect()
}

/// The facts, not masked yet.
fn meta(materials: &Materials) -> Meta {
    let session = &materials.judged.seen.session;
    let life = &materials.judged.seen.life;
    let verdict = &materials.judged.verdict;
    let said_at = |source: Source| verdict.reasons.iter().find(|r| r.source == source)?.at;
    let pane = materials.pane.as_ref();
    let row = pane.map(|pane| &pane.face.row);
    let path = |path: &Path| path.to_string_lossy().into_owned();
    Meta {
        format: recording::FORMAT,
        recorded: materials.at,
        dogwatch: env!("CARGO_PKG_VERSION").to_owned(),
        tmux: row.and_then(|row| row.version.as_ref()).map(ToString::to_string),
        os: std::env::consts::OS.to_owned(),
        id: session.id.to_string(),
        name: session.name.clone(),
        agent: session.agent.clone(),
        version: materials.version.clone(),
        state: verdict.status.as_str().to_owned(),
        truth: String::new(),
        description: String::new(),
        file: None,
        screen_from: materials.screen.as_ref().map(|screen| screen.from.as_str().to_owned()),
        width: row.map(|row| row.width),
        height: row.map(|row| row.height),
        pane_title: pane.map(|pane| pane.face.title.clone()),
        alternate_screen: row.map(|row| row.alternate_on),
        pane_dead: row.map(|row| row.dead),
        pane_dead_status: row.and_then(|row| row.dead_status),
        pane_dead_signal: row.and_then(|row| row.dead_signal),
        pane_current_command: pane.and_then(|pane| pane.command.clone()),
        cursor: pane.and_then(|pane| pane.cursor),
        history_size: pane.and_then(|pane| pane.history),
        captured_history: 0,
        screen_alone: None,
        session: recording::Session {
            created: session.created,
            started: session.started().cloned(),
            ended: session.ended().cloned(),
            project: path(&session.project),
            cwd: path(&session.cwd),
            model: session.model.clone(),
            conversation: session.conversation.clone(),
            command: session.command.clone(),
        },
        evidence: Evidence {
            now: materials.at,
            life: life.state.as_str().to_owned(),
            life_reason: life.reason.clone(),
            life_since: life.since,
            prompted: materials.prompted,
            stopped: materials.stopped,
            clock: said_at(Source::Clock),
            moved: said_at(Source::Process),
        },
        files: Vec::new(),
    }
}

/// The rows as they are read, without attributes.
fn plain(styled: &str) -> Vec<u8> {
    let grid = Grid::parse(styled.as_bytes());
    grid.rows().iter().flat_map(|row| [row.text(), "\n"]).collect::<String>().into_bytes()
}

fn written(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
