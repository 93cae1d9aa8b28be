//! `dogwatch usage`: what it prints, and that nothing is lost or counted twice when it is killed or called several times at once.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;

use dogwatch_testkit::TestEnv;
use serde_json::Value;

/// Transcripts of Claude Code: so many files with so many answers each, of ten and one tokens.
fn write_transcripts(env: &TestEnv, files: usize, answers: usize) {
    let folder = env.home().join(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    for file in 0..files {
        let mut text = String::new();
        for n in 0..answers {
            let _ = writeln!(
                text,
                "{{\"timestamp\":\"2026-11-16T10:{:02}:00Z\",\"sessionId\":\"c{file}\",\"cwd\":\"/w\",\"message\":{{\"id\":\"m{file}-{n}\",\"model\":\"claude-opus-4-5\",\"content\":\"{}\",\"usage\":{{\"input_tokens\":10,\"output_tokens\":1}}}}}}",
                n % 60,
                "x".repeat(500)
            );
        }
        fs::write(folder.join(format!("c{file}.jsonl")), text).unwrap();
    }
}

fn report(env: &TestEnv) -> Value {
    env.dogwatch(&["usage", "--by", "model", "--json"]).success().json()
}

#[test]
fn killed_and_called_at_once() {
    let env = TestEnv::new();
    write_transcripts(&env, 40, 200);
    for _ in 0..6 {
        let call = || {
            let mut command = env.command(&["usage", "--json"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut calls: Vec<_> = (0..4).map(|_| call()).collect();
        // Some of them are killed wherever they are by now.
        for call in calls.iter_mut().take(3) {
            call.kill().unwrap();
        }
        for mut call in calls {
            call.wait().unwrap();
        }
        let total = &report(&env)["total"];
        assert_eq!(total["messages"], 8000, "{total:#}");
        assert_eq!(total["tokens"]["input"], 80_000, "{total:#}");
        assert_eq!(total["cost_usd"], 0.6, "{total:#}");
        // All of it anew, at one time or another.
        for name in ["usage.db", "usage.db-wal", "usage.db-shm"] {
            let _gone = fs::remove_file(env.state_dir().join(name));
        }
    }
}

#[test]
fn tables_files_and_bad_input() {
    let env = TestEnv::new();
    let nothing = env.dogwatch(&["usage"]).success();
    assert!(nothing.stderr.contains("no usage found"), "{}", nothing.stderr);
    write_transcripts(&env, 2, 3);
    let csv = env.dogwatch(&["usage", "--by", "session", "--csv"]).success().text();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains("\nc0,,c0,claude,/w,3,30,3,0,0,0,0,0.000225,false"), "{csv}");
    let svg = env.work().join("u.svg");
    let _wrote = env.dogwatch(&["usage", "--svg", svg.to_str().unwrap()]).success();
    assert!(fs::read_to_string(svg).unwrap().starts_with("<svg"));
    let shown = env.dogwatch(&["usage", "--by", "project"]).success().text();
    assert!(shown.contains("PROJECT") && shown.contains("/w"), "{shown}");
    for bad in [
        &["usage", "--by", "year"][..],
        &["usage", "--since", "soon"],
        &["usage", "--csv", "--svg", "x"],
    ] {
        assert_eq!(env.dogwatch(bad).code, Some(2), "{bad:?}");
    }
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let price = "[[price]]\nmodel = \"claude-opus-4-5\"\ninput = 1000000.0\noutput = 0.0\n";
    fs::write(folder.join("config.toml"), price).unwrap();
    assert_eq!(report(&env)["total"]["cost_usd"], 60.0);
    fs::write(folder.join("config.toml"), "[[budget]]\nper = \"day\"\n").unwrap();
    let refused = env.dogwatch(&["usage"]);
    assert!(refused.stderr.contains("a budget needs usd"), "{}", refused.stderr);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn a_budget_that_is_used_up_notifies_once() {
    let env = TestEnv::new();
    write_transcripts(&env, 1, 1);
    let told = env.root().join("told");
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let config = format!(
        "[[budget]]\nper = \"session\"\ntokens = 5\n[[notify]]\nkind = \"command\"\non = [\"budget\"]\ncommand = [\"sh\", \"-c\", 'cat >> \"{0}\"; echo >> \"{0}\"']\n",
        told.display()
    );
    fs::write(folder.join("config.toml"), config).unwrap();
    let session = env.spawn_script("a", "exec sleep 600");
    for _ in 0..2 {
        let mut hook = env.command(&["hook", "claude"]);
        hook.env("DOGWATCH_SESSION", &session.id);
        let stop = br#"{"hook_event_name":"Stop","session_id":"c0"}"#;
        let _ = env.run_with_input(&mut hook, stop).success();
    }
    dogwatch_testkit::eventually("people are notified", || {
        fs::read_to_string(&told).is_ok_and(|text| text.ends_with('\n'))
    });
    let text = fs::read_to_string(&told).unwrap();
    let notice: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(notice["occasion"], "budget", "{notice:#}");
    let title = notice["title"].as_str().unwrap();
    assert!(title.contains("the budget of session") && title.contains("is used up"), "{title}");
    let log = env.dogwatch(&["events", "--kind", "budget", "--json"]).success().text();
    assert_eq!(log.lines().count(), 1, "{log}");
}
