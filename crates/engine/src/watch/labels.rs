//! Statuses as options of tmux, for status lines and other people's plugins: `@dogwatch_state` and `@dogwatch_detail` of panes,
//! `@dogwatch_status` of the server. The supervisor sets them as long as a front end wants it, only when they change, and removes them
//! then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::status::{self, Status};
use dogwatch_core::terminal;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::lock_file;
use dogwatch_tmux::{Command, PaneId};

use super::Watcher;
use crate::Context;

pub const STATE: &str = "@dogwatch_state";
pub const DETAIL: &str = "@dogwatch_detail";
/// What a status line shows as `#{@dogwatch_status}`.
pub const STATUS: &str = "@dogwatch_status";
/// Longer details are cut.
const MOST: usize = 200;

/// The pane, and its state and detail.
type Label = (PaneId, [String; 2]);

/// What is set.
#[derive(Debug, Default)]
pub(super) struct Labels {
    touched: BTreeSet<SessionId>,
    set: BTreeMap<SessionId, Label>,
}

impl Labels {
    pub(super) fn touch(&mut self, session: &SessionId) {
        self.touched.insert(session.clone());
    }

    /// What is set now. What tmux did not get is tried again with the next turn.
    fn note(&mut self, next: Vec<(SessionId, Option<Label>)>, is_told: bool) {
        for (id, wanted) in next {
            if !is_told {
                self.touched.insert(id);
            } else if let Some(label) = wanted {
                self.set.insert(id, label);
            } else {
                self.set.remove(&id);
            }
        }
    }
}

/// The right to ask for the status line of a server, however often a configuration starts the command that does. It ends with the process.
#[derive(Debug)]
pub struct Follower {
    _file: File,
}

impl Follower {
    /// `None` if another process has it.
    pub fn new(context: &Context) -> Option<Self> {
        let socket = context.socket.to_string_lossy().replace('%', "%%").replace('/', "%");
        let path: PathBuf = context.state.root().join(format!("status{socket}.lock"));
        Some(Self { _file: lock(&path)? })
    }
}

fn lock(path: &Path) -> Option<File> {
    match lock_file::try_lock(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => Err(error).logged("take a lock"),
    }
}

impl Watcher<'_> {
    /// Keeps the options of panes current from now on, or removes them.
    pub(crate) fn label_panes(&mut self, is_wanted: bool) {
        if is_wanted && self.labels.is_none() {
            let touched = self.watched.keys().cloned().collect();
            self.labels = Some(Labels { touched, ..Labels::default() });
            self.remove_left_labels();
        } else if !is_wanted && self.labels.is_some() {
            self.remove_labels();
        }
    }

    /// Removes options that a supervisor which was killed has left.
    pub(crate) fn remove_left_labels(&mut self) {
        let left: Vec<Command> = self.line.left_labels().into_iter().flat_map(removal).collect();
        self.line.tell(&left);
    }

    /// Sets what changed.
    pub(super) fn update_labels(&mut self) {
        let Some(labels) = &mut self.labels else { return };
        if labels.touched.is_empty() {
            return;
        }
        let mut commands = Vec::new();
        let mut next = Vec::new();
        for id in std::mem::take(&mut labels.touched) {
            let status = self.watched.get(&id).map(|watched| &watched.status);
            let pane = status.and_then(|one| one.seen.pane_id());
            let wanted = pane.zip(status.map(|one| label(&one.verdict.status)));
            if labels.set.get(&id) == wanted.as_ref() {
                continue;
            }
            match (&wanted, labels.set.get(&id)) {
                (Some((pane, [state, detail])), _) => {
                    let set = |name: &str, value: &str| {
                        Command::new("set-option").flag('p').target(*pane).args([name, value])
                    };
                    commands.extend([set(STATE, state), set(DETAIL, detail)]);
                }
                (None, Some((pane, _))) => commands.extend(removal(*pane)),
                (None, None) => {}
            }
            next.push((id, wanted));
        }
        let is_told = self.line.tell(&commands);
        labels.note(next, is_told);
    }

    /// Removes all that are set.
    pub(super) fn remove_labels(&mut self) {
        if let Some(labels) = self.labels.take() {
            let panes = labels.set.into_values().map(|(pane, _)| pane);
            let commands: Vec<Command> = panes.flat_map(removal).collect();
            self.line.tell(&commands);
        }
    }

    /// False once tmux said that it has no server. One that does not answer for a while is not gone.
    pub(crate) fn has_server(&self) -> bool {
        !self.snapshot.as_ref().is_err_and(dogwatch_tmux::Error::is_no_server)
    }

    /// Sets a global option of the server, or removes it.
    pub(crate) fn set_global(&mut self, name: &str, value: Option<&str>) {
        let set = Command::new("set-option").flag('g');
        let set = match value {
            Some(value) => set.args([name, value]),
            None => set.flag('u').arg(name),
        };
        self.line.tell(&[set]);
    }
}

fn removal(pane: PaneId) -> [Command; 2] {
    let unset = |name: &str| Command::new("set-option").flag('p').flag('u').target(pane).arg(name);
    [unset(STATE), unset(DETAIL)]
}

/// State and detail. What an agent writes must not become a style or a format of a status line: `#` is left out.
fn label(status: &Status) -> [String; 2] {
    let detail = status::detail(status);
    let one_line = detail.split_whitespace().collect::<Vec<_>>().join(" ");
    let safe = terminal::harmless(&one_line).replace('#', "");
    [status.as_str().to_owned(), safe.chars().take(MOST).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_tmux_did_not_get_is_not_set() {
        let one = SessionId::from("one".to_owned());
        let label = |state: &str| Some(("%1".parse().unwrap(), [state.to_owned(), String::new()]));
        let mut labels = Labels::default();
        labels.note(vec![(one.clone(), label("idle"))], true);
        // The label, whether tmux got it, what is set then, and whether it is tried again.
        for (wanted, is_told, set, again) in [
            (label("working"), false, label("idle"), true),
            (None, false, label("idle"), true),
            (label("working"), true, label("working"), false),
            (None, true, None, false),
        ] {
            labels.touched.clear();
            labels.note(vec![(one.clone(), wanted)], is_told);
            assert_eq!(
                (labels.set.get(&one), labels.touched.contains(&one)),
                (set.as_ref(), again)
            );
        }
    }

    #[test]
    fn a_label_is_one_line_without_formats() {
        let hostile = "a#[fg=red]#(touch x)\n\u{1b}[2J b".to_owned();
        let [state, detail] = label(&Status::working(Some(hostile)));
        assert_eq!((state.as_str(), detail.as_str()), ("working", "a[fg=red](touch x) ·[2J b"));
    }
}
