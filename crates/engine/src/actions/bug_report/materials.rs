//! All that was seen of one session, as it is: what a recording is made of.

use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_core::launch;
use dogwatch_core::profile::Profile;
use dogwatch_store::Signal;
use dogwatch_tmux::{Command, PaneFace, PaneId};
use jiff::Timestamp;
use serde_json::Value;

use crate::observe::capture::Screen;
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::{agents, capture, processes, self_report, transcripts};
use crate::{Context, Error};

/// How much of a transcript's end is taken.
const TRANSCRIPT: u64 = 256 * 1024;
/// Rows taken of a kept screen, if nobody knows how high the pane was.
const KEPT_ROWS: u32 = 200;

#[derive(Debug, Clone)]
pub struct Materials {
    pub at: Timestamp,
    pub judged: SessionStatus,
    pub profile: Option<Profile>,
    pub version: Option<String>,
    pub pane: Option<Pane>,
    pub screen: Option<Screen>,
    pub signals: Vec<Signal>,
    pub transcript: Option<String>,
    /// What the agent has written of itself.
    pub agent_state: Option<Vec<u8>>,
    /// The agent's own environment, as long as it lives.
    pub environment: Vec<(String, String)>,
    /// It was given a prompt.
    pub prompted: bool,
    pub stopped: bool,
}

/// The pane as tmux describes it.
#[derive(Debug, Clone)]
pub struct Pane {
    pub face: PaneFace,
    pub cursor: Option<(u16, u16)>,
    pub history: Option<u32>,
    pub command: Option<String>,
}

/// Looks at everything, once. The screen is the one that the verdict was made from.
pub fn look(context: &Context, target: &str, now: Timestamp) -> Result<Materials, Error> {
    let mut reader = StatusReader::new(context)?;
    let (judged, sights) = reader.one_and_its_sight(target, now)?;
    let seen = &judged.seen;
    seen.must_be_known()?;
    let id = seen.pane_id();
    let picture = id.zip(sights.as_ref()).and_then(|(id, sights)| sights.picture(id));
    let mut screen =
        picture.map(|(_, text)| Screen { from: capture::From::Pane, text: text.to_vec() });
    let pane = picture.map(|(face, _)| describe(context, face));
    if seen.pane.is_none_or(|pane| pane.dead) {
        // tmux writes a line of its own into a dead pane.
        let rows = pane.as_ref().map_or(KEPT_ROWS, |pane| pane.face.row.height.into());
        screen = capture::kept(context, &seen.session.id, rows).or(screen);
    }
    let signals = reader.store.signals(&seen.session.id)?;
    let profile = agents::profile(context, &seen.session.agent).logged("read an agent's profile");
    let agent = seen.session.started().map(|s| s.agent).filter(|a| processes::is_alive(*a));
    let way = profile.as_ref().and_then(|profile| profile.own_word);
    let agent_state = agent
        .zip(way)
        .and_then(|(agent, way)| self_report::raw(context, &seen.session.id, way, agent));
    let folder = context.state.session(&seen.session.id);
    Ok(Materials {
        at: now,
        version: version(seen, profile.as_ref(), agent_state.as_deref()),
        transcript: transcript(context, seen, profile.as_ref(), &signals),
        environment: agent.map(|agent| processes::environment(agent.pid)).unwrap_or_default(),
        prompted: folder.path().join(launch::PROMPT_FILE).exists(),
        stopped: agent.is_some_and(|agent| processes::pulse(agent.pid).is_some_and(|p| p.stopped)),
        judged,
        profile,
        pane,
        screen,
        signals,
        agent_state,
    })
}

/// The rest of what tmux knows of a pane. It may be gone by now: then that is not known.
fn describe(context: &Context, face: &PaneFace) -> Pane {
    let more = "#{cursor_x} #{cursor_y} #{history_size} #{pane_current_command}";
    let ask = |id: PaneId| {
        Some(
            context
                .tmux
                .run_one(Command::about_pane(id, more))
                .logged("ask tmux")?
                .first_line()
                .into_owned(),
        )
    };
    let answer = ask(face.row.pane_id).unwrap_or_default();
    let mut words = answer.splitn(4, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
    let (column, row, history) = (number(), number(), number());
    let small = |number: Option<u32>| number.and_then(|n| u16::try_from(n).ok());
    Pane {
        face: face.clone(),
        cursor: small(column).zip(small(row)),
        history,
        command: words.next().map(ToOwned::to_owned),
    }
}

/// The version of the very process if it tells, else of the program that was started.
fn version(
    seen: &SessionSnapshot,
    profile: Option<&Profile>,
    agent_state: Option<&[u8]>,
) -> Option<String> {
    let told =
        agent_state.and_then(|bytes| serde_json::from_slice::<Value>(bytes).logged("read JSON"));
    let told = told.and_then(|state| Some(state["version"].as_str()?.to_owned()));
    told.or_else(|| {
        let name = |path: &str| Some(Path::new(path).file_name()?.to_owned());
        let program = name(&profile?.program)?;
        // Another one's may be behind an interpreter.
        let mut words = seen.session.command.iter().take(3);
        agents::version(
            words.find(|word| name(word).as_ref() == Some(&program))?.as_ref(),
            profile?,
        )
    })
}

fn transcript(
    context: &Context,
    seen: &SessionSnapshot,
    profile: Option<&Profile>,
    signals: &[Signal],
) -> Option<String> {
    let told = transcripts::path_told(signals);
    let path = transcripts::locate(context, &seen.session, profile?.transcript.as_ref()?, told)?;
    transcripts::last_lines(&path, TRANSCRIPT)
}
