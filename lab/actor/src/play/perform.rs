//! What each step does.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::clock::Running;
use super::ending::{Cut, Trouble};
use super::player::{Player, USUAL_SIZE};
use super::{child, files, hook, signals};
use crate::flow::Turn;
use crate::scenario::{
    AwaitFile, Clock, Hook, Pause, Screen, Spawn, Step, StopSignal, Stream, Ticking,
};
use crate::words;

/// How often a file that is awaited is looked for.
const FILE_POLL: Duration = Duration::from_millis(10);

impl Player<'_> {
    pub(super) fn perform<'s>(&mut self, line: usize, step: &'s Step) -> Result<Turn<'s>, Cut> {
        self.log.at(line);
        match step {
            Step::Input(input) => return self.listen(input),
            Step::AwaitFile(wait) => return self.await_file(wait),
            Step::Print(text) => self.show(&self.expand(text)),
            Step::Screen(screen) => self.screen(screen)?,
            Step::Title(title) => self.show(&format!("\x1b]2;{}\x07", self.expand(title))),
            Step::AlternateScreen(on) => {
                let done = self.terminal.alternate_screen(*on);
                self.noted(done);
            }
            Step::BracketedPaste(on) => {
                let done = self.terminal.bracketed_paste(*on);
                self.noted(done);
            }
            Step::Raw(on) => self.terminal.raw(*on).map_err(Trouble::Terminal)?,
            Step::Stream(stream) => self.stream(stream)?,
            Step::Clock(Clock::Off) => self.clock = None,
            Step::Clock(Clock::On(ticking)) => self.start_clock(ticking)?,
            Step::PrintSize(text) => self.print_size(text),
            Step::PrintEnv(names) => self.print_env(names),
            Step::PrintFile(file) => self.print_file(&file.env)?,
            Step::Stall(Pause::For(duration)) => self.pass(*duration)?,
            Step::Stall(Pause::Forever) => self.pass_until(None)?,
            Step::Hang(pause) => hang(*pause),
            Step::WriteFile(write) => {
                files::replace(&self.path(&write.path), &self.expand(&write.text))?;
            }
            Step::AppendLine(append) => {
                files::append_line(&self.path(&append.path), &self.expand(&append.text))?;
            }
            Step::AppendJson(append) => {
                let fields = words::expand_fields(&append.value, &|name| self.lookup(name));
                let line = Value::Object(fields).to_string();
                files::append_line(&self.path(&append.path), &line)?;
            }
            Step::Hook(hook) => self.hook(hook),
            Step::Spawn(spawn) => self.spawn(spawn)?,
            Step::IgnoreSignals(ignored) => {
                for signal in ignored {
                    signals::ignore(*signal).map_err(Trouble::Signals)?;
                }
            }
            Step::Suspend(signal) => self.suspend(*signal)?,
            Step::Crash(signal) => {
                signals::crash(*signal).map_err(Trouble::Signals)?;
                self.log.note("survived the crash");
            }
            Step::Exit(code) => return Err(Cut::Exit(*code)),
            // The flow keeps these to itself.
            Step::Label(_) | Step::Goto(_) | Step::Repeat(_) => {}
        }
        Ok(Turn::On)
    }

    fn noted(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.log.note(format_args!("cannot write: {error}"));
        }
    }

    fn screen(&mut self, screen: &Screen) -> Result<(), Trouble> {
        let recorded = files::read(&self.path(screen.file.get_ref()))?;
        // A newline after the last row of a full screen would scroll it.
        let body = recorded.strip_suffix('\n').unwrap_or(&recorded);
        let cursor = screen.cursor.map_or_else(String::new, |(column, row)| {
            format!("\x1b[{};{}H", u32::from(row) + 1, u32::from(column) + 1)
        });
        self.show(&format!("\x1b[0m\x1b[2J\x1b[H{body}\x1b[0m{cursor}"));
        Ok(())
    }

    fn stream(&mut self, stream: &Stream) -> Result<(), Cut> {
        let begin = Instant::now();
        for n in 1..=stream.count {
            let text = self.expand_with(&stream.text, &[("n", n.to_string())]);
            self.show(&text);
            self.pass_until(Some(begin + stream.every.0 * n))?;
        }
        Ok(())
    }

    fn start_clock(&mut self, ticking: &Ticking) -> Result<(), Cut> {
        self.clock = Some(Running::start(ticking));
        if let Some(lasting) = ticking.lasting {
            self.pass(lasting.0)?;
            self.clock = None;
        }
        Ok(())
    }

    fn print_size(&mut self, text: &str) {
        let (columns, rows) = self.terminal.size().unwrap_or(USUAL_SIZE);
        let known = [("cols", columns.to_string()), ("rows", rows.to_string())];
        self.show(&self.expand_with(text, &known));
    }

    fn print_env(&mut self, names: &[String]) {
        for name in names {
            let line = match (self.env)(name) {
                Some(value) => format!("{name}={value}\n"),
                None => format!("{name} is not set\n"),
            };
            self.show(&line);
        }
    }

    fn print_file(&mut self, variable: &str) -> Result<(), Trouble> {
        let path =
            (self.env)(variable).ok_or_else(|| Trouble::Unset { name: variable.to_owned() })?;
        let text = files::read(path.as_ref())?;
        self.show(&text);
        Ok(())
    }

    fn await_file<'s>(&mut self, wait: &'s AwaitFile) -> Result<Turn<'s>, Cut> {
        let path = self.path(&wait.path);
        let deadline = Instant::now() + wait.within.0;
        while !path.exists() {
            if Instant::now() >= deadline {
                return match &wait.otherwise {
                    Some(label) => Ok(Turn::To(label)),
                    None => Err(Trouble::TimedOut { path }.into()),
                };
            }
            self.pass(FILE_POLL)?;
        }
        Ok(Turn::On)
    }

    /// A hook that fails is the hook's own business: an agent goes on, too.
    fn hook(&mut self, step: &Hook) {
        let command = step
            .command
            .clone()
            .or_else(|| (self.env)("DOGWATCH_HOOK_COMMAND").map(|text| words::command_words(&text)))
            .filter(|words| !words.is_empty());
        let Some(command) = command else {
            self.log.note(format_args!("hook {}: no command", step.event));
            return;
        };
        let payload = hook::payload(&step.event, &self.scenario.hook_base, &step.payload);
        let payload = words::expand_fields(&payload, &|name| self.lookup(name));
        let outcome = match hook::run(&command, &payload) {
            Ok(status) => status.to_string(),
            Err(error) => format!("failed to run: {error}"),
        };
        self.log.note(format_args!("hook {}: {outcome}", step.event));
    }

    fn spawn(&mut self, spawn: &Spawn) -> Result<(), Trouble> {
        let child = child::start(&self.reentry, spawn).map_err(Trouble::Child)?;
        self.log.note(format_args!("spawned {}", child.id()));
        let pid_file = spawn.pid_file.as_deref().map(|path| self.path(path));
        let pid = child.id().to_string();
        self.children.push(child);
        match pid_file {
            Some(path) => files::replace(&path, &pid),
            None => Ok(()),
        }
    }

    fn suspend(&mut self, signal: StopSignal) -> Result<(), Trouble> {
        let stopped = signals::suspend(signal).map_err(Trouble::Signals)?;
        self.log.note(if stopped { "resumed" } else { "was not stopped" });
        if self.terminal.is_raw() {
            self.terminal.raw(true).map_err(Trouble::Terminal)?;
        }
        Ok(())
    }
}

/// Does nothing at all: reads no input, lets no clock tick.
fn hang(pause: Pause) {
    match pause {
        // sleep: its scenario says how long it hangs.
        Pause::For(duration) => thread::sleep(duration),
        Pause::Forever => loop {
            thread::park();
        },
    }
}
