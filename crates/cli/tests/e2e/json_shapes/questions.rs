//! Escalations: raised, listed, answered, waited for.

use dogwatch_testkit::TestEnv;

#[test]
fn escalations() {
    let env = TestEnv::new();
    shape!("none", env.dogwatch(&["escalations", "--json"]).success());
    let raise = [
        "escalations",
        "raise",
        "commit_failed",
        "conflict in parser.rs",
        "--run",
        "epic-1",
        "--story",
        "1.2",
        "--step",
        "commit",
        "--session",
        "s",
        "--key",
        "k",
        "--blocking",
        "--retries-left",
        "1",
        "--json",
    ];
    shape!("raised", env.dogwatch(&raise).success());
    let raise = [
        "escalations",
        "raise",
        "output_unclear",
        "?",
        "--key",
        "j",
        "--deadline",
        "1h",
        "--default",
        "2",
        "--json",
    ];
    shape!("raised_with_deadline", env.dogwatch(&raise).success());
    shape!("listed", env.dogwatch(&["escalations", "ls", "--json"]).success());
    shape!("shown", env.dogwatch(&["escalations", "show", "1", "--json"]).success());
    shape!(
        "wait_timeout",
        env.dogwatch(&["escalations", "wait", "1", "--timeout", "0", "--json"]).code(124)
    );
    let answer = [
        "escalations",
        "answer",
        "1",
        "--option",
        "pause",
        "--note",
        "later",
        "--as",
        "ann",
        "--json",
    ];
    shape!("answered", env.dogwatch(&answer).success());
    let answer = ["escalations", "answer", "2", "--option", "1", "--as", "bob", "--json"];
    shape!("answered_without_note", env.dogwatch(&answer).success());
    shape!("waited", env.dogwatch(&["escalations", "wait", "1", "--json"]).success());
    shape!("listed_all", env.dogwatch(&["escalations", "ls", "--all", "--json"]).success());
    shape!("events", env.dogwatch(&["events", "--json"]).success());
}
