//! How the work in a worktree is finished: from what git and tmux say now to the next steps, or why there are none.

use serde::{Deserialize, Serialize};

/// What becomes of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// A merge commit.
    Merge,
    /// Its commits on top of the target, without a merge commit.
    Rebase,
    /// One commit with all of it.
    Squash,
    /// Branch and folder stay.
    Keep,
    /// Branch and folder are removed, whatever is in them.
    Discard,
}

impl Way {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::Squash => "squash",
            Self::Keep => "keep",
            Self::Discard => "discard",
        }
    }

    /// How a worktree is called that was finished so.
    pub fn done(self) -> &'static str {
        match self {
            Self::Merge => "merged",
            Self::Rebase => "rebased",
            Self::Squash => "squashed",
            Self::Keep => "kept",
            Self::Discard => "discarded",
        }
    }

    /// Whether its commits go to another branch.
    pub fn combines(self) -> bool {
        matches!(self, Self::Merge | Self::Rebase | Self::Squash)
    }
}

/// What is true of a worktree at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Names of sessions that live in it.
    pub living: Vec<String>,
    /// Whether its folder exists and is a worktree.
    pub has_folder: bool,
    /// Files that are not committed, untracked ones too.
    pub uncommitted: Vec<String>,
    /// A merge, rebase or the like that is under way in it.
    pub operation: Option<String>,
    /// What is checked out in it, if it has commits that its branch lacks.
    pub elsewhere: Option<String>,
    /// The last commit of its branch; `None` if the branch was deleted.
    pub tip: Option<String>,
    /// dogwatch made the branch, and may delete it.
    pub owns_branch: bool,
    pub into: Option<Target>,
    /// Commits of the branch that the target lacks.
    pub ahead: usize,
    /// The work is in the target already: an earlier call was killed after that.
    pub is_combined: bool,
}

/// The branch that gets the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    pub name: String,
    /// `None` if there is no such branch.
    pub tip: Option<String>,
    /// A rebase of this very branch is under way in that folder.
    pub rebased_in: Option<String>,
}

/// What the caller agrees to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Consent {
    /// To end sessions that live in it.
    pub kill: bool,
    /// To lose what is not in another branch.
    pub discard: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// End its sessions. What is true afterwards has to be found out again.
    Stop,
    /// Make the commit that the target will be at, without touching any work tree.
    Combine,
    /// Move the target to it.
    Advance,
    /// Remove the folder; unless it is forced, only if nothing in it is uncommitted.
    Remove {
        force: bool,
    },
    DeleteBranch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Lives { names: Vec<String> },
    Uncommitted { files: Vec<String> },
    Operation { what: String },
    Elsewhere { at: String },
    BranchGone,
    NoTarget,
    TargetGone { name: String },
    TargetRebased { name: String, folder: String },
    NotConfirmed,
}

/// The steps from here. None are left to do if the result is empty.
pub fn plan(way: Way, facts: &Facts, consent: Consent) -> Result<Vec<Step>, Refusal> {
    let steps = steps(way, facts, consent)?;
    match facts.living.as_slice() {
        [] => Ok(steps),
        _ if consent.kill => Ok(vec![Step::Stop]),
        _ if way == Way::Keep => Ok(steps),
        names => Err(Refusal::Lives { names: names.to_vec() }),
    }
}

fn steps(way: Way, facts: &Facts, consent: Consent) -> Result<Vec<Step>, Refusal> {
    let delete = (facts.owns_branch && facts.tip.is_some()).then_some(Step::DeleteBranch);
    match way {
        Way::Keep => return Ok(Vec::new()),
        Way::Discard if !consent.discard => return Err(Refusal::NotConfirmed),
        Way::Discard => {
            return Ok([Step::Remove { force: true }].into_iter().chain(delete).collect());
        }
        Way::Merge | Way::Rebase | Way::Squash => {}
    }
    if facts.has_folder {
        if let Some(what) = &facts.operation {
            return Err(Refusal::Operation { what: what.clone() });
        }
        if !facts.uncommitted.is_empty() {
            return Err(Refusal::Uncommitted { files: facts.uncommitted.clone() });
        }
        if let Some(at) = &facts.elsewhere {
            return Err(Refusal::Elsewhere { at: at.clone() });
        }
    }
    let clean_up = [Step::Remove { force: false }].into_iter().chain(delete);
    if facts.is_combined {
        return Ok(clean_up.collect());
    }
    if facts.tip.is_none() {
        return Err(Refusal::BranchGone);
    }
    let into = facts.into.as_ref().ok_or(Refusal::NoTarget)?;
    if into.tip.is_none() {
        return Err(Refusal::TargetGone { name: into.name.clone() });
    }
    if facts.ahead == 0 {
        return Ok(clean_up.collect());
    }
    if let Some(folder) = &into.rebased_in {
        let (name, folder) = (into.name.clone(), folder.clone());
        return Err(Refusal::TargetRebased { name, folder });
    }
    Ok([Step::Combine, Step::Advance].into_iter().chain(clean_up).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Way; 5] = [Way::Merge, Way::Rebase, Way::Squash, Way::Keep, Way::Discard];
    const COMBINING: [Way; 3] = [Way::Merge, Way::Rebase, Way::Squash];
    const YES: Consent = Consent { kill: false, discard: true };
    const NO: Consent = Consent { kill: false, discard: false };

    /// One commit ahead, all committed, no session in it.
    fn ready() -> Facts {
        Facts {
            has_folder: true,
            tip: Some("t".into()),
            owns_branch: true,
            into: Some(Target { name: "main".into(), tip: Some("m".into()), rebased_in: None }),
            ahead: 1,
            ..Facts::default()
        }
    }

    #[test]
    fn the_usual_ways() {
        use Step::{Advance, Combine, DeleteBranch, Remove};
        for way in COMBINING {
            let wanted = vec![Combine, Advance, Remove { force: false }, DeleteBranch];
            assert_eq!(plan(way, &ready(), NO), Ok(wanted));
        }
        assert_eq!(plan(Way::Keep, &ready(), NO), Ok(vec![]));
        let wanted = vec![Remove { force: true }, DeleteBranch];
        assert_eq!(plan(Way::Discard, &ready(), YES), Ok(wanted));
        let theirs = Facts { owns_branch: false, ..ready() };
        assert_eq!(plan(Way::Discard, &theirs, YES), Ok(vec![Remove { force: true }]));
    }

    #[test]
    fn nothing_uncommitted_is_lost() {
        let dirty = Facts { uncommitted: vec!["a".into()], ..ready() };
        for way in COMBINING {
            let refused = Err(Refusal::Uncommitted { files: vec!["a".into()] });
            assert_eq!(plan(way, &dirty, YES), refused, "not even with --yes");
            let combined = Facts { is_combined: true, ..dirty.clone() };
            assert_eq!(plan(way, &combined, YES), refused);
        }
        assert_eq!(plan(Way::Keep, &dirty, NO), Ok(vec![]));
        assert_eq!(plan(Way::Discard, &dirty, NO), Err(Refusal::NotConfirmed));
        assert!(plan(Way::Discard, &dirty, YES).is_ok());
    }

    #[test]
    fn a_living_session_is_ended_only_on_request_and_only_if_the_rest_is_possible() {
        let lives = Facts { living: vec!["api".into()], ..ready() };
        let kill = Consent { kill: true, discard: true };
        for way in ALL {
            assert_eq!(plan(way, &lives, kill), Ok(vec![Step::Stop]));
            if way == Way::Keep {
                assert_eq!(plan(way, &lives, NO), Ok(vec![]));
                continue;
            }
            let refused = Err(Refusal::Lives { names: vec!["api".into()] });
            assert_eq!(plan(way, &lives, YES), refused);
        }
        let dirty = Facts { uncommitted: vec!["a".into()], ..lives };
        let refused = plan(Way::Merge, &dirty, kill);
        assert!(
            matches!(refused, Err(Refusal::Uncommitted { .. })),
            "it was not killed for nothing"
        );
    }

    #[test]
    fn what_is_in_the_way() {
        let gone = |facts: &Facts| Facts { tip: None, ..facts.clone() };
        let table: [(Facts, Refusal); 6] = [
            (
                Facts { operation: Some("rebase".into()), ..ready() },
                Refusal::Operation { what: "rebase".into() },
            ),
            (
                Facts { elsewhere: Some("other".into()), ..ready() },
                Refusal::Elsewhere { at: "other".into() },
            ),
            (gone(&ready()), Refusal::BranchGone),
            (Facts { into: None, ..ready() }, Refusal::NoTarget),
            (
                Facts { into: Some(Target { name: "x".into(), ..Target::default() }), ..ready() },
                Refusal::TargetGone { name: "x".into() },
            ),
            (
                Facts {
                    into: Some(Target { rebased_in: Some("/p".into()), ..ready().into.unwrap() }),
                    ..ready()
                },
                Refusal::TargetRebased { name: "main".into(), folder: "/p".into() },
            ),
        ];
        for (facts, refusal) in table {
            for way in COMBINING {
                assert_eq!(plan(way, &facts, YES), Err(refusal.clone()));
            }
            assert!(plan(Way::Discard, &facts, YES).is_ok());
            assert!(plan(Way::Keep, &facts, NO).is_ok());
        }
    }

    #[test]
    fn what_was_done_is_not_done_again() {
        let clean_up = vec![Step::Remove { force: false }, Step::DeleteBranch];
        for way in COMBINING {
            let combined = Facts { is_combined: true, ..ready() };
            assert_eq!(plan(way, &combined, NO), Ok(clean_up.clone()));
            let merged_by_hand = Facts { ahead: 0, ..ready() };
            assert_eq!(plan(way, &merged_by_hand, NO), Ok(clean_up.clone()));
            let branch_gone = Facts { tip: None, ..combined };
            assert_eq!(plan(way, &branch_gone, NO), Ok(vec![Step::Remove { force: false }]));
        }
    }

    /// A folder that was deleted by hand does not keep its branch from being merged.
    #[test]
    fn without_a_folder_the_branch_decides() {
        let facts =
            Facts { has_folder: false, operation: Some("x".into()), elsewhere: None, ..ready() };
        assert!(plan(Way::Merge, &facts, NO).is_ok());
    }
}
