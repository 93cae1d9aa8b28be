//! What a play is given to act with: its terminal, its environment, a way to start itself again.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::termios::isatty;

/// The value of an environment variable.
pub(crate) type Lookup = Box<dyn Fn(&str) -> Option<String>>;

/// The handles of one play.
pub struct Stage {
    pub(crate) input: OwnedFd,
    pub(crate) output: Box<dyn Write>,
    /// The terminal whose modes and size count; none if the input is no terminal.
    pub(crate) tty: Option<OwnedFd>,
    pub(crate) env: Lookup,
    /// The command that leads to [`crate::main`], for children.
    pub(crate) reentry: Vec<OsString>,
}

impl Stage {
    /// Plays from `input` to `output`, with an empty environment and no way to start children.
    pub fn new(input: OwnedFd, output: Box<dyn Write>) -> io::Result<Self> {
        let tty = isatty(&input).then(|| input.try_clone()).transpose()?;
        Ok(Self { input, output, tty, env: Box::new(|_| None), reentry: Vec::new() })
    }

    /// The standard streams and environment of this process.
    ///
    /// `reentry` are the arguments with which this executable calls [`crate::main`]: none for the
    /// actor itself, `lab actor` for dogwatch.
    pub fn standard(reentry: &[&str]) -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let executable = std::env::current_exe()?;
        let words = reentry.iter().map(OsString::from);
        Ok(Self {
            env: Box::new(|name| {
                std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
            }),
            reentry: [executable.into()].into_iter().chain(words).collect(),
            ..Self::new(input, Box::new(io::stdout()))?
        })
    }

    /// Replaces the environment that the scenario sees.
    #[must_use]
    pub fn with_env(mut self, env: impl Fn(&str) -> Option<String> + 'static) -> Self {
        self.env = Box::new(env);
        self
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("input", &self.input)
            .field("tty", &self.tty)
            .field("reentry", &self.reentry)
            .finish_non_exhaustive()
    }
}
