//! Finishing the work in a worktree: `core/src/worktree/finish.rs` decides the steps from what is true now, and each is recorded
//! before the next. A call that was killed is continued by the next one.

mod facts;

use std::path::PathBuf;

use dogwatch_base::log::Logged as _;
use dogwatch_core::worktree::finish::{Consent, Refusal, Step, Way, plan};
use dogwatch_store::{Finishing, Worktree, WorktreeStage};
use jiff::Timestamp;

pub use facts::{Gathered, gather, living};

use crate::actions::spawn::worktree::recover;
use crate::actions::{diff, kill};
use crate::error::WorktreeError;
use crate::observe::processes;
use crate::worktree::combine::{self, Advanced, Combination, Combined};
use crate::worktree::remove::{Removable, Removal, remove};
use crate::worktree::repository::{self, Repository};
use crate::worktree::take_back::{Before, take_back};
use crate::worktree::{make, owner, provide, step};
use crate::{Context, Error};

/// How often the target may move under us.
const TRIES: u32 = 5;
/// How many file names an error lists.
const SHOWN: usize = 10;

/// How to finish.
#[derive(Debug, Clone)]
pub struct Request {
    pub way: Way,
    /// The branch that gets the work, if not the one that it began at.
    pub into: Option<String>,
    /// The message of a merge or squash commit.
    pub message: Option<String>,
    pub consent: Consent,
}

/// What became of it.
#[derive(Debug, Clone)]
pub struct Finished {
    pub worktree: Worktree,
    pub way: Way,
    pub into: Option<String>,
    /// The commit that the target is at.
    pub commit: Option<String>,
    pub tip: Option<String>,
    pub folder_removed: bool,
    pub branch_removed: bool,
    /// How many commits were in no other branch when the branch was removed.
    pub lost: usize,
    pub killed: Vec<String>,
    pub notes: Vec<String>,
}

/// Finishes the worktree of a session.
pub fn finish(context: &Context, target: &str, request: &Request) -> Result<Finished, Error> {
    recover(context)?;
    let found = diff::find(context, target)?;
    // Two calls at once: the second one sees what the first has done.
    let _lock = make::lock(context, &found.repository)?;
    let store = context.store()?;
    let worktree = store.worktree(&found.session)?.unwrap_or(found);
    drop(store);
    finish_locked(context, worktree, request)
}

/// The same for a caller that holds the repository's lock.
pub(crate) fn finish_locked(
    context: &Context,
    worktree: Worktree,
    request: &Request,
) -> Result<Finished, Error> {
    let name = worktree.name.clone();
    match &worktree.stage {
        WorktreeStage::Making if processes::is_alive(worktree.maker) => {
            return Err(WorktreeError::BeingMade { name }.into());
        }
        WorktreeStage::Finished(how) if how.way != Way::Keep => {
            return Err(WorktreeError::AlreadyFinished { name, how: how.way.done() }.into());
        }
        _ => {}
    }
    let mut finishing = Finisher {
        context,
        request,
        finished: Finished {
            way: request.way,
            into: None,
            commit: None,
            tip: None,
            folder_removed: false,
            branch_removed: false,
            lost: 0,
            killed: Vec::new(),
            notes: Vec::new(),
            worktree,
        },
    };
    finishing.tidy_target()?;
    finishing.run()?;
    Ok(finishing.finished)
}

struct Finisher<'a> {
    context: &'a Context,
    request: &'a Request,
    finished: Finished,
}

/// Whether to go on with the next step, or to look at everything again.
enum Next {
    Step,
    LookAgain,
}

impl Finisher<'_> {
    /// An earlier call may have been killed while git updated the work tree that has the target checked out.
    fn tidy_target(&self) -> Result<(), Error> {
        let WorktreeStage::Finishing(before) = &self.finished.worktree.stage else { return Ok(()) };
        let Finishing { into: Some(into), onto: Some(onto), result: Some(result), .. } = before
        else {
            return Ok(());
        };
        let home = diff::repository(&self.finished.worktree)?;
        if home.tip(into)?.as_ref() == Some(onto)
            && let Some(folder) = home.checked_out(into)?
        {
            take_back(&folder, onto, result, Before::Unknown)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        for _ in 0..TRIES {
            let into = self.request.into.as_deref();
            let gathered = gather(self.context, &self.finished.worktree, into)?;
            self.finished.tip.clone_from(&gathered.facts.tip);
            let steps = plan(self.request.way, &gathered.facts, self.request.consent)
                .map_err(|refusal| self.refused(refusal))?;
            let mut record = self.record(&gathered);
            if steps.first() != Some(&Step::Stop) && self.request.way != Way::Keep {
                self.set_stage(&WorktreeStage::Finishing(record.clone()))?;
            }
            let mut again = false;
            for one in steps {
                step();
                if matches!(self.perform(one, &gathered, &mut record)?, Next::LookAgain) {
                    again = true;
                    break;
                }
            }
            if !again {
                return self.complete(record, &gathered);
            }
        }
        self.set_stage(&WorktreeStage::Ready)?;
        let branch = self.request.into.clone().or(self.finished.worktree.target.clone());
        Err(WorktreeError::TargetMoved { branch: branch.unwrap_or_default() }.into())
    }

    /// What is to be recorded: of an earlier call that has combined the work already, its own.
    fn record(&self, gathered: &Gathered) -> Finishing {
        match &self.finished.worktree.stage {
            WorktreeStage::Finishing(before) if gathered.facts.is_combined => before.clone(),
            _ => Finishing::begun(self.request.way),
        }
    }

    fn set_stage(&mut self, stage: &WorktreeStage) -> Result<(), Error> {
        let session = self.finished.worktree.session.clone();
        self.context.store()?.set_worktree_stage(&session, stage, Timestamp::now())?;
        self.finished.worktree.stage = stage.clone();
        Ok(())
    }

    fn perform(
        &mut self,
        one: Step,
        gathered: &Gathered,
        record: &mut Finishing,
    ) -> Result<Next, Error> {
        match one {
            Step::Stop => {
                self.stop(gathered)?;
                return Ok(Next::LookAgain);
            }
            Step::Combine => self.combine(gathered, record)?,
            Step::Advance => return self.advance(gathered, record),
            Step::Remove { force } => self.remove(force),
            Step::DeleteBranch => self.delete_branch(gathered)?,
        }
        Ok(Next::Step)
    }

    fn stop(&mut self, gathered: &Gathered) -> Result<(), Error> {
        let own = self.context.caller.session.as_deref();
        if gathered.living.iter().any(|seen| own == Some(seen.session.id.as_str())) {
            return Err(WorktreeError::WouldEndItself.into());
        }
        if gathered.living.len() < gathered.facts.living.len() {
            // On another tmux server, which this call does not talk to.
            return Err(WorktreeError::Lives { names: gathered.facts.living.clone() }.into());
        }
        for killed in kill::kill_all(self.context, &gathered.living, false, Timestamp::now())? {
            killed?;
        }
        let names = gathered.living.iter().map(|seen| seen.session.name.clone());
        self.finished.killed.extend(names);
        Ok(())
    }

    fn combine(&mut self, gathered: &Gathered, record: &mut Finishing) -> Result<(), Error> {
        let (into, onto, tip) = combined_of(gathered)?;
        let scratch = self.scratch();
        let message = match &self.request.message {
            Some(message) => message.clone(),
            None => self.message(gathered, &into, &onto, &tip)?,
        };
        let what = Combination {
            way: self.request.way,
            tip: &tip,
            onto: &onto,
            message: &message,
            scratch: &scratch,
            resolve: None,
        };
        let combined = combine::combine(&gathered.home, what);
        if !matches!(combined, Ok(Combined::Commit(_))) {
            self.set_stage(&WorktreeStage::Ready)?;
        }
        match combined? {
            Combined::Commit(result) => {
                let way = self.request.way;
                *record = Finishing {
                    way,
                    tip: Some(tip),
                    into: Some(into),
                    onto: Some(onto),
                    result: Some(result),
                };
                self.set_stage(&WorktreeStage::Finishing(record.clone()))
            }
            Combined::Conflict(files) => Err(WorktreeError::Conflict {
                files: shown(&files),
                into,
                folder: self.finished.worktree.folder.clone(),
                way: self.request.way.as_str(),
            }
            .into()),
        }
    }

    /// A folder for combining, which belongs to this worktree alone.
    fn scratch(&self) -> PathBuf {
        let name = format!(".combine-{}", self.finished.worktree.session);
        // It is removed by a path without links.
        owner::real(self.context.state.root()).join("worktrees").join(name)
    }

    /// The message of the commit: what the commits say themselves.
    fn message(
        &self,
        gathered: &Gathered,
        into: &str,
        onto: &str,
        tip: &str,
    ) -> Result<String, Error> {
        let Worktree { branch, name, .. } = &self.finished.worktree;
        if self.request.way != Way::Squash {
            return Ok(format!("Merge branch '{branch}' into {into}"));
        }
        let range = format!("{onto}..{tip}");
        let home = &gathered.home;
        if home.count(onto, tip)? == 1 {
            return home.ask(&["log", "-1", "--format=%B", tip]);
        }
        let subjects =
            home.ask(&["log", "--reverse", "-n", "200", "--no-merges", "--format=- %s", &range])?;
        Ok(format!("Work of {name}\n\n{subjects}"))
    }

    fn advance(&mut self, gathered: &Gathered, record: &Finishing) -> Result<Next, Error> {
        let Finishing { into: Some(into), onto: Some(onto), result: Some(result), .. } = record
        else {
            return Ok(Next::LookAgain);
        };
        match combine::advance(&gathered.home, into, onto, result)? {
            Advanced::Done => Ok(Next::Step),
            Advanced::Moved => Ok(Next::LookAgain),
            Advanced::Refused { folder, said } => {
                self.set_stage(&WorktreeStage::Ready)?;
                Err(WorktreeError::TargetDirty { folder, said }.into())
            }
        }
    }

    fn remove(&mut self, force: bool) {
        let folder = &self.finished.worktree.folder;
        match remove(Removable::of(&self.finished.worktree, force)) {
            Ok(Removal::Gone) => self.finished.folder_removed = true,
            Ok(Removal::Left(why)) => {
                self.finished.notes.push(format!("{} stays: {why}", folder.display()));
            }
            Err(error) => {
                self.finished.notes.push(format!("{} stays: {error}", folder.display()));
            }
        }
    }

    /// Deletes the branch as it was seen, and not if it has moved since.
    fn delete_branch(&mut self, gathered: &Gathered) -> Result<(), Error> {
        let branch = &self.finished.worktree.branch;
        let Some(tip) = &gathered.facts.tip else { return Ok(()) };
        if let Some(folder) = gathered.home.checked_out(branch)? {
            if folder != owner::place(&self.finished.worktree.folder)
                || self.finished.folder_removed
            {
                let note = format!("the branch {branch} stays: {} has it", folder.display());
                self.finished.notes.push(note);
            }
            return Ok(());
        }
        let lost = only_in(&gathered.home, branch, tip)?;
        let name = format!("refs/heads/{branch}");
        let said = gathered.home.run(&["update-ref", "-d", &name, tip], b"")?;
        if said.is_fine() {
            (self.finished.branch_removed, self.finished.lost) = (true, lost);
        } else {
            let note = format!("the branch {branch} stays: {}", said.complaint());
            self.finished.notes.push(note);
        }
        Ok(())
    }

    fn complete(&mut self, mut record: Finishing, gathered: &Gathered) -> Result<(), Error> {
        if self.request.way.combines() {
            self.finished.way = record.way;
            let target = gathered.facts.into.as_ref();
            let into = record.into.clone().or_else(|| target.map(|into| into.name.clone()));
            record.into.clone_from(&into);
            if record.onto.is_none() {
                // It was merged before, by hand.
                record.onto = Some(self.finished.worktree.base.clone());
            }
            if let Some(into) = &into {
                self.finished.commit = gathered.home.tip(into)?;
            }
            self.finished.into = into;
        } else {
            record = Finishing::begun(self.request.way);
        }
        record.tip = record.tip.or_else(|| gathered.facts.tip.clone());
        step();
        self.set_stage(&WorktreeStage::Finished(record))?;
        let session = self.finished.worktree.session.clone();
        if gathered.facts.living.is_empty() {
            self.context.store()?.free(&session).logged("free the numbers of a session");
        }
        if self.finished.folder_removed {
            std::fs::remove_file(provide::log_file(self.context, &session))
                .or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })
                .logged("remove a file");
        }
        Ok(())
    }

    fn refused(&self, refusal: Refusal) -> Error {
        let Worktree { folder, branch, .. } = self.finished.worktree.clone();
        match refusal {
            Refusal::Lives { names } => WorktreeError::Lives { names },
            Refusal::Uncommitted { files } => {
                WorktreeError::Uncommitted { folder, files: shown(&files) }
            }
            Refusal::Operation { what } => WorktreeError::Operation { folder, what },
            Refusal::Elsewhere { at } => WorktreeError::OtherBranch { folder, at, branch },
            Refusal::BranchGone => WorktreeError::BranchGone { branch },
            Refusal::NoTarget => WorktreeError::NoTarget,
            Refusal::TargetGone { name } => WorktreeError::TargetGone { branch: name },
            Refusal::TargetRebased { name, folder } => {
                WorktreeError::TargetBusy { branch: name, folder: folder.into() }
            }
            Refusal::NotConfirmed => WorktreeError::NotConfirmed,
        }
        .into()
    }
}

/// Target, its commit, and the commit of the branch.
fn combined_of(gathered: &Gathered) -> Result<(String, String, String), Error> {
    let into = gathered.facts.into.clone();
    match (into.and_then(|into| Some((into.name, into.tip?))), gathered.facts.tip.clone()) {
        (Some((name, onto)), Some(tip)) => Ok((name, onto, tip)),
        _ => Err(WorktreeError::NoTarget.into()),
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

/// The first of many files.
fn shown(files: &[String]) -> String {
    let more = files.len().saturating_sub(SHOWN);
    let text = files[..files.len().min(SHOWN)].join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// What `--discard` would lose, for the question.
#[derive(Debug)]
pub struct AtStake {
    pub worktree: Worktree,
    /// Commits in no other branch.
    pub commits: usize,
    pub uncommitted: usize,
    /// Files and folders that git ignores, and that are nowhere else.
    pub ignored: usize,
}

pub fn at_stake(context: &Context, target: &str) -> Result<AtStake, Error> {
    let worktree = diff::find(context, target)?;
    let home = diff::repository(&worktree)?;
    let commits = match home.tip(&worktree.branch)? {
        Some(tip) => only_in(&home, &worktree.branch, &tip)?,
        None => 0,
    };
    let (mut uncommitted, mut ignored) = (0, 0);
    if owner::has(&worktree) {
        uncommitted = repository::uncommitted(&worktree.folder)?.len();
        ignored = repository::ignored(&worktree.folder, &worktree.home)?.len();
    }
    Ok(AtStake { worktree, commits, uncommitted, ignored })
}

/// How many commits of a branch no other branch has, and no tag.
fn only_in(home: &Repository, branch: &str, tip: &str) -> Result<usize, Error> {
    // Without `refs/heads`: it belongs to `--branches`.
    let own = format!("--exclude={branch}");
    let others = ["--not", &own, "--branches", "--remotes", "--tags"];
    let text = home.ask(&[&["rev-list", "--count", tip][..], &others].concat())?;
    Ok(text.parse().unwrap_or(0))
}
