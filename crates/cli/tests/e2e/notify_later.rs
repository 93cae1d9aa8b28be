//! Notifications that are not sent at once, and who sends them then.

use std::fs;
use std::time::Duration;

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process, wait_within};
use rustix::process::Signal;
use serde_json::Value;

use crate::callback;
use crate::notify::{configure, log, to_file, told};

/// The only session is over, and no other process of dogwatch is there.
#[test]
fn the_last_look_waits_for_what_is_due_later() {
    let env = TestEnv::new();
    // Longer than what is sent together may take.
    configure(&env, &format!("[[notify]]\n{}on = ['crashed']\nafter = '7s'\n", to_file(&env)));
    env.spawn_script("x", "exit 3");
    let notice = wait_within(
        Duration::from_mins(1),
        || format!("a notification: {:#?}", log(&env)),
        || told(&env).pop(),
    );
    assert_eq!(notice["session"], "x");
    eventually("it is recorded", || log(&env).iter().all(|one| one["state"] == "sent"));
}

#[test]
fn filters_of_project_tag_and_agent() {
    let env = TestEnv::new();
    let project = env.work().join("shop");
    fs::create_dir_all(&project).unwrap();
    let _ = env.run(env.foreign("git").args(["init", "-q", "shop"])).success();
    let table = |name: &str, filter: &str| {
        format!("[[notify]]\nname = '{name}'\n{}on = ['crashed']\n{filter}\n", to_file(&env))
    };
    let text = [
        table("project", "project = ['shop']"),
        table("tag", "tag = ['urg*']"),
        table("agent", "agent = ['sh']"),
        table("none", "agent = ['claude']"),
    ];
    configure(&env, &text.concat());
    env.spawn(&["--name", "tagged", "--tag", "urgent", "--", "sh", "-c", "exit 3"]);
    let cwd = project.to_str().unwrap();
    env.spawn(&["--name", "shopping", "--cwd", cwd, "--", "sh", "-c", "exit 3"]);
    let sent = |channel: &str| -> Vec<String> {
        let log = log(&env);
        let of = log.iter().filter(|one| one["channel"] == channel && one["state"] == "sent");
        let mut names: Vec<String> = of
            .map(|one| one["title"].as_str().unwrap().replace(": crashed, exit code 3", ""))
            .collect();
        names.sort();
        names
    };
    eventually("by the tag", || sent("tag") == ["tagged"]);
    eventually("by the project", || sent("project") == ["shopping"]);
    assert_eq!(sent("none"), [] as [&str; 0]);
}

/// Of two tables with one channel, the one that asks who is attached is due first.
#[test]
fn a_notification_skipped_for_an_attached_person_comes_later_by_another_table() {
    let env = TestEnv::new();
    env.spawn_script("x", "read line; exit 3");
    let text = format!(
        "[[notify]]\n{}on = ['crashed']\nunless_attached = 'session'\n\
         [[notify]]\n{}on = ['crashed']\nafter = '3s'\n",
        to_file(&env),
        to_file(&env)
    );
    configure(&env, &text);
    let outer = env.another_socket("outer");
    let attach = format!("{} attach x", dogwatch());
    env.tmux_on(&outer, &["new-session", "-d", "-s", "outer", "-x", "120", "-y", "20", &attach]);
    eventually("attached", || env.seen("x")["attached"] == true);
    env.tmux(&["send-keys", "-t", "=x:", "Enter"]);
    eventually("the notification arrives", || told(&env).len() == 1);
    let log = log(&env);
    assert_eq!((log.len(), &log[0]["session"]), (1, &Value::from("x")));
}

/// An update replaces the program under runners that go on for days.
#[test]
fn a_runner_whose_program_was_replaced_or_removed() {
    for replaced in [true, false] {
        let env = TestEnv::new();
        configure(&env, &format!("[[notify]]\n{}on = ['crashed']\n", to_file(&env)));
        let program = env.root().join("dogwatch");
        fs::copy(dogwatch(), &program).unwrap();
        let mut spawn = env.foreign(&program);
        spawn.args(["spawn", "--name", "x", "--", "sh", "-c", "read line; exit 3"]);
        let _ = env.run(&mut spawn).success();
        if replaced {
            let new = env.root().join("new");
            fs::copy(dogwatch(), &new).unwrap();
            fs::rename(new, &program).unwrap();
        } else {
            fs::remove_file(&program).unwrap();
        }
        env.tmux(&["send-keys", "-t", "=x:", "Enter"]);
        eventually("the notification arrives", || told(&env).len() == 1);
    }
}

/// A command that only reads finds it first.
#[test]
fn a_lost_session_that_ls_found_sends_a_notification() {
    let env = TestEnv::new();
    configure(&env, &format!("[[notify]]\n{}on = ['crashed']\n", to_file(&env)));
    let x = env.spawn_script("x", "exec sleep 300");
    let started = fs::read_to_string(env.session_dir(&x).join("started")).unwrap();
    let started: Value = serde_json::from_str(&started).unwrap();
    let runner = i32::try_from(started["runner"]["pid"].as_i64().unwrap()).unwrap();
    process::signal(runner, Signal::KILL);
    eventually("it is gone", || !process::is_alive(runner));
    env.wait_state("x", "lost");
    env.spawn_script("y", "exit 3");
    eventually("the notification arrives", || {
        log(&env).iter().any(|one| one["title"] == "x: lost")
    });
    env.spawn_script("z", "exit 3");
    eventually("the next", || log(&env).iter().any(|one| one["session"] == "z"));
    let of_x = |one: &&Value| one["title"] == "x: lost";
    assert_eq!(log(&env).iter().filter(of_x).count(), 1, "once");
}

/// No table is about what sessions do, and no watcher runs.
#[test]
fn its_sessions_runner_sends_the_notification_of_a_job_later() {
    let env = callback::world();
    configure(&env, &format!("[[notify]]\n{}on = ['job']\nafter = '3s'\n", to_file(&env)));
    callback::agent(&env, "w");
    let job = env.dogwatch(&["job", "submit", "w", "a task", "--json"]).success().json();
    let id = job["id"].as_str().unwrap();
    let _ = env.dogwatch(&["job", "wait", id, "--timeout", "20s"]).success();
    eventually("its runner has it sent", || told(&env).len() == 1);
    assert_eq!(told(&env)[0]["occasion"], "job_done");
}

/// The agent goes on while a slow channel is still at it.
#[test]
fn an_agent_that_asks_does_not_wait_for_channels() {
    let env = TestEnv::new();
    let script =
        env.write("slow.sh", "while ! test -e \"$2\"; do sleep 0.1; done; cat >> \"$1\"\n");
    let (told_file, go) = (env.root().join("told"), env.root().join("go"));
    configure(
        &env,
        &format!(
            "[[notify]]\nkind = 'command'\ncommand = ['sh', '{}', '{}', '{}']\non = ['question']\n",
            script.display(),
            told_file.display(),
            go.display()
        ),
    );
    let x = env.spawn_script("x", "exec sleep 300");
    let mut raise =
        env.command(&["escalations", "raise", "budget", "which?", "--run", "r", "--json"]);
    let raised = env.run(raise.env("DOGWATCH_SESSION", &x.id)).success();
    assert!(told(&env).is_empty(), "{raised}");
    let log = log(&env);
    let not_tried = |one: &Value| one["state"] == "waiting" && one["attempts"] == 0;
    assert!(log.len() == 1 && log.iter().all(not_tried), "{log:#?}");
    fs::write(go, "").unwrap();
    eventually("its runner has it sent", || told(&env).len() == 1);
}
