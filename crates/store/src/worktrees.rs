//! Worktrees of sessions: what was made, and how far finishing has come. git has the truth; this says what it was for.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use dogwatch_core::record::ProcessIdent;
use dogwatch_core::worktree::finish::Way;
use dogwatch_protocol::id::SessionId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use crate::{Identity, Store, StoreError};

/// A worktree as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub session: SessionId,
    /// The session's name when it was started.
    pub name: String,
    /// git's directory that all worktrees of the repository share.
    pub repository: PathBuf,
    /// The work tree that it was made from.
    pub home: PathBuf,
    pub folder: PathBuf,
    /// Which folder git made there; `None` until it did, and for worktrees of older versions.
    pub identity: Option<Identity>,
    pub branch: String,
    /// Whether the branch was made for it.
    pub owns_branch: bool,
    /// The branch that its work goes to.
    pub target: Option<String>,
    /// The commit that it began at.
    pub base: String,
    pub stage: WorktreeStage,
    /// The process that makes it.
    pub maker: ProcessIdent,
    pub made: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeStage {
    /// No session was started in it yet.
    Making,
    Ready,
    /// A command finishes it, or was killed while it did.
    Finishing(Finishing),
    Finished(Finishing),
}

/// How far finishing has come. Each field is written before the next step is taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finishing {
    pub way: Way,
    /// The last commit of the branch when it was combined.
    #[serde(default)]
    pub tip: Option<String>,
    /// What it was combined with: branch and commit.
    #[serde(default)]
    pub into: Option<String>,
    #[serde(default)]
    pub onto: Option<String>,
    /// The commit that the target gets.
    #[serde(default)]
    pub result: Option<String>,
}

impl Finishing {
    pub fn begun(way: Way) -> Self {
        Self { way, tip: None, into: None, onto: None, result: None }
    }
}

impl Worktree {
    /// How it was finished.
    pub fn finished(&self) -> Option<&Finishing> {
        match &self.stage {
            WorktreeStage::Finished(how) => Some(how),
            _ => None,
        }
    }
}

const COLUMNS: &str = "session, name, repository, home, folder, branch, owns_branch, target, base, stage, finishing, \
                       maker_pid, maker_start, made, device, inode";

impl Store {
    /// Records a worktree before it is made.
    pub fn add_worktree(&mut self, new: &Worktree) -> Result<(), StoreError> {
        let (stage, finishing) = written(&new.stage);
        self.transaction(|tx| {
            tx.execute(
                "INSERT INTO worktrees (session, name, repository, home, folder, branch, owns_branch, target, base, stage, \
                 finishing, maker_pid, maker_start, made, changed) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?14, ?14)",
                params![
                    new.session.as_str(),
                    new.name,
                    bytes(&new.repository),
                    bytes(&new.home),
                    bytes(&new.folder),
                    new.branch,
                    new.owns_branch,
                    new.target,
                    new.base,
                    stage,
                    finishing,
                    new.maker.pid,
                    new.maker.start.cast_signed(),
                    new.made.as_millisecond(),
                ],
            )
            .map(drop)
        })
    }

    pub fn set_worktree_stage(
        &mut self,
        session: &str,
        stage: &WorktreeStage,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (word, finishing) = written(stage);
        self.transaction(|tx| {
            tx.execute(
                "UPDATE worktrees SET stage = ?, finishing = ?, changed = ? WHERE session = ?",
                params![word, finishing, at.as_millisecond(), session],
            )
            .map(drop)
        })
    }

    /// Records which folder was made.
    pub fn identify_worktree(
        &mut self,
        session: &str,
        identity: Identity,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                "UPDATE worktrees SET device = ?, inode = ? WHERE session = ?",
                params![identity.device.cast_signed(), identity.inode.cast_signed(), session],
            )
            .map(drop)
        })
    }

    /// The name that the session got in the end.
    pub fn name_worktree(&mut self, session: &str, name: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute("UPDATE worktrees SET name = ? WHERE session = ?", [name, session]).map(drop)
        })
    }

    pub fn forget_worktree(&mut self, session: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute("DELETE FROM worktrees WHERE session = ?", [session]).map(drop)
        })
    }

    pub fn worktree(&self, session: &str) -> Result<Option<Worktree>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM worktrees WHERE session = ?");
        self.read(|c| c.prepare_cached(&sql)?.query_row([session], from_row).optional())
    }

    /// Worktrees whose session had that name, or whose branch has it: the newest first, unfinished ones before the others.
    pub fn worktrees_called(&self, name: &str) -> Result<Vec<Worktree>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM worktrees WHERE name = ?1 OR branch = ?1 \
             ORDER BY stage IN ('ready', 'finishing') DESC, made DESC"
        );
        self.read(|c| c.prepare_cached(&sql)?.query_map([name], from_row)?.collect())
    }

    /// All worktrees, oldest first.
    pub fn worktrees(&self) -> Result<Vec<Worktree>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM worktrees ORDER BY made, session");
        self.read(|c| c.prepare_cached(&sql)?.query_map([], from_row)?.collect())
    }
}

fn written(stage: &WorktreeStage) -> (&'static str, Option<String>) {
    let text = |finishing: &Finishing| serde_json::to_string(finishing).ok();
    match stage {
        WorktreeStage::Making => ("making", None),
        WorktreeStage::Ready => ("ready", None),
        WorktreeStage::Finishing(how) => ("finishing", text(how)),
        WorktreeStage::Finished(how) => (how.way.done(), text(how)),
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Worktree> {
    let path =
        |at: usize| row.get::<_, Vec<u8>>(at).map(|path| PathBuf::from(OsStr::from_bytes(&path)));
    let (word, text): (String, Option<String>) = (row.get(9)?, row.get(10)?);
    // A newer version may have written more; what cannot be read is done anew, by git's truth.
    let finishing = text.and_then(|text| serde_json::from_str(&text).ok());
    let stage = match (word.as_str(), finishing) {
        ("making", _) => WorktreeStage::Making,
        ("finishing", Some(how)) => WorktreeStage::Finishing(how),
        ("ready" | "finishing", _) | (_, None) => WorktreeStage::Ready,
        (_, Some(how)) => WorktreeStage::Finished(how),
    };
    let number = |at: usize| row.get::<_, Option<i64>>(at).map(|n| n.map(i64::cast_unsigned));
    let identity = number(14)?.zip(number(15)?).map(|(device, inode)| Identity { device, inode });
    let made = Timestamp::from_millisecond(row.get(13)?).unwrap_or(Timestamp::UNIX_EPOCH);
    Ok(Worktree {
        session: row.get::<_, String>(0)?.into(),
        name: row.get(1)?,
        repository: path(2)?,
        home: path(3)?,
        folder: path(4)?,
        identity,
        branch: row.get(5)?,
        owns_branch: row.get(6)?,
        target: row.get(7)?,
        base: row.get(8)?,
        stage,
        maker: ProcessIdent { pid: row.get(11)?, start: row.get::<_, i64>(12)?.cast_unsigned() },
        made,
    })
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// The file's path and the hash of the content that was trusted.
impl Store {
    /// Records that a file of this content is trusted, and no other one at this path.
    pub fn trust(&mut self, path: &Path, hash: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                "INSERT OR REPLACE INTO trusted (path, hash, at) VALUES (?, ?, ?)",
                params![bytes(path), hash, at.as_millisecond()],
            )
            .map(drop)
        })
    }

    /// The hash that is trusted at this path.
    pub fn trusted(&self, path: &Path) -> Result<Option<String>, StoreError> {
        let sql = "SELECT hash FROM trusted WHERE path = ?";
        self.read(|c| c.query_row(sql, params![bytes(path)], |row| row.get(0)).optional())
    }

    /// False if it was not trusted.
    pub fn untrust(&mut self, path: &Path) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            tx.execute("DELETE FROM trusted WHERE path = ?", params![bytes(path)]).map(|n| n > 0)
        })
    }

    /// Sessions that hold numbers.
    pub fn holders(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT session FROM allocated";
        self.read(|c| c.prepare(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    /// Gives numbers to a session, all or none. `freed` are sessions that are over. `choose` gets a name and the numbers that
    /// others have, and returns one that is not among them.
    pub fn allocate<E>(
        &mut self,
        session: &str,
        names: &[&str],
        freed: &[String],
        at: Timestamp,
        mut choose: impl FnMut(&str, &std::collections::BTreeSet<u32>) -> Result<u32, E>,
    ) -> Result<Result<Vec<(String, u32)>, E>, StoreError> {
        self.transaction(|tx| {
            for session in freed {
                tx.execute("DELETE FROM allocated WHERE session = ?", [session])?;
            }
            let mut taken: std::collections::BTreeSet<u32> = tx
                .prepare("SELECT value FROM allocated")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let mut given = Vec::new();
            for name in names {
                let value = match choose(name, &taken) {
                    Ok(value) => value,
                    Err(none) => {
                        tx.execute("DELETE FROM allocated WHERE session = ?", [session])?;
                        return Ok(Err(none));
                    }
                };
                tx.execute(
                    "INSERT INTO allocated (value, name, session, at) VALUES (?, ?, ?, ?)",
                    params![value, name, session, at.as_millisecond()],
                )?;
                taken.insert(value);
                given.push(((*name).to_owned(), value));
            }
            Ok(Ok(given))
        })
    }

    /// Frees the numbers of a session.
    pub fn free(&mut self, session: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute("DELETE FROM allocated WHERE session = ?", [session]).map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    fn store() -> (tempfile::TempDir, Store) {
        let tmp = tempfile::tempdir().unwrap();
        let store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        (tmp, store)
    }

    fn worktree(session: &str) -> Worktree {
        Worktree {
            session: session.into(),
            name: "api".into(),
            repository: "/r/.git".into(),
            home: "/r".into(),
            folder: PathBuf::from(OsStr::from_bytes(b"/w/\xff x")),
            identity: None,
            branch: "dogwatch/api".into(),
            owns_branch: true,
            target: Some("main".into()),
            base: "abc".into(),
            stage: WorktreeStage::Making,
            maker: ProcessIdent { pid: 7, start: u64::MAX },
            made: Timestamp::from_second(5).unwrap(),
        }
    }

    #[test]
    fn a_worktree_is_read_as_it_was_written() {
        let (_tmp, mut store) = store();
        let mut one = worktree("a");
        store.add_worktree(&one).unwrap();
        assert_eq!(store.worktree("a").unwrap().as_ref(), Some(&one));
        let identity = Identity { device: 7, inode: u64::MAX };
        store.identify_worktree("a", identity).unwrap();
        one.identity = Some(identity);
        let mut how = Finishing::begun(Way::Squash);
        how.result = Some("r".into());
        for stage in [
            WorktreeStage::Ready,
            WorktreeStage::Finishing(how.clone()),
            WorktreeStage::Finished(how),
        ] {
            store.set_worktree_stage("a", &stage, Timestamp::UNIX_EPOCH).unwrap();
            one.stage = stage;
            assert_eq!(store.worktree("a").unwrap().as_ref(), Some(&one));
        }
        let newer = Worktree { stage: WorktreeStage::Ready, ..worktree("b") };
        store.add_worktree(&newer).unwrap();
        let called = store.worktrees_called("api").unwrap();
        assert_eq!(called[0].session.as_str(), "b", "unfinished ones first");
        assert_eq!(store.worktrees_called("dogwatch/api").unwrap().len(), 2);
        store.forget_worktree("a").unwrap();
        assert_eq!(store.worktrees().unwrap(), [newer]);
    }

    #[test]
    fn a_path_is_trusted_with_one_content() {
        let (_tmp, mut store) = store();
        let (path, at) = (Path::new("/p/.dogwatch.toml"), Timestamp::UNIX_EPOCH);
        assert_eq!(store.trusted(path).unwrap(), None);
        store.trust(path, "1", at).unwrap();
        store.trust(path, "2", at).unwrap();
        assert_eq!(store.trusted(path).unwrap().as_deref(), Some("2"));
        assert!(store.untrust(path).unwrap() && !store.untrust(path).unwrap());
        assert_eq!(store.trusted(path).unwrap(), None);
    }

    #[test]
    fn numbers_are_unique_until_they_are_freed() {
        let (_tmp, mut store) = store();
        let at = Timestamp::UNIX_EPOCH;
        let choose = |_: &str, taken: &std::collections::BTreeSet<u32>| {
            (1..=3).find(|n| !taken.contains(n)).ok_or("none")
        };
        let given = |names: &[(&str, u32)]| {
            Ok(names.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect::<Vec<_>>())
        };
        let two = store.allocate("a", &["X", "Y"], &[], at, choose).unwrap();
        assert_eq!(two, given(&[("X", 1), ("Y", 2)]));
        assert_eq!(store.allocate("b", &["X", "Y"], &[], at, choose).unwrap(), Err("none"));
        assert_eq!(store.holders().unwrap(), ["a"], "all or none");
        let freed = ["a".to_owned()];
        let one = store.allocate("b", &["X"], &freed, at, choose).unwrap();
        assert_eq!(one, given(&[("X", 1)]));
        store.free("b").unwrap();
        assert!(store.holders().unwrap().is_empty());
    }
}
