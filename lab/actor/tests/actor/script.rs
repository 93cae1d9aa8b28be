//! A scenario in a folder of its own, and the files that a play leaves there.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use dogwatch_testkit::wait_until;
use tempfile::TempDir;

pub(crate) const ACTOR: &str = env!("CARGO_BIN_EXE_actor");

pub(crate) struct Script {
    folder: TempDir,
}

impl Script {
    pub(crate) fn new(toml: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("scenario.toml"), toml).expect("a scenario");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits until a file has content that pleases.
    pub(crate) fn wait_for(&self, name: &str, pleases: impl Fn(&str) -> bool) -> String {
        wait_until(&format!("{name} in {}", self.read(name)), || {
            let text = self.read(name);
            pleases(&text).then_some(text)
        })
    }

    pub(crate) fn wait_for_file(&self, name: &str) -> String {
        self.wait_for(name, |text| !text.is_empty())
    }

    /// The actor on pipes, not started yet.
    pub(crate) fn on_pipes(&self) -> Command {
        let mut command = Command::new(ACTOR);
        command
            .arg(self.path("scenario.toml"))
            .env("ACTOR_LOG", self.path("log"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}
