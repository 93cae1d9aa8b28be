use super::kind::codes;

/// Why `monitor` cannot report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("no card {task:?}")]
    NoSuchCard { task: String },
    #[error("cannot report to {target}: {problem}")]
    Failed { target: String, problem: String },
    #[error("cannot report to {target}: {problem}")]
    Taken { target: String, problem: String },
}

codes! { ReportError:
    Self::NoSuchCard { .. } => NotFound "no_such_card";
    Self::Failed { .. } => Failed "report_target";
    Self::Taken { .. } => Conflict "report_target_taken";
}
