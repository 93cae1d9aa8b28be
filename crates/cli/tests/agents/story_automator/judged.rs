//! Completion is judged by what the agent says, not matched on its screen.

use dogwatch_testkit::eventually_or;
use model_double::homes::Agent;

use crate::lab::Lab;

const CLAUDE: &str = "unset CLAUDECODE && claude --dangerously-skip-permissions";

fn wait_row(lab: &Lab, session: &str, end: &str) -> String {
    let mut row = String::new();
    eventually_or(end, || {
        row = lab.row(session);
        if row.ends_with(end) { Ok(()) } else { Err(row.clone()) }
    });
    row
}

#[test]
fn an_interactive_claude_is_done_when_its_turn_is() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn_step("dev", &format!("{CLAUDE} '[gate] do it'"));
    wait_row(&lab, &session, ",in_progress");
    let monitored = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lab.monitor(&session, &[]));
        wait_row(&lab, &session, ",in_progress");
        lab.double.release("gate");
        waiting.join().unwrap()
    });
    assert_eq!(monitored["todos_done"], 1, "{monitored}");
    let output = std::fs::read_to_string(monitored["output_file"].as_str().unwrap()).unwrap();
    assert!(output.contains("Gate passed."), "{output}");
    let row = lab.row(&session);
    assert_eq!(row, "idle,1,1,,0,completed");
    // It lives, and can be talked to.
    let heartbeat = lab.helper(&["heartbeat-check", &session]).success().text();
    assert!(heartbeat.starts_with("completed,"), "{heartbeat}");
    let _ = lab.dogwatch(&["send", &session, "[hello] again"]).success();
    wait_row(&lab, &session, ",completed");
    assert_eq!(lab.asked().len(), 2);
    let _ = lab.helper(&["tmux-wrapper", "kill", &session]).success();
    assert_eq!(lab.row(&session), "not_found,0,0,,0,not_found");
}

#[test]
fn one_that_asks_is_not_done() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn_step("dev", &format!("{CLAUDE} '[ask] which'"));
    let mut row = String::new();
    eventually_or("the question", || {
        row = lab.row(&session);
        if row.contains("database") { Ok(()) } else { Err(row.clone()) }
    });
    assert_eq!(row, "active,0,0,Which database should I use?,15,in_progress");
    let _ = lab.helper(&["tmux-wrapper", "kill", &session]).success();
}

#[test]
fn codex_that_answers_once_works_until_it_ends() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let command = "codex exec -s workspace-write -c 'approval_policy=\"never\"' --skip-git-repo-check '[gate] do it'";
    let session = lab.spawn_step("dev", command);
    let row = lab.row(&session);
    assert!(row.starts_with("active,") && row.ends_with(",in_progress"), "{row}");
    let monitored = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lab.monitor(&session, &["--agent", "codex"]));
        lab.double.release("gate");
        waiting.join().unwrap()
    });
    let output = std::fs::read_to_string(monitored["output_file"].as_str().unwrap()).unwrap();
    assert!(output.contains("Gate passed."), "{output}");
    assert_eq!(
        lab.helper(&["codex-status-check", &session]).text().trim(),
        "idle,1,1,,0,completed"
    );
    let _ = lab.helper(&["tmux-wrapper", "kill", &session]).success();
}
