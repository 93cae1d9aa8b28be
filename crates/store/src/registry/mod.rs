//! The registry of sessions in a YAML file that a person reads and edits.
//!
//! Reading and writing are done by different hands on purpose: one reads strictly (duplicate keys, bombs and depth are
//! refused), the other edits the text and leaves the rest of it alone. So every edit is read back, and only written if the
//! file then says exactly what was meant, in every field of every session, and nothing else.

mod read;
mod told;
mod write;

use std::path::{Path, PathBuf};

use dogwatch_core::registry::{Edit, Registry, apply};

pub use told::Act;

use crate::shared_file::{edit_shared, must_be_writable, read_shared};
use crate::{ProjectFile, StateDir, StoreError};

/// Longer ones are not taken for a list that a person keeps.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The registry: a path, and what may be done with what is there.
#[derive(Debug, Clone)]
pub struct RegistryFile {
    path: PathBuf,
}

impl RegistryFile {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is if nobody says otherwise.
    pub fn default_path(state: &StateDir) -> PathBuf {
        state.root().join("agent-sessions.yaml")
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What stands for it in the database: links resolved, so that it is one registry however it was reached.
    pub fn key(&self) -> String {
        let real = self.path.canonicalize().or_else(|_| std::path::absolute(&self.path));
        real.as_deref().unwrap_or(&self.path).to_string_lossy().into_owned()
    }

    /// One in a repository is reached without its links; a user's own are followed.
    fn file(&self) -> Result<ProjectFile, StoreError> {
        ProjectFile::named(None, &self.path)
            .map_err(|source| StoreError::NotReadable { path: self.path.clone(), source })
    }

    /// What it says; a file that is not there says nothing.
    pub fn read(&self) -> Result<Registry, StoreError> {
        let text = read_shared(&self.file()?)?.unwrap_or_default();
        Ok(read::read(&self.path, &text)?.1)
    }

    /// An error if it could not be changed.
    pub fn must_be_writable(&self) -> Result<(), StoreError> {
        must_be_writable(&self.file()?)
    }

    /// Changes it. `decide` gets what it says and returns the edits; it may be asked again if somebody saved meanwhile. Returns
    /// whether anything was written.
    pub fn edit<T, E: From<StoreError>>(
        &self,
        mut decide: impl FnMut(&Registry) -> Result<(Vec<Edit>, T), E>,
    ) -> Result<(bool, T), E> {
        enum Stop<T, E> {
            Unchanged(T),
            Failed(E),
        }
        impl<T, E: From<StoreError>> From<StoreError> for Stop<T, E> {
            fn from(error: StoreError) -> Self {
                Self::Failed(error.into())
            }
        }
        let changed = edit_shared(&self.file()?, |text| {
            let text = text.unwrap_or_default();
            let (value, registry) = read::read(&self.path, text)?;
            let (edits, result) = decide(&registry).map_err(Stop::Failed)?;
            let mut meant = value.clone();
            apply(&mut meant, &edits);
            if meant == value {
                return Err(Stop::Unchanged(result));
            }
            let edited = write::edit(text, &edits)
                .and_then(|edited| write::must_say(&edited, &meant).map(|()| edited))
                .map_err(|what| StoreError::NotEditable { path: self.path.clone(), what })?;
            Ok((edited, result))
        });
        match changed {
            Ok(result) => Ok((true, result)),
            Err(Stop::Unchanged(result)) => Ok((false, result)),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
