//! What is typed into a pane. Nothing else in dogwatch makes a command that writes to one.
//!
//! Up to 3.3a, `paste-buffer` into a pane whose process is gone (`remain-on-exit` keeps such panes) follows a null
//! pointer: the server ends, and with it all sessions of the user. Later versions refuse it, and keys are dropped without a word. So tmux itself looks first, by `if-shell -F` in the same call, and prints what came of it. Between this look and the
//! command the server executes nothing else: it reads neither terminals nor the ends of children, which is where a pane loses its
//! process (`cmdq_next` runs until the queue is empty or a command waits, and none of these waits; read in 3.2a to 3.7c).

use std::ffi::OsString;

use crate::quote::block;
use crate::{Command, Error, PaneId, Reply, Server};

/// What tmux prints after it typed, and instead.
const TYPED: &str = "typed";
const ENDED: &str = "ended";

/// A pane's options: what was typed last that is typed once, and what is not to be typed any more.
const TYPED_LAST: &str = "@dogwatch_typed";
const VOID: &str = "@dogwatch_void";

/// What 3.4 and newer say by themselves of a pane whose process has ended but whose terminal is still open.
const EXITED: &str = "target pane has exited";

/// Keys or text for one pane, typed only if the pane has a process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "nothing is typed until a server runs it"]
pub struct Input {
    pane: PaneId,
    writes: Vec<Command>,
    /// Loads and removes the buffer that is pasted.
    buffer: Option<[Command; 2]>,
    /// What it is called, if it is typed once.
    once: Option<String>,
}

impl Input {
    /// Presses keys by their names. In copy mode they would go to tmux, not to the program, so that is left before.
    pub fn keys(pane: PaneId, keys: impl IntoIterator<Item: Into<OsString>>) -> Self {
        let press = Command::unguarded("send-keys").target(pane).args(keys);
        Self { pane, writes: vec![leave_mode(pane), press], buffer: None, once: None }
    }

    /// Types a text key by key. Copy mode is left before.
    pub fn text(pane: PaneId, text: impl Into<OsString>) -> Self {
        let press = Command::unguarded("send-keys").flag('l').target(pane).arg(text);
        Self { pane, writes: vec![leave_mode(pane), press], buffer: None, once: None }
    }

    /// Pastes a text in brackets, so that nothing in it counts as a key, through a buffer of its own.
    ///
    /// Not in control mode: the text comes from standard input.
    pub fn paste(pane: PaneId, buffer: &str, text: impl Into<Vec<u8>>) -> Self {
        let load = Command::new("load-buffer").option('b', buffer).arg("-").stdin(text);
        // -p brackets, -r keeps line ends as they are.
        let paste = Command::unguarded("paste-buffer").flag('p').flag('r').option('b', buffer);
        let delete = Command::new("delete-buffer").option('b', buffer);
        Self { pane, writes: vec![paste.target(pane)], buffer: Some([load, delete]), once: None }
    }

    /// Makes tmux forget that the program of a pane without a process asked for focus reports, before a client is put in front of
    /// it: 3.3 and 3.4 (with `focus-events on`) would send one, by a null pointer. The runner has done so before its own end, unless it was
    /// killed. What was on the screen is in the history then.
    pub fn forget_focus(pane: PaneId) -> Command {
        let crashes = "#{&&:#{pane_dead},#{||:#{m:3.3*,#{version}},#{m:3.4*,#{version}}}}";
        let reset = Command::unguarded("send-keys").flag('R').target(pane);
        Command::new("if-shell").flag('F').target(pane).args([crashes.into(), block(&[reset])])
    }

    /// With a key after it.
    pub fn then(mut self, key: &str) -> Self {
        self.writes.push(Command::unguarded("send-keys").target(self.pane).arg(key));
        self
    }

    /// Remembered by the pane under this name, which has letters, digits and dashes: [`Server::was_typed`] tells.
    pub fn once(mut self, name: &str) -> Self {
        self.once = Some(name.to_owned());
        self
    }

    pub fn pane(&self) -> PaneId {
        self.pane
    }

    /// The command that looks and then types, for either transport. [`Input::outcome`] reads its reply.
    pub fn guarded(&self) -> Command {
        // tmux takes no error of finding the pane here: of one that is gone, both values are empty or another pane's.
        let has_process = match &self.once {
            None => format!("#{{==:#{{pane_id}} #{{pane_dead}},{} 0}}", self.pane),
            Some(name) => format!(
                "#{{==:#{{pane_id}} #{{pane_dead}} #{{==:#{{{VOID}}},{name}}},{} 0 0}}",
                self.pane
            ),
        };
        let say = |word: &str| Command::new("display-message").flag('p').arg(word);
        let note = self.once.as_ref().map(|name| set(self.pane, TYPED_LAST, name));
        let types = self.writes.iter().cloned().chain(note).chain([say(TYPED)]);
        let types: Vec<Command> = types.collect();
        Command::new("if-shell")
            .flag('F')
            .target(self.pane)
            .arg(has_process)
            .args([block(&types), block(&[say(ENDED)])])
            .guard()
    }

    /// Whether it was typed, by the reply to [`Input::guarded`].
    pub fn outcome(&self, reply: Result<Reply, Error>) -> Result<(), Error> {
        match reply {
            Ok(reply) if says(&reply, TYPED) => Ok(()),
            Ok(reply) if says(&reply, ENDED) => Err(Error::PaneEnded { pane: self.pane }),
            Ok(reply) => Err(Error::Failed {
                command: self.guarded().to_string(),
                message: format!("it printed {:?} instead of what it did", reply.text()),
                status: None,
            }),
            Err(Error::Failed { message, .. }) if message == EXITED => {
                Err(Error::PaneEnded { pane: self.pane })
            }
            Err(error) => Err(error),
        }
    }

    /// The whole chain, and which of its replies is that of the guarded command.
    fn chain(&self) -> (Vec<Command>, usize) {
        match &self.buffer {
            // An error inside of the guarded command ends that, and not the chain: the buffer goes in any case.
            Some([load, delete]) => (vec![load.clone(), self.guarded(), delete.clone()], 1),
            None => (vec![self.guarded()], 0),
        }
    }
}

impl Server {
    /// Types into a pane; [`Error::PaneEnded`] if it has no process any more.
    pub fn type_into(&self, input: &Input) -> Result<(), Error> {
        let (chain, at) = input.chain();
        input.outcome(self.run(&chain).map(|mut replies| replies.swap_remove(at)))
    }

    /// Whether this was typed, by whoever should have. If not it never will be, though its command may still be on its way: tmux executes
    /// one call after the other, and finds it void then.
    pub fn was_typed(&self, pane: PaneId, name: &str) -> Result<bool, Error> {
        let last = Command::about_pane(pane, format!("#{{{TYPED_LAST}}}"));
        let mut replies = self.run(&[set(pane, VOID, name), last])?;
        Ok(replies.pop().is_some_and(|reply| reply.first_line() == name))
    }

    /// Types into many panes, by one tmux process if nothing is pasted, with one outcome for each.
    pub fn type_all(&self, inputs: &[Input]) -> Vec<Result<(), Error>> {
        let one_at_a_time = || inputs.iter().map(|input| self.type_into(input)).collect();
        // Standard input is one text.
        if inputs.len() == 1 || inputs.iter().any(|input| input.buffer.is_some()) {
            return one_at_a_time();
        }
        let (mut commands, mut places) = (Vec::new(), Vec::new());
        for input in inputs {
            let (chain, at) = input.chain();
            places.push(commands.len() + at);
            commands.extend(chain);
        }
        match self.run(&commands) {
            Ok(mut replies) => {
                let reply = |at: &usize| std::mem::take(&mut replies[*at]);
                let outcome = |(input, reply): (&Input, Reply)| input.outcome(Ok(reply));
                inputs.iter().zip(places.iter().map(reply)).map(outcome).collect()
            }
            // Which of them failed is not known.
            Err(_) => one_at_a_time(),
        }
    }
}

/// Whether this is the last reply to a guarded command that did not fail.
pub(crate) fn is_outcome(reply: &Reply) -> bool {
    says(reply, TYPED) || says(reply, ENDED)
}

/// On a line of its own: a person's hooks on these commands may print, too.
fn says(reply: &Reply, word: &str) -> bool {
    reply.lines().any(|line| line == word.as_bytes())
}

fn set(pane: PaneId, option: &str, value: &str) -> Command {
    Command::new("set-option").flag('p').target(pane).args([option, value])
}

/// Of a pane that is in no mode, `-q` leaves none.
fn leave_mode(pane: PaneId) -> Command {
    Command::unguarded("copy-mode").flag('q').target(pane)
}
