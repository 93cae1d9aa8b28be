//! Files that the original helper left in the temporary directory. They are never read, only removed as that helper would, so that
//! users who switch need not do it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use dogwatch_base::log::{Logged as _, LoggedIo as _};

use crate::decide::session::name;

use super::Place;

/// Minimum age of files that are removed without a request.
const OLD: Duration = Duration::from_hours(24);

/// Removes the files of one session.
pub(super) fn of_session(place: &Place, session: &str) {
    let hash = place.hash();
    for file in [
        format!(".sa-{hash}-session-{session}-state.json"),
        format!(".sa-{hash}-session-{session}-command.sh"),
        format!(".sa-{hash}-session-{session}-runner.sh"),
        format!("sa-{hash}-output-{session}.txt"),
        format!("sa-{hash}-output-{session}-fallback.txt"),
    ] {
        // Of a link only the link is removed.
        fs::remove_file(place.temp.join(file)).logged_unless_missing("remove a file");
    }
}

/// Removes old files that belong to no running session. Only of this project and this user.
pub(super) fn clear(place: &Place) {
    let hash = place.hash();
    let me = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(&place.temp).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(session) = session_of(&file, &hash) else { continue };
        let Ok(meta) = entry.metadata() else { continue };
        if !meta.is_file() || meta.uid() != me {
            continue;
        }
        let age = meta
            .modified()
            .logged("read when a file was changed")
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        let is_old = age.is_some_and(|age| age > OLD);
        let may_go = !name::is_valid(session) || (is_old && !may_run(place, &hash, session));
        if may_go {
            fs::remove_file(entry.path()).logged_unless_missing("remove a file");
        }
    }
}

/// The session in a file name of that helper.
fn session_of<'a>(file: &'a str, hash: &str) -> Option<&'a str> {
    let of_session = file.strip_prefix(".sa-").and_then(|rest| rest.strip_prefix(hash));
    if let Some(rest) = of_session.and_then(|rest| rest.strip_prefix("-session-")) {
        let ends = ["-state.json", "-command.sh", "-runner.sh"];
        return ends.iter().find_map(|end| rest.strip_suffix(end));
    }
    let output = file.strip_prefix("sa-").and_then(|rest| rest.strip_prefix(hash));
    let rest = output.and_then(|rest| rest.strip_prefix("-output-"))?.strip_suffix(".txt")?;
    Some(rest.strip_suffix("-fallback").unwrap_or(rest))
}

/// Whether that helper's own record says so: sufficient to keep a file, and for nothing else.
fn may_run(place: &Place, hash: &str, session: &str) -> bool {
    let state = place.temp.join(format!(".sa-{hash}-session-{session}-state.json"));
    let is_finished = |path: &Path| {
        let bytes =
            dogwatch_store::read_regular(path, 1024 * 1024).logged_unless_missing("read a file")?;
        let state: serde_json::Value = serde_json::from_slice(&bytes).logged("read JSON")?;
        Some(state.get("lifecycle")?.as_str()? == "finished")
    };
    state.exists() && is_finished(&state) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Runtime;

    #[test]
    fn only_old_files_of_ended_sessions_are_removed() {
        let tmp = tempfile::tempdir().unwrap();
        let place =
            Place { project: "/a".into(), runtime: Runtime::Auto, temp: tmp.path().to_owned() };
        let hash = place.hash();
        let make = |file: &str, text: &str, age: u64| {
            let path = tmp.path().join(file.replace('H', &hash));
            fs::write(&path, text).unwrap();
            let at = SystemTime::now() - Duration::from_secs(age);
            fs::File::open(&path).unwrap().set_modified(at).unwrap();
            path
        };
        let (old, new) = (25 * 3600, 3600);
        let running = r#"{"lifecycle":"running"}"#;
        let finished = r#"{"lifecycle":"finished"}"#;
        let table = [
            (make(".sa-H-session-a-state.json", finished, old), false),
            (make("sa-H-output-a.txt", "", old), false),
            (make(".sa-H-session-b-state.json", running, old), true),
            (make(".sa-H-session-b-command.sh", "", old), true),
            (make(".sa-H-session-c-command.sh", "", old), false),
            (make("sa-H-output-d.txt", "", new), true),
            (make(".sa-H-session-a b-state.json", finished, new), false),
            (make("sa-00000000-output-a.txt", "", old), true),
            (make("other", "", old), true),
        ];
        clear(&place);
        for (path, stays) in table {
            assert_eq!(path.exists(), stays, "{}", path.display());
        }
        of_session(&place, "d");
        assert!(!tmp.path().join(format!("sa-{hash}-output-d.txt")).exists());
    }
}
