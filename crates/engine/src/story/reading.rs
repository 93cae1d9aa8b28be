//! What a session's transcript says of its step: by its own last word, else by what a small model reads in it.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dogwatch_core::story::policy::{DataFile, Parser};
use dogwatch_core::story::reading::{self, tail};
use dogwatch_core::story::schema::{Schema, find_fitting};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use super::Project;
use super::policy::{self, Need};

/// Longest answer that is listened to.
const MOST_ANSWER: u64 = 1024 * 1024;

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

/// Reads a transcript. Nobody is asked if it ends with a reading itself.
pub fn read_transcript(
    project: &Project,
    transcript: &str,
    step: &str,
    state_file: Option<&str>,
) -> Result<Value, NotRead> {
    let policy = policy::load(project, state_file, Need::Texts).map_err(|_| NotRead::Contract)?;
    let contract = policy.step(step).map_err(|_| NotRead::Contract)?;
    let schema = Schema::read(contract.data_text(DataFile::Schema)).ok_or(NotRead::Contract)?;
    if let Some(said) = reading::last_word(transcript, &schema) {
        return Ok(said);
    }
    let question = reading::question(contract.label(), &schema);
    let answer = ask(project, &policy.parser(), &question, tail(transcript))?;
    find_fitting(&answer, &schema).ok_or(NotRead::Invalid)
}

/// Asks the model. The question is its argument and the transcript its standard input: others on this machine can see
/// the first, and the second may be long.
fn ask(
    project: &Project,
    parser: &Parser,
    question: &str,
    transcript: &str,
) -> Result<String, NotRead> {
    let mut child = Command::new("claude")
        .args(["-p", "--model", &parser.model, question])
        .current_dir(&project.root)
        .env("STORY_AUTOMATOR_CHILD", "true")
        .env("CLAUDECODE", "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|_| NotRead::Failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let transcript = transcript.to_owned();
    thread::spawn(move || {
        // Whether it wants to hear all of it is its own business.
        let _ = stdin.map(|mut stdin| stdin.write_all(transcript.as_bytes()));
    });
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut answer = Vec::new();
        let _ = stdout.map(|stdout| stdout.take(MOST_ANSWER).read_to_end(&mut answer));
        let _ = tell.send(answer);
    });
    let Ok(answer) = told.recv_timeout(Duration::from_secs(parser.timeout_seconds)) else {
        end(&mut child);
        return Err(NotRead::TimedOut);
    };
    match child.wait() {
        Ok(status) if status.success() => Ok(String::from_utf8_lossy(&answer).into_owned()),
        _ => Err(NotRead::Failed),
    }
}

/// With everything that it started.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
