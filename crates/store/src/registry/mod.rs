//! The registry of sessions in a YAML file that a person reads and edits.
//!
//! Two different libraries read and write on purpose: one reads strictly (duplicate keys, YAML bombs and deep nesting are
//! refused), the other edits the text and preserves the rest of it. So every edit is read back, and written only if the
//! file then says exactly what was intended, in every field of every session, and nothing else.

mod read;
mod reported;
mod write;

use std::path::{Path, PathBuf};

use dogwatch_core::registry::{Edit, Registry, apply};

pub use reported::Act;

use crate::shared_file::{edit_shared, must_be_writable, read_shared};
use crate::{ProjectFile, StateDir, StoreError};

/// A larger file is not accepted as a list that a person maintains.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The registry file.
#[derive(Debug, Clone)]
pub struct RegistryFile {
    path: PathBuf,
}

impl RegistryFile {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The default path.
    pub fn default_path(state: &StateDir) -> PathBuf {
        state.root().join("agent-sessions.yaml")
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its key in the database: links resolved, so that it is one registry by any path.
    pub fn key(&self) -> String {
        let real = self.path.canonicalize().or_else(|_| std::path::absolute(&self.path));
        real.as_deref().unwrap_or(&self.path).to_string_lossy().into_owned()
    }

    /// A file in a repository is opened without following links; a user's own links are followed.
    fn file(&self) -> Result<ProjectFile, StoreError> {
        ProjectFile::named(None, &self.path)
            .map_err(|source| StoreError::NotReadable { path: self.path.clone(), source })
    }

    /// Reads the registry; a missing file is empty.
    pub fn read(&self) -> Result<Registry, StoreError> {
        let text = read_shared(&self.file()?)?.unwrap_or_default();
        Ok(read::read(&self.path, &text)?.1)
    }

    /// Fails if the file could not be changed.
    pub fn must_be_writable(&self) -> Result<(), StoreError> {
        must_be_writable(&self.file()?)
    }

    /// Changes it. `decide` gets the content and returns the edits; it may be called again if a person saved meanwhile. Returns
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
