//! Which version an agent's program is, without starting it where that can be avoided.
//!
//! A program that came by npm has its version in the `package.json` beside it, and Claude Code's own installer names the program
//! after it. Others are asked once, and the answer is kept as long as the file is the same.

use std::path::Path;
use std::time::Duration;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::agent_version::AgentVersion;
use dogwatch_core::profile::Profile;
use dogwatch_core::startup::FileStamp;
use dogwatch_store::{KnownBinary, StateDir, read_regular, stamp};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::observe::agents;

/// More than such a file has.
const MAX_PACKAGE: u64 = 1024 * 1024;
/// How far above its program a package may begin: `bin/codex.js`, `dist/bin/x.js`.
const LEVELS: usize = 4;
/// A file that is smaller is a script, which may start another program tomorrow.
const SMALLEST_PROGRAM: u64 = 1024 * 1024;
/// How long such a one is believed to start the same version.
const SCRIPT_FRESH: SignedDuration = SignedDuration::from_hours(1);
/// How long a program may take to print its version: `spawn` waits for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Our own version.
const DOGWATCH: &str = env!("CARGO_PKG_VERSION");

/// What is known of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binary {
    pub version: Option<String>,
    /// Why it is started without anything that is there for our sake.
    pub refused: Option<String>,
    pub file: Option<FileStamp>,
}

impl Binary {
    /// The profile as this program can take it.
    pub fn fit(&self, profile: &Profile) -> Profile {
        if self.refused.is_some() {
            return profile.bare();
        }
        if profile.depends_on_version() {
            profile.for_version(self.parsed())
        } else {
            profile.clone()
        }
    }

    pub fn parsed(&self) -> Option<AgentVersion> {
        self.version.as_deref()?.parse().logged("read a version")
    }
}

/// Finds out what this program is, if anything depends on it. It may be started for that.
pub fn identify(state: &StateDir, profile: &Profile, program: &Path, now: Timestamp) -> Binary {
    if !profile.depends_on_version() && profile.bare() == *profile {
        return Binary::default();
    }
    let Some(file) = stamp(program).logged("look at a program") else { return Binary::default() };
    let known = state.known_binary(&file);
    let version = match (beside(&file, profile), &known) {
        (Some(version), _) => Some(version),
        (None, _) if !profile.depends_on_version() => None,
        (None, Some(known)) if is_fresh(known, profile, now) => known.version.clone(),
        (None, known) => {
            let version = agents::version_within(program, profile, PATIENCE);
            let refused = known.as_ref().filter(|k| k.version == version);
            note(state, &file, version.clone(), refused.and_then(|k| k.refused.clone()), now);
            version
        }
    };
    let is_same = |known: &KnownBinary| known.version == version && known.by == DOGWATCH;
    let refused = known.filter(is_same).and_then(|known| known.refused);
    Binary { version, refused, file: Some(file) }
}

/// Remembers that a program could not take what it was given.
pub fn refused(
    state: &StateDir,
    file: &FileStamp,
    version: Option<String>,
    why: &str,
    now: Timestamp,
) {
    note(state, file, version, Some(why.to_owned()), now);
}

fn note(
    state: &StateDir,
    file: &FileStamp,
    version: Option<String>,
    refused: Option<String>,
    now: Timestamp,
) {
    let by = DOGWATCH.to_owned();
    // What cannot be noted is found out again.
    state
        .note_binary(&KnownBinary { file: file.clone(), version, asked: now, refused, by })
        .logged("note the version of an agent");
}

/// Whether what was heard before still holds. A program of its own name and of some size cannot become another one.
fn is_fresh(known: &KnownBinary, profile: &Profile, now: Timestamp) -> bool {
    let name = Path::new(&known.file.path).file_name().unwrap_or_default().to_string_lossy();
    // One that did not answer may just have been slow.
    let is_itself = known.version.is_some()
        && known.file.size >= SMALLEST_PROGRAM
        && name.starts_with(profile.program.as_str());
    is_itself || now.duration_since(known.asked).abs() < SCRIPT_FRESH
}

/// The version that is written beside the program.
fn beside(file: &FileStamp, profile: &Profile) -> Option<String> {
    let path = Path::new(&file.path);
    of_package(path, &profile.package).or_else(|| of_its_name(path))
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

fn of_package(program: &Path, package: &str) -> Option<String> {
    if package.is_empty() {
        return None;
    }
    // A launcher that is no link, as pnpm makes them, is beside the package and not in it.
    let launcher = program.parent().filter(|folder| folder.ends_with(".bin"));
    let beside = launcher.and_then(Path::parent).map(|modules| modules.join(package));
    let above = program.ancestors().skip(1).take(LEVELS).map(Path::to_owned);
    beside.into_iter().chain(above).find_map(|folder| {
        let bytes = read_regular(&folder.join("package.json"), MAX_PACKAGE)
            .logged_unless_missing("read a package")?;
        let found: Package = serde_json::from_slice(&bytes).ok()?;
        let is_version = found.version.parse::<AgentVersion>().is_ok();
        (found.name == package && is_version).then_some(found.version)
    })
}

/// `versions/2.1.325`, as Claude Code's installer has it.
fn of_its_name(program: &Path) -> Option<String> {
    let is_kept_by_version = program.parent()?.ends_with("versions");
    let name = program.file_name()?.to_str()?;
    (is_kept_by_version && name.parse::<AgentVersion>().is_ok()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::profile;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    struct Place {
        tmp: tempfile::TempDir,
        state: StateDir,
        profile: Profile,
    }

    impl Place {
        fn new() -> Self {
            let tmp = tempfile::tempdir().unwrap();
            let state = StateDir::open(&tmp.path().join("state")).unwrap();
            Self { tmp, state, profile: profile::builtin("codex").unwrap() }
        }

        fn write(&self, name: &str, content: &str) -> PathBuf {
            let path = self.tmp.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn version(&self, program: &Path, at: i64) -> Option<String> {
            let now = Timestamp::from_second(at).unwrap();
            identify(&self.state, &self.profile, program, now).version
        }
    }

    #[test]
    fn of_npm_without_starting_it() {
        let place = Place::new();
        let package = r#"{"name": "@openai/codex", "version": "0.120.0"}"#;
        let modules = "node_modules/@openai/codex";
        let program = place.write(&format!("{modules}/bin/codex.js"), "#!/bin/sh\nexit 1\n");
        place.write(&format!("{modules}/package.json"), package);
        place.write("package.json", r#"{"name": "mine", "version": "9.9.9"}"#);
        let link = place.tmp.path().join("node_modules/.bin/codex");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&program, &link).unwrap();
        assert_eq!(place.version(&link, 0).as_deref(), Some("0.120.0"));
        fs::remove_file(&link).unwrap();
        let launcher = place.write("node_modules/.bin/codex", "#!/bin/sh\nexit 1\n");
        assert_eq!(place.version(&launcher, 0).as_deref(), Some("0.120.0"));
        // Updated in place.
        place.write(&format!("{modules}/package.json"), &package.replace("120", "121"));
        assert_eq!(place.version(&launcher, 0).as_deref(), Some("0.121.0"));
    }

    #[test]
    fn of_a_folder_of_versions() {
        let place = Place::new();
        let program = place.write("share/claude/versions/2.1.80", "#!/bin/sh\nexit 1\n");
        assert_eq!(place.version(&program, 0).as_deref(), Some("2.1.80"));
    }

    #[test]
    fn others_are_asked_once() {
        let place = Place::new();
        let count = place.tmp.path().join("count");
        let script = format!("#!/bin/sh\necho x >> '{}'\necho codex-cli 0.1.2\n", count.display());
        let program = place.write("bin/codex", &script);
        let asked = || fs::read_to_string(&count).unwrap_or_default().lines().count();
        for (at, want) in [(0, 1), (60, 1), (3000, 1), (4000, 2), (4001, 2)] {
            assert_eq!(place.version(&program, at).as_deref(), Some("0.1.2"));
            assert_eq!(asked(), want, "a script may start another program, at {at}");
        }
        place.write("bin/codex", &format!("{script}#"));
        let _ = place.version(&program, 4002);
        assert_eq!(asked(), 3, "another file");
        // One that says nothing is not asked again and again either.
        let mute = place.write("mute", "#!/bin/sh\nexit 1\n");
        assert_eq!(place.version(&mute, 0), None);
    }

    #[test]
    fn what_a_program_refused_holds_for_its_version() {
        let place = Place::new();
        let package = |version| format!(r#"{{"name": "@openai/codex", "version": "{version}"}}"#);
        let program = place.write("p/bin/codex.js", "");
        place.write("p/package.json", &package("9.0.0"));
        let look = || identify(&place.state, &place.profile, &program, Timestamp::UNIX_EPOCH);
        let first = look();
        assert_eq!(first.refused, None);
        assert!(first.fit(&place.profile).hooks.is_some());
        refused(&place.state, &first.file.unwrap(), first.version, "no", Timestamp::UNIX_EPOCH);
        let second = look();
        assert_eq!(second.refused.as_deref(), Some("no"));
        assert_eq!(second.fit(&place.profile), place.profile.bare());
        place.write("p/package.json", &package("9.0.1"));
        assert_eq!(look().refused, None, "another version may take it");
    }
}
