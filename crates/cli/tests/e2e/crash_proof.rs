//! Whoever carries a run out may be killed at any moment, and tmux and the agents too: the run ends as if nothing had been.

use std::process::Child;
use std::time::Duration;

use dogwatch_testkit::{Project, process, story};
use rustix::process::Signal;
use serde_json::Value;

/// Its scripts are short: the moments of a kill are spread over them.
fn project() -> Project {
    Project::new(&story::flow("0.05"))
}

/// What must be the same, however often somebody died.
fn outcome(project: &Project) -> (Vec<String>, String, Vec<(String, String)>) {
    let report = project.report();
    assert_eq!(report["standing"], "complete", "{report}");
    let mut states = Vec::new();
    for line in
        report["items"].as_array().unwrap().iter().chain(report["groups"].as_array().unwrap())
    {
        for step in line["steps"].as_array().unwrap() {
            states.push((format!("{} {}", line["name"], step["step"]), step["state"].to_string()));
        }
    }
    (project.commits(), project.git(&["ls-files", "-s", "--", ":!flow.toml"]), states)
}

fn nothing_was_done_twice(project: &Project) {
    let twice = story::done_twice(project.facts());
    assert!(twice.is_empty(), "{twice:#?}");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

/// The same for stories side by side, whose commits come in any order.
fn outcome_side_by_side(project: &Project) -> (Vec<String>, String, Vec<(String, String)>) {
    let (mut commits, files, states) = outcome(project);
    commits.sort();
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(project.git(&["branch", "--list", "dogwatch/*"]), "");
    (commits, files, states)
}

fn undisturbed() -> (Vec<String>, String, Vec<(String, String)>) {
    let project = project();
    let _ = project.run(&[]).success();
    assert_eq!(project.noted("log"), story::LOG);
    outcome(&project)
}

/// Begins, and goes on whenever it died at its `die_at`th write, until nothing is left to do.
fn dying_at(project: &Project, die_at: &str) -> u32 {
    for deaths in 0..300 {
        let mut command = if deaths == 0 {
            project.env.command(&["story", "run", "--workflow", "flow.toml"])
        } else {
            project.env.command(&["story", "resume"])
        };
        let said = project.env.run(command.env("DOGWATCH_TEST_DIE_AT", die_at));
        match said.code {
            Some(0) => return deaths,
            None => {}
            // It died right after its last write.
            Some(2) if said.stderr.contains("to start another: dogwatch story run") => {
                return deaths;
            }
            Some(_) => panic!("{said}"),
        }
    }
    panic!("it does not come to an end");
}

#[test]
fn killed_at_every_write_of_the_journal() {
    let wanted = undisturbed();
    for die_at in ["1", "2-", "2", "5-"] {
        let project = project();
        let deaths = dying_at(&project, die_at);
        assert_eq!(outcome(&project), wanted, "{die_at}");
        nothing_was_done_twice(&project);
        let facts = project.facts();
        let resumed = facts.iter().filter(|fact| fact["fact"] == "resumed").count();
        let written = facts.len() - resumed;
        let expected = match die_at {
            // The last write is the end of the run, and death after it is death all the same.
            "1" => written,
            "2-" => written - 1,
            _ => deaths as usize,
        };
        assert_eq!(deaths as usize, expected, "{die_at}: {facts:?}");
        // Only dogwatch died: no script ran more often than without that.
        assert_eq!(project.noted("log"), story::LOG, "{die_at}");
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn kill(child: &mut Child) -> bool {
    process::signal(i32::try_from(child.id()).unwrap(), Signal::KILL);
    child.wait().unwrap().success()
}

/// Kills dogwatch at random moments, and with `others` tmux and the scripts too, until so many have died.
fn killed_at_random(seed: u64, kills: u32, others: bool) {
    let wanted = undisturbed();
    killed(seed, kills, others, &[], |project| assert_eq!(outcome(project), wanted));
}

fn killed(seed: u64, kills: u32, others: bool, args: &[&str], check: impl Fn(&Project)) {
    let mut dice = Dice(seed);
    let mut done = 0;
    while done < kills {
        let project = project();
        let mut child = project.begin(args);
        let mut is_over = false;
        // Leave some for the next world, or it would never come to an end.
        for _ in 0..12 {
            // sleep: the moments of a kill are spread over what a run does.
            std::thread::sleep(Duration::from_millis(20 + dice.roll(450)));
            match if others { dice.roll(4) } else { 3 } {
                0 => {
                    let _ =
                        project.env.tmux_command(&project.env.socket(), &["kill-server"]).output();
                }
                1 => kill_a_script(&project),
                _ => {}
            }
            is_over = kill(&mut child);
            if is_over {
                break;
            }
            done += 1;
            child = go_on(&project, args);
        }
        if !is_over && !child.wait().unwrap().success() {
            // It was over already when it was resumed, or something is wrong.
            let report = project.report();
            assert_eq!(report["standing"], "complete", "{report}");
        }
        check(&project);
        nothing_was_done_twice(&project);
    }
}

/// One that was killed before its run was written down is begun again.
fn go_on(project: &Project, args: &[&str]) -> Child {
    match project.env.dogwatch(&["story", "status"]).code {
        Some(0) => project.start(&["story", "resume"]),
        _ => project.begin(args),
    }
}

fn kill_a_script(project: &Project) {
    let listed = project.env.dogwatch(&["ls", "--json"]).success().json();
    let pid = |session: &Value| session["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    for session in listed["sessions"].as_array().unwrap() {
        if session["state"] == "running"
            && let Some(pid) = pid(session).and_then(rustix::process::Pid::from_raw)
        {
            // It may have ended by itself since.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

#[test]
fn killed_at_random_instants_1() {
    killed_at_random(0x1234_5678_9abc, 40, false);
}

#[test]
fn killed_at_random_instants_2() {
    killed_at_random(0x2345_6789_abcd, 40, false);
}

#[test]
fn killed_at_random_instants_3() {
    killed_at_random(0x3456_789a_bcde, 40, false);
}

#[test]
fn killed_at_random_with_tmux_and_agents_1() {
    killed_at_random(0x4567_89ab_cdef, 40, true);
}

#[test]
fn killed_at_random_with_tmux_and_agents_2() {
    killed_at_random(0x5678_9abc_def0, 40, true);
}

#[test]
fn killed_at_random_side_by_side() {
    let calm = project();
    let _ = calm.run(&["--max-parallel", "2"]).success();
    let wanted = outcome_side_by_side(&calm);
    killed(0x6789_abcd_ef01, 40, false, &["--max-parallel", "2"], |project| {
        assert_eq!(outcome_side_by_side(project), wanted);
    });
}
