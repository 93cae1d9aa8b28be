//! Commits in a session's folder while it ran. Git is asked and changes nothing; no program that the repository names is run.

use std::time::Duration;

use dogwatch_base::git;
use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_store::Session;
use jiff::Timestamp;

use super::Period;

const AT_MOST: Duration = Duration::from_secs(20);
const MOST: &str = "--max-count=200";

/// A commit as git tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) commit: String,
    pub(super) at: Timestamp,
    pub(super) subject: String,
    pub(super) files: usize,
}

/// The commits on the branch that is checked out, oldest first; none outside of a repository.
pub(super) fn made(session: &Session, period: Period, ended: Option<Timestamp>) -> Vec<Made> {
    let since = period.since.max(session.created);
    let until = period.until.min(ended.unwrap_or(period.until));
    if since > until || !session.cwd.is_dir() {
        return Vec::new();
    }
    let mut command = git::command(&session.cwd);
    // Neither locks nor downloads.
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1");
    command.args(["-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "log", MOST]);
    command.args(["--no-ext-diff", "--no-textconv", "--no-color", "--name-only", "-z"]);
    command.arg("--format=%x1e%H%x1f%ct%x1f%s%x1f");
    command.arg(format!("--since={since}")).arg(format!("--until={until}"));
    let ended = program::run(command, b"", AT_MOST).logged("ask git for commits");
    let ended = ended.filter(program::Ended::is_fine);
    let printed = ended.map(|ended| ended.stdout.text()).unwrap_or_default();
    let mut all: Vec<Made> = printed.split('\u{1e}').filter_map(read).collect();
    all.retain(|one| one.at >= since && one.at <= until);
    all.reverse();
    all
}

fn read(text: &str) -> Option<Made> {
    let mut parts = text.splitn(4, '\u{1f}');
    let commit = parts.next()?.trim();
    let is_hash = commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    let at = Timestamp::from_second(parts.next()?.parse().ok()?).ok()?;
    let subject = parts.next()?.to_owned();
    let files = parts.next()?.split(['\0', '\n']).filter(|name| !name.is_empty()).count();
    is_hash.then(|| Made { commit: commit.to_owned(), at, subject, files })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_prints() {
        let hash = "0123456789012345678901234567890123456789";
        let text = format!("{hash}\u{1f}1794700000\u{1f}fix: it\u{1f}\0\na.rs\0b c.rs\0");
        let made = read(&text).unwrap();
        assert_eq!((made.subject.as_str(), made.files), ("fix: it", 2));
        assert_eq!(read(""), None);
        assert_eq!(read("x\u{1f}1\u{1f}y\u{1f}"), None);
    }
}
