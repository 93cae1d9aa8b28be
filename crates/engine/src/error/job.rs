use super::kind::codes;

/// Why a job cannot be found or cancelled.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("no job {target:?}")]
    NoSuchJob { target: String },
    #[error("job {id} is already {state}")]
    JobOver { id: String, state: &'static str },
    #[error("the key was used before, for another prompt (job {id})")]
    KeyReused { id: String },
    #[error("cannot cancel job {id}: {reason}")]
    NotCancelled { id: String, reason: String },
}

codes! { JobError:
    Self::NoSuchJob { .. } => NotFound "no_such_job";
    Self::JobOver { .. } => Conflict "job_over";
    Self::KeyReused { .. } => Conflict "key_reused";
    Self::NotCancelled { .. } => Failed "not_cancelled";
}

impl JobError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoSuchJob { .. } => Some("`dogwatch job ls` lists all jobs".into()),
            Self::KeyReused { .. } => Some("use a new key for new work".into()),
            Self::JobOver { .. } | Self::NotCancelled { .. } => None,
        }
    }
}
