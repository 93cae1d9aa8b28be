//! The supervisor: there when it is needed, one at a time, replaced when it is killed, gone with the last session.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::send::agent_named;
use dogwatch_testkit::{TestEnv, dogwatch, eventually, eventually_or, process, wait_until};
use rustix::process::Signal;

const DIALOG: &str =
    include_str!("../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");

fn serving(env: &TestEnv) -> i32 {
    wait_until("a supervisor serves", || {
        let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
        let pid = i32::try_from(shown["serving"]["pid"].as_i64()?).ok()?;
        (env.supervisor() == Some(pid)).then_some(pid)
    })
}

#[test]
fn it_comes_with_the_first_session_and_goes_with_the_last() {
    let env = TestEnv::new();
    let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
    assert_eq!((&shown["serves"], &shown["sessions"]), (&false.into(), &0.into()), "{shown:#}");
    env.spawn_script("a", "sleep 600");
    env.spawn_script("b", "sleep 600");
    let pid = serving(&env);
    let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
    assert_eq!(shown["sessions"], 2, "{shown:#}");
    let text = env.dogwatch(&["supervisor"]).success().text();
    assert!(text.contains(&format!("pid {pid}")), "{text}");
    let _killed = env.dogwatch(&["kill", "a"]).success();
    assert_eq!(serving(&env), pid, "one session is left");
    let _killed = env.dogwatch(&["kill", "b"]).success();
    eventually("it has ended by itself", || env.supervisor().is_none());
    let text = env.dogwatch(&["supervisor"]).success().text();
    assert!(text.contains("none"), "{text}");
}

/// A runner starts the next one, without any command.
#[test]
fn one_that_is_killed_is_replaced_at_once() {
    let env = TestEnv::new();
    env.spawn_script("a", "sleep 600");
    env.spawn_script("b", "sleep 600");
    let mut before = serving(&env);
    for _ in 0..5 {
        process::signal(before, Signal::KILL);
        // By its own word: what a supervisor is just starting looks like one, too.
        let next =
            wait_until("the next one serves", || Some(serving(&env)).filter(|pid| *pid != before));
        before = next;
    }
    assert_eq!(serving(&env), before);
}

#[test]
fn a_second_one_leaves_at_once() {
    let env = TestEnv::new();
    env.spawn_script("a", "sleep 600");
    let pid = serving(&env);
    let _left = env.dogwatch(&["supervisor", "serve"]).success();
    assert_eq!(serving(&env), pid);
}

#[test]
fn restart_replaces_it() {
    let env = TestEnv::new();
    env.spawn_script("a", "sleep 600");
    let before = serving(&env);
    let shown = env.dogwatch(&["supervisor", "restart", "--json"]).success().json();
    assert_ne!(shown["serving"]["pid"], before, "{shown:#}");
    assert!(!process::is_alive(before));
}

/// It is not one of the session whose runner started it.
#[test]
fn it_outlives_the_session_that_started_it() {
    let env = TestEnv::new();
    env.spawn_script("a", "sleep 600");
    let pid = serving(&env);
    env.spawn_script("b", "sleep 600");
    let _killed = env.dogwatch(&["kill", "a", "--now"]).success();
    env.wait_state("b", "running");
    assert_eq!(serving(&env), pid);
}

/// A binary that an upgrade has replaced is taken up.
#[test]
fn a_new_program_takes_over() {
    let env = TestEnv::new();
    let (program, next) = (env.root().join("dogwatch"), env.root().join("next"));
    std::fs::copy(dogwatch(), &program).unwrap();
    std::fs::copy(dogwatch(), &next).unwrap();
    let mut spawn = env.foreign(&program);
    spawn.args(["spawn", "--name", "a", "--", "sleep", "600"]);
    let _spawned = env.run(&mut spawn).success();
    let pid = serving(&env);
    let inode = |path: &Path| {
        std::fs::metadata(path).ok().map(|about| std::os::unix::fs::MetadataExt::ino(&about))
    };
    let new = inode(&next);
    std::fs::rename(&next, &program).unwrap();
    eventually_or("the new program serves", || {
        let runs = inode(Path::new(&format!("/proc/{pid}/exe")));
        if runs == new { Ok(()) } else { Err(format!("{runs:?}, not {new:?}")) }
    });
    assert_eq!(serving(&env), pid, "in the same process, with the same lock");
}

#[test]
fn what_runners_of_version_0_1_call_starts_it() {
    let env = TestEnv::new();
    let session = env.spawn_script("a", "sleep 600");
    serving(&env);
    let _ended = env.dogwatch(&["deliver", &session.id]).success();
    let said = env.dogwatch(&["notify", "follow", &session.id]).success().text();
    assert_eq!(said.trim(), "rest - -");
}

/// Supervisors die of this message: it is not tried a third time, and what waits behind it is delivered.
#[test]
fn what_supervisors_die_of_is_set_aside() {
    set_aside("the bad one");
}

/// The same if nothing is unwound, as in a release.
#[test]
fn what_supervisors_abort_at_is_set_aside() {
    set_aside("abort:the bad one");
}

fn set_aside(dies_of: &'static str) {
    let env = TestEnv::with_variable("DOGWATCH_TEST_DIE_OF", dies_of);
    agent_named(&env, "a");
    let first = serving(&env);
    let bad = env.dogwatch(&["send", "a", "the bad one", "--timeout", "60s", "--json"]);
    let receipt: serde_json::Value = serde_json::from_slice(&bad.stdout).unwrap();
    assert_eq!(receipt["outcome"], "failed", "{bad}");
    assert!(receipt["because"].as_str().is_some_and(|why| why.contains("set aside")), "{bad}");
    let good = env.dogwatch(&["send", "a", "the good one", "--timeout", "60s", "--json"]);
    assert_eq!(good.success().json()["outcome"], "delivered");
    assert_ne!(serving(&env), first);
    let listed = env.dogwatch(&["messages", "a", "--json"]).success().json();
    let id = listed["messages"][0]["id"].as_str().unwrap();
    let shown = env.dogwatch(&["supervisor"]).success().text();
    assert!(shown.contains("set aside:  ") && shown.contains(id), "{shown}");
    let doctor = env.dogwatch(&["doctor"]).text();
    assert!(doctor.contains(id), "{doctor}");
    let listed = env.dogwatch(&["messages", "a"]).success().text();
    assert!(listed.contains("failed"), "{listed}");
    // A new start by hand is another chance for it.
    let _restarted = env.dogwatch(&["supervisor", "restart"]).success();
    let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
    assert_eq!(shown.get("aside"), None, "{shown:#}");
}

#[test]
fn keys_that_supervisors_die_of_are_set_aside() {
    for dies_of in ["1", "abort:1"] {
        let env = TestEnv::with_variable("DOGWATCH_TEST_DIE_OF", dies_of);
        env.write("dialog.txt", DIALOG.trim_end());
        let scenario = "record = 'received'\n[[step]]\nraw = true\n[[step]]\nscreen = { file = 'dialog.txt' }\n\
                        [[step]]\nstall = 'forever'\n";
        let file = env.write("agent.toml", scenario);
        let script = format!("exec '{}' lab actor '{}'", dogwatch(), file.display());
        env.add_profile("codex", "", &script);
        env.spawn(&["codex", "--name", "a"]);
        eventually("it asks", || {
            env.dogwatch(&["why", "a", "--json"]).success().json()["state"] == "waiting"
        });
        let first = serving(&env);
        let bad = env.dogwatch(&["answer", "a", "1", "--json"]);
        assert!(bad.code != Some(0) && bad.text().contains("set aside"), "{dies_of}: {bad}");
        assert_ne!(serving(&env), first, "{dies_of}");
        let received = || std::fs::read(env.work().join("received")).unwrap();
        assert_eq!(received(), b"", "{dies_of}: nothing was pressed");
        // Of another choice nobody dies.
        let _ = env.dogwatch(&["answer", "a", "3", "--json"]);
        assert_ne!(received(), b"", "{dies_of}");
    }
}

/// A message waits in front of a dialog: it keeps nobody from answering that, and is delivered after it.
#[test]
fn a_message_that_waits_at_a_dialog_keeps_nobody_from_answering() {
    let env = TestEnv::new();
    env.write("dialog.txt", DIALOG.trim_end());
    env.write(
        "prompt.txt",
        "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work",
    );
    let scenario = format!(
        "record = 'received'\n[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n\
         [[step]]\nscreen = {{ file = 'dialog.txt' }}\n[[step]]\n[step.input]\nwant = 'key'\n\
         [[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         [[step]]\nhook = {{ event = 'UserPromptSubmit', payload = {{ prompt = '{{input}}' }}, command = ['{0}', 'hook', 'codex'] }}\n\
         [[step]]\nhook = {{ event = 'Stop', command = ['{0}', 'hook', 'codex'] }}\n[[step]]\nstall = 'forever'\n",
        dogwatch()
    );
    let file = env.write("agent.toml", scenario);
    env.add_profile("codex", "", &format!("exec '{}' lab actor '{}'", dogwatch(), file.display()));
    env.spawn(&["codex", "--name", "a"]);
    eventually("it asks", || {
        env.dogwatch(&["why", "a", "--json"]).success().json()["state"] == "waiting"
    });
    let args = ["send", "a", "after the dialog", "--timeout", "60s", "--json"];
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| env.dogwatch(&args).success().json());
        eventually("the message waits for the dialog", || {
            env.dogwatch(&["messages", "a"]).success().text().contains("dialog")
        });
        let answered = env.dogwatch(&["answer", "a", "1", "--json"]).success().json();
        assert_eq!(answered["outcome"], "answered", "{answered:#}");
        assert_eq!(sent.join().unwrap()["outcome"], "delivered");
    });
}

/// However often one is killed while it types a message, and whatever it had begun: the message is typed once, and nothing is set aside.
#[test]
fn those_that_are_killed_give_nothing_up() {
    let tools = tempfile::tempdir().unwrap();
    let (path, at) = (std::env::var("PATH").unwrap_or_default(), tools.path().display());
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \" $* \" in *' load-buffer '*)\n\
         for n in 1 2 3 4 5 6 7 8 9 10 11 12; do\n\
         if mkdir '{at}/'$n 2>/dev/null; then kill -9 $PPID; exit 1; fi\ndone;; esac\nexec tmux \"$@\"\n"
    );
    let program = tools.path().join("tmux");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let env = TestEnv::with_variable("PATH", format!("{at}:{path}").leak());
    agent_named(&env, "a");
    let sent = env.dogwatch(&["send", "a", "the only one", "--timeout", "100s", "--json"]);
    assert_eq!(sent.success().json()["outcome"], "delivered");
    assert!(tools.path().join("12").exists(), "it was killed twelve times");
    let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
    assert_eq!(shown.get("aside"), None, "{shown:#}");
    let received = std::fs::read(env.work().join("received")).unwrap();
    assert_eq!(String::from_utf8_lossy(&received).matches("the only one").count(), 1);
}
