//! What tmux shows: which panes there are, and what is on them. By a process, or by a line that is open already.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use dogwatch_tmux::control::Control;
use dogwatch_tmux::{
    CaptureOptions, Command, Error, Glance, PaneFace, PaneGlance, PaneId, Reply, RowQuery, Server,
};

use crate::sense::evidence::PaneSight;
use crate::sense::screens;
use crate::snapshot::Seen;

/// tmux takes no more than 16 kB of words from one process.
const CAPTURES_PER_PROCESS: usize = 100;

/// All panes, and the text of some.
#[derive(Debug, Clone)]
pub struct Sights {
    pub glance: Glance,
    pub faces: Vec<PaneFace>,
    texts: HashMap<PaneId, Reply>,
}

impl Sights {
    /// From as few processes as it takes: one, unless a pane went away that moment.
    pub fn by_process(server: &Server, wanted: &[PaneId]) -> Result<Self, Error> {
        let first = &wanted[..wanted.len().min(CAPTURES_PER_PROCESS)];
        let query = RowQuery::new();
        let mut commands = vec![Glance::server_command(), query.faces_command()];
        let fixed = commands.len();
        commands.extend(first.iter().map(|pane| how().command(*pane)));
        let replies = match server.run(&commands) {
            // A pane that is gone ends the chain; those that are there are asked again below.
            Err(Error::NotFound { .. }) => server.run(&commands[..fixed])?,
            replies => replies?,
        };
        let faces = replies.get(1).map(|r| query.parse_faces(r)).transpose()?.unwrap_or_default();
        let glance = Glance::of_server(replies.first(), glances(&faces))?;
        let texts = first.iter().copied().zip(replies.into_iter().skip(fixed)).collect();
        let mut sights = Self { glance, faces, texts };
        let rest = sights.not_captured(wanted);
        let texts = server.capture_many(&rest, how())?;
        sights.add(&rest, texts);
        Ok(sights)
    }

    /// From an open line: all panes, without any text.
    pub fn by_line(line: &Control) -> Result<Self, Error> {
        let query = RowQuery::new();
        let mut replies = line.request(&[Glance::server_command(), query.faces_command()])?;
        let faces = query.parse_faces(&replies.pop().unwrap_or(Err(Error::Disconnected))?)?;
        let server = replies.pop().unwrap_or(Err(Error::Disconnected))?;
        let glance = Glance::of_server(Some(&server), glances(&faces))?;
        Ok(Self { glance, faces, texts: HashMap::new() })
    }

    /// Looks at some panes again. Those that are gone are taken off.
    pub fn refresh(&mut self, line: &Control, panes: &[PaneId]) -> Result<(), Error> {
        let query = RowQuery::new();
        let ask = |pane: &PaneId| [query.face_command(*pane), how().command(*pane)];
        let commands: Vec<Command> = panes.iter().flat_map(ask).collect();
        let mut replies = line.request(&commands)?.into_iter();
        for pane in panes {
            self.faces.retain(|face| face.row.pane_id != *pane);
            self.texts.remove(pane);
            let (Some(face), Some(text)) = (replies.next(), replies.next()) else { break };
            // Of a pane that is gone tmux says nothing, or nothing that can be read, or answers for another one.
            let face = face.ok().and_then(|face| query.parse_faces(&face).ok()?.pop());
            if let (Some(face), Ok(text)) = (face.filter(|f| f.row.pane_id == *pane), text) {
                self.faces.push(face);
                self.texts.insert(*pane, text);
            }
        }
        self.glance.panes = glances(&self.faces);
        Ok(())
    }

    /// Looks at some more panes.
    pub fn capture(&mut self, server: &Server, panes: &[PaneId]) -> Result<(), Error> {
        let rest = self.not_captured(panes);
        let texts = server.capture_many(&rest, how())?;
        self.add(&rest, texts);
        Ok(())
    }

    /// Forgets what is on the panes, once it was judged.
    pub fn drop_texts(&mut self) {
        self.texts.clear();
    }

    fn not_captured(&self, wanted: &[PaneId]) -> Vec<PaneId> {
        let is_there = |pane: &PaneId| self.faces.iter().any(|face| face.row.pane_id == *pane);
        let rest = wanted.iter().filter(|pane| !self.texts.contains_key(pane) && is_there(pane));
        rest.copied().collect()
    }

    fn add(&mut self, panes: &[PaneId], texts: Vec<Result<Reply, Error>>) {
        self.texts
            .extend(panes.iter().zip(texts).filter_map(|(pane, text)| Some((*pane, text.ok()?))));
    }

    /// What is to be seen of a session; `None` if its pane was not looked at.
    pub fn of(&self, seen: &Seen) -> Option<PaneSight> {
        let id = seen.pane_id()?;
        let face = self.faces.iter().find(|face| face.row.pane_id == id)?;
        let text = self.texts.get(&id)?.bytes();
        let mut print = DefaultHasher::new();
        (text, &face.title).hash(&mut print);
        let screen = screens::read(&seen.session.agent, face, text);
        Some(PaneSight { screen, print: print.finish() })
    }
}

impl Sights {
    /// A pane with its text, if it was looked at.
    pub fn picture(&self, pane: PaneId) -> Option<(&PaneFace, &[u8])> {
        let face = self.faces.iter().find(|face| face.row.pane_id == pane)?;
        Some((face, self.texts.get(&pane)?.bytes()))
    }
}

fn glances(faces: &[PaneFace]) -> Vec<PaneGlance> {
    faces.iter().map(|face| PaneGlance::from(&face.row)).collect()
}

fn how() -> CaptureOptions {
    CaptureOptions { lines: None, ansi: true, joined: false }
}
