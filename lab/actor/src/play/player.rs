//! The player: everything a step may need, and how time passes.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use super::clock::{self, Running};
use super::ears::Ears;
use super::ending::{Cut, Trouble};
use super::files;
use super::log::Log;
use super::terminal::Terminal;
use crate::entry::Entry;
use crate::keys::Key;
use crate::scenario::{OnCtrlC, Scenario};
use crate::stage::{Lookup, Stage};
use crate::words;

/// The size assumed where there is no terminal to ask.
pub(super) const USUAL_SIZE: (u16, u16) = (80, 24);

pub(super) struct Player<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) terminal: Terminal,
    pub(super) ears: Ears,
    pub(super) log: Log,
    pub(super) env: Lookup,
    pub(super) reentry: Vec<OsString>,
    /// Kept so that they are not taken for forgotten; the play never waits for them.
    pub(super) children: Vec<Child>,
    pub(super) clock: Option<Running>,
    /// Keys that came and no step has taken yet, with the time they came at.
    pub(super) keys: VecDeque<(Instant, Key)>,
    pub(super) entry: Entry,
    /// The last complete answer, for `{input}`.
    pub(super) answer: String,
    sizes: Option<PathBuf>,
    interrupted: bool,
}

impl<'a> Player<'a> {
    pub(super) fn enter(scenario: &'a Scenario, stage: Stage) -> Result<Self, Trouble> {
        let Stage { input, output, tty, env, reentry } = stage;
        let place = |variable: &str, path: Option<&String>| -> Option<PathBuf> {
            let from_env = env(variable).map(PathBuf::from);
            let in_file = path.map(|path| {
                let lookup = |name: &str| env(name.strip_prefix("env:")?);
                scenario.base_dir.join(words::expand(path, &lookup))
            });
            from_env.or(in_file)
        };
        let record = place("ACTOR_RECORD", scenario.record.as_ref());
        let sizes = place("ACTOR_RECORD_SIZES", scenario.record_sizes.as_ref());
        let record = record.as_deref().map(files::open_to_append).transpose()?;
        let log = Log::open(env("ACTOR_LOG").as_deref().map(Path::new))?;
        Ok(Self {
            scenario,
            terminal: Terminal::new(output, tty),
            ears: Ears::new(input, record)?,
            log,
            env,
            reentry,
            children: Vec::new(),
            clock: None,
            keys: VecDeque::new(),
            entry: Entry::default(),
            answer: String::new(),
            sizes,
            interrupted: false,
        })
    }

    /// Shows a text. A terminal that is gone is noted and does not end the play: an agent that
    /// ignores the hangup goes on, too.
    pub(super) fn show(&mut self, text: &str) {
        if let Err(error) = self.terminal.write(text) {
            self.log.note(format_args!("cannot write: {error}"));
        }
    }

    /// The value of a placeholder that is known in all steps.
    pub(super) fn lookup(&self, name: &str) -> Option<String> {
        match name {
            "input" => Some(self.answer.clone()),
            "cwd" => {
                let cwd = std::env::current_dir().unwrap_or_default();
                Some(cwd.display().to_string())
            }
            _ => name.strip_prefix("env:").map(|variable| (self.env)(variable).unwrap_or_default()),
        }
    }

    pub(super) fn expand(&self, text: &str) -> String {
        words::expand(text, &|name| self.lookup(name))
    }

    /// Expands a text in which `{n}` is a number, and more may be known.
    pub(super) fn expand_with(&self, text: &str, known: &[(&str, String)]) -> String {
        words::expand(text, &|name| {
            let own = known.iter().find(|(key, _)| *key == name);
            own.map(|(_, value)| value.clone()).or_else(|| self.lookup(name))
        })
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.scenario.base_dir.join(self.expand(path))
    }

    /// Lets time pass until a moment, or for ever.
    pub(super) fn pass_until(&mut self, moment: Option<Instant>) -> Result<(), Cut> {
        while moment.is_none_or(|moment| Instant::now() < moment) {
            self.wait_once(moment)?;
        }
        Ok(())
    }

    pub(super) fn pass(&mut self, duration: Duration) -> Result<(), Cut> {
        self.pass_until(Some(Instant::now() + duration))
    }

    /// Waits for the first event, at the latest until a given time, and handles it.
    pub(super) fn wait_once(&mut self, until: Option<Instant>) -> Result<(), Cut> {
        self.tick_if_due();
        let tick = self.clock.as_ref().map(|clock| clock.due);
        let heard = self.ears.wait([until, tick].into_iter().flatten().min())?;
        if heard.resized {
            self.note_size()?;
        }
        let now = Instant::now();
        for key in heard.keys {
            if key == Key::Ctrl('c') && self.terminal.is_raw() {
                self.interrupt()?;
            } else {
                self.interrupted = false;
                self.keys.push_back((now, key));
            }
        }
        self.tick_if_due();
        Ok(())
    }

    fn interrupt(&mut self) -> Result<(), Cut> {
        let first = !self.interrupted;
        self.interrupted = true;
        self.log.note("ctrl-c");
        match self.scenario.on_ctrl_c {
            OnCtrlC::Ignore => Ok(()),
            OnCtrlC::ExitOnSecond if first => Ok(()),
            OnCtrlC::Exit | OnCtrlC::ExitOnSecond => Err(Cut::Exit(self.scenario.ctrl_c_code)),
        }
    }

    fn note_size(&mut self) -> Result<(), Trouble> {
        let (columns, rows) = self.terminal.size().unwrap_or(USUAL_SIZE);
        self.log.note(format_args!("resized to {columns}x{rows}"));
        match &self.sizes {
            Some(path) => files::append_line(path, &format!("{columns}x{rows}")),
            None => Ok(()),
        }
    }

    fn tick_if_due(&mut self) {
        let now = Instant::now();
        let Some(mut clock) = self.clock.take_if(|clock| clock.due <= now) else {
            return;
        };
        clock.tick(now);
        let known = [("time", clock::time_of_day()), ("n", clock.ticks.to_string())];
        let text = self.expand_with(&clock.ticking.text, &known);
        let (_, rows) = self.terminal.size().unwrap_or(USUAL_SIZE);
        self.show(&clock::paint(&text, clock.ticking.row, rows));
        self.clock = Some(clock);
    }
}

impl fmt::Debug for Player<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player")
            .field("terminal", &self.terminal)
            .field("ears", &self.ears)
            .finish_non_exhaustive()
    }
}
