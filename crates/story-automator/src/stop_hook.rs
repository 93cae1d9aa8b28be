//! Installs the stop hook in an agent's settings.

use std::io;
use std::path::{Path, PathBuf};

use crate::decide::codex_config::{self, ConfigFault};
use crate::decide::hook_settings::{self, Hook, SettingsFault};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_bmad::Project;
use dogwatch_bmad::project::files::{self, Readers};

const STATUS_MESSAGE: &str = "Checking story automator state";

/// The change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub path: PathBuf,
    /// `None` if it was up to date.
    pub changed: Option<&'static str>,
}

#[derive(Debug, thiserror::Error)]
pub enum NotInstalled {
    #[error("{fault}")]
    Settings { path: PathBuf, fault: SettingsFault },
    #[error("{fault}")]
    Config { path: PathBuf, fault: ConfigFault },
    #[error("write_failed")]
    Write { path: PathBuf, source: io::Error },
}

impl NotInstalled {
    pub fn path(&self) -> &Path {
        match self {
            Self::Settings { path, .. } | Self::Config { path, .. } | Self::Write { path, .. } => {
                path
            }
        }
    }

    /// The problem, for a person.
    pub fn message(&self) -> String {
        match self {
            Self::Settings { fault, .. } => fault.message(),
            Self::Config { fault, .. } => fault.message(),
            Self::Write { source, .. } => source.to_string(),
        }
    }
}

/// In Claude Code's settings.
pub fn install_claude(
    project: &Project,
    settings: &Path,
    command: &str,
    timeout: u64,
) -> Result<Done, NotInstalled> {
    settings_with(project, settings, Hook { command, timeout, status_message: None })
}

/// In a project's codex configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codex {
    pub hooks: Done,
    pub config: Done,
    pub trusted: bool,
}

/// In a project's `.codex` directory. Unreadable files are detected before anything is written.
pub fn install_codex(
    project: &Project,
    command: &str,
    timeout: u64,
) -> Result<Codex, NotInstalled> {
    let folder = project.root.join(".codex");
    let (hooks, config) = (folder.join("hooks.json"), folder.join("config.toml"));
    let hook = Hook { command, timeout, status_message: Some(STATUS_MESSAGE) };
    let before = text(project, &config)?;
    let switched = codex_config::with_hooks(before.as_deref())
        .map_err(|fault| NotInstalled::Config { path: config.clone(), fault })?;
    let hooks = settings_with(project, &hooks, hook)?;
    let changed = match switched {
        codex_config::Change::None => None,
        codex_config::Change::Made { text, reason } => {
            write(project, &config, &text)?;
            Some(reason)
        }
    };
    let trusted = trusted(project, before.as_deref().unwrap_or_default());
    Ok(Codex { hooks, config: Done { path: config, changed }, trusted })
}

fn trusted(project: &Project, config: &str) -> bool {
    let root = project.root.display().to_string();
    let users = project.home.as_ref().map(|home| home.join(".codex/config.toml"));
    let users = users
        .and_then(|path| {
            files::read(&project.root, &path).logged_unless_missing("read a file").flatten()
        })
        .unwrap_or_default();
    codex_config::trusts(config, &root) || codex_config::trusts(&users, &root)
}

fn settings_with(project: &Project, path: &Path, hook: Hook<'_>) -> Result<Done, NotInstalled> {
    let before = text(project, path)?;
    let change = hook_settings::with_hook(before.as_deref(), hook)
        .map_err(|fault| NotInstalled::Settings { path: path.to_owned(), fault })?;
    let changed = match change {
        hook_settings::Change::None => None,
        hook_settings::Change::Made { text, reason } => {
            write(project, path, &text)?;
            Some(reason)
        }
    };
    Ok(Done { path: path.to_owned(), changed })
}

fn text(project: &Project, path: &Path) -> Result<Option<String>, NotInstalled> {
    files::read_to_change(&project.root, path)
        .map_err(|source| NotInstalled::Write { path: path.to_owned(), source })
}

fn write(project: &Project, path: &Path, text: &str) -> Result<(), NotInstalled> {
    files::replace(&project.root, path, text, Readers::Owner)
        .map_err(|source| NotInstalled::Write { path: path.to_owned(), source })
}
