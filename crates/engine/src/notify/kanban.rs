//! A card of Hermes Kanban, through its command line. That needs no model and costs a quarter of a second of Python per call.

use std::collections::HashSet;
use std::time::Duration;

use dogwatch_core::kanban::{self, Card, Verb};
use dogwatch_core::notice::Notice;
use dogwatch_store::Assignment;

use super::{outward, process};
use crate::Error;
use crate::error::ReportError;
use crate::notify::report_target::{ReportTarget, Trouble};

/// Limit for one call. Others may hold the board's database for a while.
const CALL: Duration = Duration::from_mins(1);
/// How long a claim lasts. Heartbeats do not prolong it (seen with 0.19.0), and a monitor runs for days.
const CLAIM_SECONDS: &str = "2592000";

/// The card and our name there.
#[derive(Debug, Clone)]
pub struct Kanban {
    /// The program, `hermes`.
    pub program: String,
    pub board: Option<String>,
    pub task: String,
    pub author: String,
    /// Our comments on the card when the assignment was taken: after a crash it is unknown whether the last one was posted.
    said: HashSet<String>,
}

impl Kanban {
    pub fn new(program: String, board: Option<String>, task: String, author: String) -> Self {
        Self { program, board, task, author, said: HashSet::new() }
    }

    fn call(&self, words: &[&str]) -> Result<String, String> {
        let mut all = vec![self.program.clone(), "kanban".to_owned()];
        if let Some(board) = &self.board {
            all.extend(["--board".to_owned(), board.clone()]);
        }
        all.extend(words.iter().map(|word| (*word).to_owned()));
        let ran = process::run(&all, &[("NO_COLOR", "1")], b"", CALL)?;
        Ok(ran.stdout + "\n" + &ran.stderr)
    }

    fn act(&self, verb: Verb, words: &[&str]) -> Result<(), String> {
        let mut all = vec![verb.as_str()];
        all.extend(words);
        kanban::done(verb, &self.task, &self.call(&all)?)
    }

    fn card(&self) -> Result<Option<Card>, String> {
        kanban::card(&self.call(&["show", "--json", "--", &self.task])?)
    }

    fn claim(&self) -> Result<(), String> {
        self.act(Verb::Claim, &["--ttl", CLAIM_SECONDS, "--", &self.task])
    }

    fn error(&self, problem: String) -> Error {
        ReportError::Failed { target: format!("card {}", self.task), problem }.into()
    }

    /// Classifies a failure: the card may no longer be ours.
    fn trouble(&self, problem: String) -> Trouble {
        match self.own_card() {
            Ok(_) | Err(Trouble::Passing(_)) => Trouble::Passing(problem),
            Err(lost) => lost,
        }
    }

    /// The card; fails if it is not ours.
    fn own_card(&self) -> Result<Card, Trouble> {
        let card = self.card().map_err(Trouble::Passing)?;
        let card = card.ok_or_else(|| Trouble::Lost("it no longer exists".to_owned()))?;
        // The claim may have been removed, for example by a dispatcher that took us for dead.
        let is_ours = card.status == "running" || (card.status == "ready" && self.claim().is_ok());
        if is_ours { Ok(card) } else { Err(Trouble::Lost(format!("it is {}", card.status))) }
    }
}

impl ReportTarget for Kanban {
    fn key(&self) -> String {
        let board = self.board.as_ref().map(|board| format!("{board} ")).unwrap_or_default();
        format!("kanban {board}{}", self.task)
    }

    fn open(&mut self, left: Option<&Assignment>) -> Result<u32, Error> {
        let card = self.card().map_err(|problem| self.error(problem))?;
        let Some(card) = card else {
            return Err(ReportError::NoSuchCard { task: self.task.clone() }.into());
        };
        let ours = card.comments.iter().filter(|comment| comment.author == self.author);
        self.said = ours.map(|comment| comment.body.clone()).collect();
        let is_ours = left.is_some() && card.status == "running";
        if !is_ours && let Err(problem) = self.claim() {
            let desk = format!("card {}", self.task);
            return Err(ReportError::Taken { target: desk, problem }.into());
        }
        Ok(u32::try_from(card.comments.len()).unwrap_or(u32::MAX))
    }

    fn report(&mut self, notice: &Notice) -> Result<(), Trouble> {
        let body = outward::text(notice.text.trim());
        if self.said.contains(&body) {
            return Ok(());
        }
        let words = ["--author", &self.author, "--", &self.task, &body];
        self.act(Verb::Comment, &words).map_err(|problem| self.trouble(problem))
    }

    fn beat(&mut self, note: &str) -> Result<(), Trouble> {
        let note = format!("--note={}", outward::text(note));
        let words = [note.as_str(), "--", &self.task];
        match self.act(Verb::Heartbeat, &words) {
            Ok(()) => Ok(()),
            Err(problem) => {
                let trouble = self.trouble(problem);
                // The claim may have been renewed just now.
                let again = || self.act(Verb::Heartbeat, &words).is_ok();
                if matches!(trouble, Trouble::Passing(_)) && again() {
                    Ok(())
                } else {
                    Err(trouble)
                }
            }
        }
    }

    fn stopped_by(&mut self, heard: u32) -> Result<Option<String>, Trouble> {
        let card = self.own_card()?;
        let skip = usize::try_from(heard).unwrap_or(usize::MAX).min(card.comments.len());
        let stop = kanban::stop_by(&card.comments[skip..], &self.author);
        Ok(stop.map(|comment| comment.author.clone()))
    }

    fn close(&mut self, by: &str) -> Result<(), Trouble> {
        let reason = format!("stop-requested by {by}");
        let words = [self.task.as_str(), "--", &reason];
        self.act(Verb::Block, &words).map_err(|problem| self.trouble(problem))
    }
}
