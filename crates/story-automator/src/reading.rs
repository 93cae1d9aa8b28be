//! What a session's transcript says about its step: by its own last message, else as a small model reads it.

use std::process::Command;
use std::time::Duration;

use crate::decide::reading::{self, tail};
use dogwatch_bmad::format::schema::{Schema, find_fitting};
use dogwatch_bmad::policy::{DataFile, Parser};
use serde_json::Value;

use dogwatch_base::program;
use dogwatch_bmad::Project;
use dogwatch_bmad::policy::load::{self, Need};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    #[error("parse_contract_invalid")]
    Contract,
    #[error("sub-agent call failed")]
    Failed,
    #[error("sub-agent call timed out")]
    TimedOut,
    #[error("sub-agent returned invalid json")]
    Invalid,
}

/// Reads a transcript. The model is not asked if the transcript ends with a result itself.
pub fn read_transcript(
    project: &Project,
    transcript: &str,
    step: &str,
    state_file: Option<&str>,
) -> Result<Value, NotRead> {
    let policy = load::load(project, state_file, Need::Texts).map_err(|_| NotRead::Contract)?;
    let contract = policy.step(step).map_err(|_| NotRead::Contract)?;
    let schema = Schema::read(contract.data_text(DataFile::Schema)).ok_or(NotRead::Contract)?;
    if let Some(said) = reading::final_result(transcript, &schema) {
        return Ok(said);
    }
    let question = reading::question(contract.label(), &schema);
    let answer = ask(project, &policy.parser(), &question, tail(transcript))?;
    find_fitting(&answer, &schema).ok_or(NotRead::Invalid)
}

/// Asks the model. The question is its argument and the transcript its standard input: other users of this machine can see
/// the first, and the second may be long.
fn ask(
    project: &Project,
    parser: &Parser,
    question: &str,
    transcript: &str,
) -> Result<String, NotRead> {
    let mut command = Command::new("claude");
    command
        .args(["-p", "--model", &parser.model, question])
        .current_dir(&project.root)
        .env("STORY_AUTOMATOR_CHILD", "true")
        .env("CLAUDECODE", "");
    let limit = Duration::from_secs(parser.timeout_seconds);
    let ended = program::run(command, transcript.as_bytes(), limit).map_err(|_| NotRead::Failed)?;
    match ended.code() {
        Some(0) => Ok(ended.stdout.text()),
        Some(_) => Err(NotRead::Failed),
        None => Err(NotRead::TimedOut),
    }
}
