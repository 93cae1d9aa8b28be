//! Which requests are executed: fresh ones, from a broker that authenticates its clients, in configured directories.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::Envelope;

/// The greatest age of a request without an expiry time.
const MOST_AGE: SignedDuration = SignedDuration::from_mins(5);
/// The longest validity of a request. Ids are stored for much longer, so none is executed twice.
const LONGEST_HOLD: SignedDuration = SignedDuration::from_hours(24);
/// Tolerance between the clocks of two hosts.
const SKEW: SignedDuration = SignedDuration::from_mins(2);

/// Why a request is too old or too new.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    #[error("\"issued\" is missing; add the time of the request")]
    NoTime,
    #[error("issued {0} s in the future; check the clocks of both hosts")]
    Future(i64),
    #[error("expired")]
    Late,
}

/// Whether a request was issued recently. Without this check, a recorded request could be replayed.
pub fn freshness(envelope: &Envelope, now: Timestamp) -> Result<(), Stale> {
    let issued = envelope.issued.ok_or(Stale::NoTime)?;
    let age = now.duration_since(issued);
    if age < -SKEW {
        return Err(Stale::Future(-age.as_secs()));
    }
    let holds = match envelope.expires {
        Some(expires) if expires < now => return Err(Stale::Late),
        Some(_) => LONGEST_HOLD,
        None => MOST_AGE,
    };
    if age > holds { Err(Stale::Late) } else { Ok(()) }
}

/// Where and how agents are started for other hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpawnTerms {
    /// Absolute paths; agents start only below these.
    pub folders: Vec<PathBuf>,
    /// Whether agents may be started without permission prompts.
    pub unattended: bool,
}

/// Why an agent is not started for another host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnRefused {
    #[error(
        "its config.toml allows no folders for remote spawns; add [fleet.spawn] folders = [\"…\"]"
    )]
    NoFolders,
    #[error("{} is not below a folder of [fleet.spawn] in its config.toml", .0.display())]
    Outside(PathBuf),
    #[error(
        "unattended agents are not allowed; set [fleet.spawn] unattended = true in its config.toml"
    )]
    Unattended,
}

impl SpawnTerms {
    /// `folder` and `allowed` must be resolved: no links, no dots. Compared by path components, so that `/srv/a` does not contain `/srv/ab`.
    pub fn check(
        &self,
        allowed: &[PathBuf],
        folder: &Path,
        unattended: bool,
    ) -> Result<(), SpawnRefused> {
        if self.folders.is_empty() {
            return Err(SpawnRefused::NoFolders);
        }
        if !allowed.iter().any(|allowed| folder.starts_with(allowed)) {
            return Err(SpawnRefused::Outside(folder.to_owned()));
        }
        if unattended && !self.unattended {
            return Err(SpawnRefused::Unattended);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fresh_requests_are_executed() {
        let now = Timestamp::from_second(1_794_700_000).unwrap();
        let at = |seconds: i64| Some(now + SignedDuration::from_secs(seconds));
        let table = [
            (at(0), None, Ok(())),
            (at(-290), None, Ok(())),
            (at(-301), None, Err(Stale::Late)),
            (at(-3000), at(5), Ok(())),
            (at(-10), at(-1), Err(Stale::Late)),
            (at(-100_000), at(1_000_000), Err(Stale::Late)),
            (at(100), None, Ok(())),
            (at(130), at(500), Err(Stale::Future(130))),
            (None, at(10), Err(Stale::NoTime)),
        ];
        for (issued, expires, want) in table {
            let envelope = Envelope { id: "1".into(), from: None, issued, expires };
            assert_eq!(freshness(&envelope, now), want, "{envelope:?}");
        }
    }

    #[test]
    fn only_allowed_directories_are_used() {
        let terms = |folders: &[&str], unattended| SpawnTerms {
            folders: folders.iter().map(PathBuf::from).collect(),
            unattended,
        };
        let outside = |path: &str| Err(SpawnRefused::Outside(path.into()));
        let table = [
            (terms(&[], true), "/srv/a", false, Err(SpawnRefused::NoFolders)),
            (terms(&["/srv/a"], false), "/srv/a", false, Ok(())),
            (terms(&["/srv/a"], false), "/srv/a/b/c", false, Ok(())),
            (terms(&["/srv/a"], false), "/srv/ab", false, outside("/srv/ab")),
            (terms(&["/srv/a"], false), "/srv", false, outside("/srv")),
            (terms(&["/srv/a", "/x"], false), "/x/y", false, Ok(())),
            (terms(&["/srv/a"], false), "/srv/a", true, Err(SpawnRefused::Unattended)),
            (terms(&["/srv/a"], true), "/srv/a", true, Ok(())),
        ];
        for (terms, folder, unattended, want) in table {
            let allowed = terms.folders.clone();
            assert_eq!(terms.check(&allowed, Path::new(folder), unattended), want, "{folder}");
        }
    }
}
