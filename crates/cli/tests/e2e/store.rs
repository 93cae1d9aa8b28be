//! The state directory and the database: what is wrong with them is said, and they are left as they are.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dogwatch_testkit::{TestEnv, dogwatch, eventually, is_root};

const READERS: [&[&str]; 6] = [
    &["ls"],
    &["capture", "x"],
    &["kill", "x"],
    &["kill-all", "--yes"],
    &["gc"],
    &["spawn", "--name", "y", "--", "true"],
];

fn database(env: &TestEnv) -> PathBuf {
    env.state_dir().join("dogwatch.db")
}

/// Every command refuses with code 6 and leaves the database's bytes alone.
fn all_refuse(env: &TestEnv, words: &str) {
    let before = fs::read(database(env)).unwrap();
    for args in READERS {
        let output = env.dogwatch(args).code(6);
        assert!(output.stderr.contains(words), "{args:?}: {output}");
    }
    assert!(fs::read(database(env)).unwrap() == before, "the file was touched");
}

#[test]
fn a_damaged_database() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    // The write-ahead log goes too, or SQLite would read what it holds.
    for file in ["dogwatch.db-wal", "dogwatch.db-shm"] {
        let _ = fs::remove_file(env.state_dir().join(file));
    }
    fs::write(database(&env), b"this is not a database ".repeat(400)).unwrap();
    all_refuse(&env, "is damaged: file is not a database; it was not changed");
    insta::assert_snapshot!(env.dogwatch(&["ls", "--json"]), @r#"
    {"error":{"code":"store_corrupt","message":"$STATE/dogwatch.db is damaged: file is not a database; it was not changed","hint":"move it away (mv $STATE/dogwatch.db $STATE/dogwatch.db.damaged) and run the command again; running sessions are not affected"}}
    [exit code: 6]
    "#);
    assert!(dogwatch_testkit::process::is_alive(session.pid));
}

#[test]
fn a_database_with_damage_in_the_middle() {
    let env = TestEnv::new();
    for n in 0..30 {
        env.spawn_script(&format!("s{n}"), "exit 0");
    }
    // It would write to the file while that is damaged.
    eventually("the supervisor has ended", || env.supervisor().is_none());
    let connection = rusqlite::Connection::open(database(&env)).unwrap();
    connection.pragma_update(None, "wal_checkpoint", "truncate").unwrap();
    drop(connection);
    let mut bytes = fs::read(database(&env)).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page.fill(0x5a);
    }
    for file in ["dogwatch.db-wal", "dogwatch.db-shm"] {
        let _ = fs::remove_file(env.state_dir().join(file));
    }
    fs::write(database(&env), &bytes).unwrap();
    let output = env.dogwatch(&["ls"]).code(6);
    assert!(output.stderr.contains("is damaged"), "{output}");
    let doctor = env.dogwatch(&["doctor", "--json"]).code(1);
    assert!(doctor.text().contains("damaged"), "{doctor}");
}

#[test]
fn a_database_of_a_newer_version() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["ls"]).success();
    let connection = rusqlite::Connection::open(database(&env)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    connection.pragma_update(None, "wal_checkpoint", "truncate").unwrap();
    drop(connection);
    all_refuse(&env, "was written by a newer dogwatch (schema 99, this version supports ");
}

#[test]
fn an_empty_database_is_made_anew() {
    let env = TestEnv::new();
    fs::create_dir(env.state_dir()).unwrap();
    fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(database(&env), b"").unwrap();
    let _ = env.dogwatch(&["ls"]).success();
    let mode = fs::metadata(database(&env)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_state_folder_that_others_can_read() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["ls"]).success();
    fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o755)).unwrap();
    for args in READERS {
        let _ = env.dogwatch(args).code(6);
    }
    insta::assert_snapshot!(env.dogwatch(&["ls"]), @r"
    ------- stderr -------
    error: $STATE is readable by other users (mode 755)
    hint: chmod 700 $STATE
    [exit code: 6]
    ");
    let doctor = env.dogwatch(&["doctor"]).code(1);
    assert!(doctor.text().contains("chmod 700"), "{doctor}");
    // A hook says nothing and harms nobody.
    let _ = env.dogwatch(&["hook", "claude", "{}"]).success();
}

#[test]
fn a_state_folder_that_is_a_file() {
    let env = TestEnv::new();
    fs::write(env.state_dir(), "mine").unwrap();
    insta::assert_snapshot!(env.dogwatch(&["ls"]), @r"
    ------- stderr -------
    error: $STATE is not a directory
    hint: move $STATE away, or set DOGWATCH_STATE_DIR
    [exit code: 6]
    ");
    let _ = env.dogwatch(&["doctor"]).code(1);
    assert_eq!(fs::read(env.state_dir()).unwrap(), b"mine");
}

#[test]
fn no_place_for_state_at_all() {
    let env = TestEnv::new();
    let mut command = env.command(&["ls"]);
    let output = env.run(command.env_remove("DOGWATCH_STATE_DIR").env_remove("HOME"));
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    error: no state directory: neither HOME nor XDG_STATE_HOME is set
    hint: set HOME, or set DOGWATCH_STATE_DIR to a directory of your own
    [exit code: 6]
    ");
}

#[test]
fn the_default_places() {
    let env = TestEnv::new();
    let mut command = env.command(&["ls"]);
    let _ = env.run(command.env_remove("DOGWATCH_STATE_DIR")).success();
    assert!(env.home().join(".local/state/dogwatch/dogwatch.db").exists());
    let mut command = env.command(&["ls"]);
    command.env_remove("DOGWATCH_STATE_DIR").env("XDG_STATE_HOME", env.root().join("xdg"));
    let _ = env.run(&mut command).success();
    assert!(env.root().join("xdg/dogwatch/dogwatch.db").exists());
}

#[test]
fn a_state_folder_with_any_name_or_a_relative_one() {
    let env = TestEnv::new();
    let names = ["it's #{pid} $(touch pwned) \n; é", "#(touch pwned)", "-x", "relative"];
    for (n, name) in names.iter().enumerate() {
        let folder = env.root().join(name);
        let told = if *name == "relative" { PathBuf::from("../relative") } else { folder.clone() };
        let session = format!("s{n}");
        let script = "printf %s \"$DOGWATCH_STATE_DIR\" > told; cat \"$DOGWATCH_PROMPT_FILE\"; exec sleep 300";
        let mut command = env.command(&["spawn", "--name", &session, "-p", "the prompt", "--"]);
        command.args(["sh", "-c", script]).env("DOGWATCH_STATE_DIR", &told);
        let _ = env.run(&mut command).success();
        let capture = || {
            let mut command = env.command(&["capture", &session]);
            env.run(command.env("DOGWATCH_STATE_DIR", &told)).text()
        };
        eventually("the prompt is there", || capture().contains("the prompt"));
        // Hooks find the same folder from wherever the agent goes.
        let found = PathBuf::from(fs::read_to_string(env.work().join("told")).unwrap());
        assert_eq!(found.canonicalize().unwrap(), folder, "{name}");
        assert!(found.is_absolute());
        let mut command = env.command(&["kill", &session]);
        let _ = env.run(command.env("DOGWATCH_STATE_DIR", &told)).success();
    }
    assert!(!env.work().join("pwned").exists());
}

/// Runs dogwatch as somebody whom file modes concern: root would not notice them.
pub(crate) fn as_nobody(env: &TestEnv, args: &[&str]) -> Command {
    let mut command = if is_root() {
        let copy = env.root().join("dogwatch");
        if !copy.exists() {
            fs::copy(dogwatch(), &copy).unwrap();
        }
        let mut command = env.foreign("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(copy);
        command
    } else {
        env.foreign(dogwatch())
    };
    command.args(args);
    command
}

pub(crate) fn give_to_nobody(path: &Path) {
    if is_root() {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
}

#[test]
fn a_state_folder_that_cannot_be_written() {
    let env = TestEnv::new();
    // The whole world of the test must be reachable for the other user.
    fs::set_permissions(env.root(), fs::Permissions::from_mode(0o755)).unwrap();
    for path in [env.work().to_owned(), env.home().to_owned(), env.root()] {
        give_to_nobody(&path);
    }
    fs::create_dir(env.state_dir()).unwrap();
    fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o500)).unwrap();
    give_to_nobody(env.state_dir());
    for args in READERS {
        let output = env.run(&mut as_nobody(&env, args)).code(6);
        assert!(output.stderr.contains("cannot write"), "{args:?} {output}");
    }
    let doctor = env.run(&mut as_nobody(&env, &["doctor"])).code(1);
    assert!(doctor.text().contains("make it writable for you"), "{doctor}");
    let _ = env.run(&mut as_nobody(&env, &["hook", "claude", "{}"])).success();
    assert_eq!(fs::read_dir(env.state_dir()).unwrap().count(), 0);
    // The same with a database in it, which can be read but not written.
    fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o700)).unwrap();
    let _ = env.run(&mut as_nobody(&env, &["ls"])).success();
    for entry in fs::read_dir(env.state_dir()).unwrap() {
        let path = entry.unwrap().path();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    }
    fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o500)).unwrap();
    let output = env.run(&mut as_nobody(&env, &["spawn", "--", "true"])).code(6);
    assert!(output.stderr.contains("cannot write"), "{output}");
    fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_store_that_is_locked_for_a_while_is_waited_for() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["ls"]).success();
    let connection = rusqlite::Connection::open(database(&env)).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Reading goes on beside a writer.
    let _ = env.dogwatch(&["ls"]).success();
    let spawning = env.command(&["spawn", "--name", "x", "--", "sleep", "300"]).spawn().unwrap();
    // Its folder is made right before it is registered, for which it has to wait.
    eventually("the spawn is under way", || {
        fs::read_dir(env.state_dir().join("sessions")).is_ok_and(|mut all| all.next().is_some())
    });
    connection.execute_batch("COMMIT").unwrap();
    assert!(spawning.wait_with_output().unwrap().status.success());
    assert_eq!(env.seen("x")["state"], "running");
}

/// SQLite answers from its cache and the log, as if nothing had happened.
#[test]
fn a_database_that_is_emptied_under_a_watch() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    let mut watch = env.command(&["watch"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = [0];
    watch.stdout.as_mut().unwrap().read_exact(&mut told).unwrap();
    fs::File::options().write(true).open(database(&env)).unwrap().set_len(0).unwrap();
    eventually("the watch has noticed", || watch.try_wait().unwrap().is_some());
    let said = watch.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(6), "{error}");
    assert!(error.contains("is damaged: it was truncated"), "{error}");
}

#[test]
fn a_database_that_is_deleted_while_sessions_live() {
    let env = TestEnv::new();
    env.spawn_script("a", "exec sleep 300");
    // An agent that takes messages.
    crate::send::agent_named(&env, "b");
    let ended = env.spawn_script("ended", "exit 0");
    dogwatch_testkit::process::wait_gone(ended.pid);
    env.wait_state("ended", "exited");
    let old: Vec<_> = ["a", "b"].map(|name| env.seen(name)).into();
    for file in ["dogwatch.db", "dogwatch.db-wal", "dogwatch.db-shm"] {
        let _ = fs::remove_file(env.state_dir().join(file));
    }
    // Many at once: one of them makes it anew.
    let asked: Vec<_> = (0..4)
        .map(|_| env.command(&["ls", "--json"]).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    for one in asked {
        let listed = env.ended(one).success().json();
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed:#}");
    }
    for (name, old) in ["a", "b"].iter().zip(&old) {
        let seen = env.seen(name);
        for field in ["id", "agent", "cwd", "pane", "pid", "state", "created"] {
            assert_eq!(seen[field], old[field], "{field} of {seen}");
        }
    }
    let doctor = env.dogwatch(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|one| one["check"] == "store").unwrap();
    assert_eq!(check["health"], "warning", "{check}");
    let found = check["found"].as_str().unwrap();
    assert!(
        found.contains("new since") && found.contains("2 running sessions found again"),
        "{found}"
    );
    let _ = env.dogwatch(&["send", "b", "hello there", "--timeout", "20s"]).success();
    let _ = env.dogwatch(&["kill", "a"]).success();
    assert_eq!(env.seen("a")["state"], "stopped");
}
