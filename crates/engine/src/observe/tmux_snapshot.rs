//! What tmux shows: which panes there are, and what is on them. By a process, or by a line that is open already.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

use dogwatch_base::log::Logged as _;
use dogwatch_tmux::control::Control;
use dogwatch_tmux::{
    CaptureOptions, Command, Error, ListedPane, PaneFace, PaneId, PaneList, Reply, RowQuery,
    Running, Server, SessionName, fitting,
};

use crate::observe::evidence::PaneSight;
use crate::observe::screens;
use crate::observe::snapshot::SessionSnapshot;

/// Panes from which on it pays to treat them together: to read one screen takes less than a tenth of a millisecond.
const MANY: usize = 32;

/// All panes, and the text of some.
#[derive(Debug, Clone)]
pub struct TmuxSnapshot {
    pub list: PaneList,
    pub faces: Vec<PaneFace>,
    texts: HashMap<PaneId, Reply>,
}

impl TmuxSnapshot {
    /// From a process of its own.
    pub fn by_process(server: &Server, wanted: &[PaneId]) -> Result<Self, Error> {
        Self::ask(server, wanted)?.finish()
    }

    /// Asks by as few processes as it takes: one, unless a pane went away that moment.
    pub fn ask(server: &Server, wanted: &[PaneId]) -> Result<Asked, Error> {
        let query = RowQuery::new();
        let mut commands = vec![PaneList::server_command(), query.faces_command()];
        commands.extend(wanted.iter().map(|pane| how().command(*pane).runs_on()));
        // The rest is captured when this is answered.
        commands.truncate(fitting(&commands).max(FIXED));
        let running = server.start(&commands)?;
        let captured = commands.len() - FIXED;
        commands.truncate(FIXED);
        let (server, wanted) = (server.clone(), Wanted::Panes { all: wanted.to_owned(), captured });
        Ok(Asked { server, wanted, query, commands, running })
    }

    /// Asks for all panes and the text of a session, before it is known which panes it has.
    pub fn ask_session(server: &Server, name: &SessionName) -> Result<Asked, Error> {
        let query = RowQuery::new();
        let capture = how().command(name).runs_on();
        let mut commands = vec![PaneList::server_command(), query.faces_command(), capture];
        let running = server.start(&commands)?;
        commands.truncate(FIXED);
        let (server, wanted) = (server.clone(), Wanted::Session(name.to_string()));
        Ok(Asked { server, wanted, query, commands, running })
    }

    /// From an open line: all panes, and the text of some.
    pub fn by_line(line: &Control, wanted: &[PaneId]) -> Result<Self, Error> {
        let query = RowQuery::new();
        let mut commands = vec![PaneList::server_command(), query.faces_command()];
        commands.extend(wanted.iter().map(|pane| how().command(*pane)));
        let mut replies = line.request(&commands)?.into_iter();
        let mut next = || replies.next().unwrap_or(Err(Error::Disconnected));
        let (server, faces) = (next()?, query.parse_faces(&next()?)?);
        let list = PaneList::of_server(Some(&server), listed_panes(&faces))?;
        let mut snapshot = Self { list, faces, texts: HashMap::new() };
        // Of a pane that went away in between tmux says nothing, or answers for another one.
        let there: Vec<(PaneId, Result<Reply, Error>)> =
            wanted.iter().copied().zip(replies).filter(|(pane, _)| snapshot.has(*pane)).collect();
        let (panes, texts): (Vec<PaneId>, Vec<_>) = there.into_iter().unzip();
        snapshot.add(&panes, texts);
        Ok(snapshot)
    }

    /// Looks at some panes again. Those that are gone are taken off.
    pub fn refresh(&mut self, line: &Control, panes: &[PaneId]) -> Result<(), Error> {
        if panes.len() >= MANY {
            // One list of all panes is shorter than a question about each of them.
            *self = Self::by_line(line, panes)?;
            return Ok(());
        }
        let query = RowQuery::new();
        let ask = |pane: &PaneId| [query.face_command(*pane), how().command(*pane)];
        let commands: Vec<Command> = panes.iter().flat_map(ask).collect();
        let mut replies = line.request(&commands)?.into_iter();
        for pane in panes {
            self.faces.retain(|face| face.row.pane_id != *pane);
            self.texts.remove(pane);
            let (Some(face), Some(text)) = (replies.next(), replies.next()) else { break };
            // Of a pane that is gone tmux says nothing, or nothing that can be read, or answers for another one.
            let face =
                face.logged("ask tmux").and_then(|face| query.parse_faces(&face).ok()?.pop());
            if let (Some(face), Ok(text)) = (face.filter(|f| f.row.pane_id == *pane), text) {
                self.faces.push(face);
                self.texts.insert(*pane, text);
            }
        }
        self.list.panes = listed_panes(&self.faces);
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

    /// Splits the texts of panes by their heights, which the same reply contains.
    fn take_apart(&mut self, screens: &Reply, captured: &[PaneId]) {
        let heights: HashMap<PaneId, usize> =
            self.faces.iter().map(|face| (face.row.pane_id, face.row.height.into())).collect();
        let counts = captured.iter().map(|pane| heights.get(pane).copied().unwrap_or(0));
        if let Some(texts) = screens.split_lines(counts) {
            self.texts.extend(captured.iter().copied().zip(texts));
        }
    }

    /// The text is that of the session's only pane. Where there are more, it is unknown which one it is.
    fn take_whole(&mut self, screen: Reply, session: &str) {
        let mut panes = self.faces.iter().filter(|face| face.row.session_name == session);
        if let (Some(face), None) = (panes.next(), panes.next())
            && !screen.bytes().is_empty()
        {
            self.texts.insert(face.row.pane_id, screen);
        }
    }

    pub fn has(&self, pane: PaneId) -> bool {
        self.faces.iter().any(|face| face.row.pane_id == pane)
    }

    fn not_captured(&self, wanted: &[PaneId]) -> Vec<PaneId> {
        let is_there = |pane: &PaneId| self.faces.iter().any(|face| face.row.pane_id == *pane);
        let rest = wanted.iter().filter(|pane| !self.texts.contains_key(pane) && is_there(pane));
        rest.copied().collect()
    }

    fn add(&mut self, panes: &[PaneId], texts: Vec<Result<Reply, Error>>) {
        self.texts.extend(
            panes
                .iter()
                .zip(texts)
                .filter_map(|(pane, text)| Some((*pane, text.logged("ask tmux")?))),
        );
    }

    /// What each session shows; `None` for those whose pane was not captured.
    pub fn of_all(&self, seen: &[SessionSnapshot]) -> Vec<Option<PaneSight>> {
        let look =
            |part: &[SessionSnapshot]| part.iter().map(|seen| self.of(seen)).collect::<Vec<_>>();
        if seen.len() < MANY {
            return look(seen);
        }
        let hands = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let parts = seen.chunks(seen.len().div_ceil(hands));
            let begin =
                |part| (part, thread::Builder::new().spawn_scoped(scope, move || look(part)));
            let hands: Vec<_> = parts.map(begin).collect();
            let sights = hands.into_iter().map(|(part, hand)| match hand {
                Ok(hand) => hand.join().unwrap_or_else(|_| vec![None; part.len()]),
                // No thread to be had: it is done here.
                Err(_) => look(part),
            });
            sights.flatten().collect()
        })
    }

    fn of(&self, seen: &SessionSnapshot) -> Option<PaneSight> {
        let id = seen.pane_id()?;
        let face = self.faces.iter().find(|face| face.row.pane_id == id)?;
        let text = self.texts.get(&id)?.bytes();
        let mut print = DefaultHasher::new();
        (text, &face.title).hash(&mut print);
        let screen = screens::read(&seen.session.agent, face, text);
        Some(PaneSight { screen, print: print.finish() })
    }
}

impl TmuxSnapshot {
    /// A pane with its text, if it was captured.
    pub fn picture(&self, pane: PaneId) -> Option<(&PaneFace, &[u8])> {
        let face = self.faces.iter().find(|face| face.row.pane_id == pane)?;
        Some((face, self.texts.get(&pane)?.bytes()))
    }
}

/// Commands before those for the text of panes.
const FIXED: usize = 2;

#[derive(Debug)]
enum Wanted {
    /// The first of them were captured.
    Panes {
        all: Vec<PaneId>,
        captured: usize,
    },
    Session(String),
}

/// What tmux was asked, and has not answered yet.
#[derive(Debug)]
#[must_use = "nothing is seen until `finish`"]
pub struct Asked {
    server: Server,
    wanted: Wanted,
    query: RowQuery,
    commands: Vec<Command>,
    running: Running,
}

impl Asked {
    pub fn finish(self) -> Result<TmuxSnapshot, Error> {
        let Self { server, wanted, query, commands, running } = self;
        let mut replies = match running.finish() {
            // A pane that is gone ends the chain; those that are there are asked again below.
            Err(Error::NotFound { .. }) => server.run(&commands)?,
            replies => replies?,
        };
        let screens = replies.drain(FIXED.min(replies.len())..).next().unwrap_or_default();
        let faces = replies.get(1).map(|r| query.parse_faces(r)).transpose()?.unwrap_or_default();
        let list = PaneList::of_server(replies.first(), listed_panes(&faces))?;
        let mut sights = TmuxSnapshot { list, faces, texts: HashMap::new() };
        match wanted {
            Wanted::Panes { all, captured } => {
                sights.take_apart(&screens, &all[..captured]);
                sights.capture(&server, &all)?;
            }
            Wanted::Session(name) => sights.take_whole(screens, &name),
        }
        Ok(sights)
    }
}

fn listed_panes(faces: &[PaneFace]) -> Vec<ListedPane> {
    faces.iter().map(|face| ListedPane::from(&face.row)).collect()
}

fn how() -> CaptureOptions {
    CaptureOptions { lines: None, ansi: true, joined: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_tmux::fake::FakeTmux;

    /// tmux 3.7 takes 1,000 words from one process: the captures of 164 sessions were refused together.
    #[test]
    fn as_many_screens_as_there_are() {
        let fake = FakeTmux::new();
        let panes: Vec<PaneId> = (0..700).map(|n| fake.session(&format!("s{n}"))).collect();
        for pane in &panes {
            fake.show(*pane, &format!("this is {pane}"));
        }
        let server = fake.server("/none");
        let sights = TmuxSnapshot::by_process(&server, &panes).unwrap();
        for pane in panes {
            let (_, text) = sights.picture(pane).unwrap();
            assert!(text.starts_with(format!("this is {pane}\n").as_bytes()), "{pane}");
        }
    }
}
