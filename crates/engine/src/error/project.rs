use std::path::PathBuf;

use super::kind::codes;

/// Why a project's work tree cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("{} is not in a git repository", path.display())]
    NotARepository { path: PathBuf },
    #[error("the work tree has uncommitted changes: {files}")]
    DirtyTree { files: String },
    #[error("git {what} failed in {}: {said}", dir.display())]
    Git { what: String, dir: PathBuf, said: String },
}

codes! { ProjectError:
    Self::NotARepository { .. } => Usage "not_a_repository";
    Self::DirtyTree { .. } => Conflict "dirty_tree";
    Self::Git { .. } => Failed "git";
}

impl ProjectError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotARepository { .. } => {
                "create one and commit the files: git init && git add -A && git commit -m 'Initial commit'".into()
            }
            Self::DirtyTree { .. } => {
                "commit or stash them, or pass --allow-dirty to leave them out of the commits".into()
            }
            Self::Git { .. } => return None,
        })
    }
}
