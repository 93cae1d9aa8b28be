//! The result of waiting for a session.

use serde::Serialize;

use super::cues::Todos;
use super::row::field;

/// The answer, in printed order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub final_state: &'static str,
    pub todos_done: u32,
    pub todos_total: u32,
    pub output_file: String,
    pub exit_reason: String,
    pub output_verified: bool,
}

/// The result of the step's verifier for a session that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The end of the session is sufficient.
    EndIsEnough,
    Verified,
    /// Why not.
    NotVerified(String),
}

impl Outcome {
    fn new(final_state: &'static str, todos: Todos, reason: impl Into<String>) -> Self {
        Self {
            final_state,
            todos_done: todos.done,
            todos_total: todos.total,
            output_file: String::new(),
            exit_reason: reason.into(),
            output_verified: false,
        }
    }

    /// The session ended well, with this proof.
    pub fn ended(todos: Todos, proof: Proof) -> Self {
        match proof {
            Proof::EndIsEnough => {
                Self { output_verified: true, ..Self::new("completed", todos, "normal_completion") }
            }
            Proof::Verified => {
                Self { output_verified: true, ..Self::new("completed", todos, "verified_complete") }
            }
            Proof::NotVerified(reason) => Self::new("incomplete", todos, reason),
        }
    }

    pub fn crashed(todos: Todos, exit: u32) -> Self {
        Self::new("crashed", todos, format!("exit_code_{exit}"))
    }

    pub fn stuck() -> Self {
        Self::new("stuck", Todos::default(), "never_active")
    }

    pub fn not_found(todos: Todos) -> Self {
        Self::new("not_found", todos, "session_gone")
    }

    pub fn timeout(todos: Todos, reason: impl Into<String>) -> Self {
        Self::new("timeout", todos, reason)
    }

    #[must_use]
    pub fn with_output(self, output_file: String) -> Self {
        Self { output_file, ..self }
    }

    /// As five columns.
    pub fn csv(&self) -> String {
        let Self { final_state, todos_done, todos_total, output_file, exit_reason, .. } = self;
        let (file, reason) = (field(output_file), field(exit_reason));
        format!("{final_state},{todos_done},{todos_total},{file},{reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_as_json_and_as_columns() {
        let todos = Todos { done: 1, total: 2 };
        let outcome = Outcome::ended(todos, Proof::EndIsEnough).with_output("/a,b.txt".into());
        assert_eq!(
            serde_json::to_string(&outcome).unwrap(),
            r#"{"final_state":"completed","todos_done":1,"todos_total":2,"output_file":"/a,b.txt","exit_reason":"normal_completion","output_verified":true}"#
        );
        assert_eq!(outcome.csv(), "completed,1,2,\"/a,b.txt\",normal_completion");
        for (outcome, expected) in [
            (Outcome::ended(todos, Proof::Verified), "completed,1,2,,verified_complete"),
            (
                Outcome::ended(todos, Proof::NotVerified("workflow_not_complete".into())),
                "incomplete,1,2,,workflow_not_complete",
            ),
            (Outcome::crashed(todos, 9), "crashed,1,2,,exit_code_9"),
            (Outcome::stuck(), "stuck,0,0,,never_active"),
            (Outcome::not_found(Todos::default()), "not_found,0,0,,session_gone"),
            (Outcome::timeout(Todos::default(), "exceeded_0m"), "timeout,0,0,,exceeded_0m"),
        ] {
            assert_eq!(outcome.csv(), expected);
        }
    }
}
