use super::*;
use crate::facts::OfferedTool;

const SCRIPT: &str = r#"
side = "title"
default = ["nothing matches"]
after = "over"

[[rule]]
match = '\[a\]'
steps = ["a one", "a two"]

[[rule]]
match = '\[b\]|\[a\]b'
steps = ["b one"]

[[rule]]
match = '\[fail\]'
steps = [[{ stall_s = 2 }, "lost", { error = { kind = "rate_limit", attempts = 2 } }, "well"]]

[[rule]]
match = '\[tool\]'
steps = [[{ shell = "ls" }, { usage = { input = 7, output = 8, cached = 9 } }]]
"#;

fn scenario() -> Scenario {
    Scenario::parse("test", SCRIPT).expect("valid")
}

fn asking(human: &str, step: usize) -> Facts {
    let mut thread = Thread::default();
    thread.user_message([human]);
    for _ in 0..step {
        thread.model_item();
        thread.other_item();
    }
    Facts { thread, tools: vec![OfferedTool::function("Bash")], ..Facts::default() }
}

fn text(answer: Answer) -> String {
    match answer {
        Answer::Reply(reply) => reply.text(),
        Answer::Refuse { failure, .. } => format!("refused: {:?}", failure.kind),
    }
}

#[test]
fn rule_and_step_follow_from_the_request_alone() {
    let cases = [
        ("please [a]", 0, "a one"),
        ("please [a]", 1, "a two"),
        ("please [a]", 2, "over"),
        ("[b] then [a]", 0, "a one"),
        ("[a] then [b]", 0, "b one"),
        ("[a]b", 0, "a one"),
        ("hm", 0, "nothing matches"),
        ("hm", 1, "over"),
    ];
    let scenario = scenario();
    for (human, step, expected) in cases {
        let answer = choose(&scenario, &asking(human, step), &mut Attempts::default());
        assert_eq!(text(answer), expected, "{human} at step {step}");
    }
}

#[test]
fn side_requests_never_play_a_rule() {
    let facts = Facts { side: true, ..asking("[a]", 0) };
    assert_eq!(text(choose(&scenario(), &facts, &mut Attempts::default())), "title");
}

#[test]
fn a_limited_failure_ends_after_its_attempts() {
    let (scenario, mut attempts) = (scenario(), Attempts::default());
    let facts = asking("[fail]", 0);
    let mut ask = |facts: &Facts| text(choose(&scenario, facts, &mut attempts));
    assert_eq!(ask(&facts), "refused: RateLimit");
    assert_eq!(ask(&facts), "refused: RateLimit");
    assert_eq!(ask(&facts), "lostwell");

    let other_conversation = Facts { conversation: "other".into(), ..facts.clone() };
    assert_eq!(ask(&other_conversation), "refused: RateLimit");

    let mut same_words_again = facts;
    same_words_again.thread.model_item();
    same_words_again.thread.user_message(["[fail]"]);
    assert_eq!(ask(&same_words_again), "refused: RateLimit");
}

#[test]
fn pauses_before_an_error_are_kept() {
    let answer = choose(&scenario(), &asking("[fail]", 0), &mut Attempts::default());
    let Answer::Refuse { pauses, .. } = answer else {
        panic!("refusal expected, got {answer:?}");
    };
    assert_eq!(pauses, [Pause::Stall(std::time::Duration::from_secs(2))]);
}

#[test]
fn usage_and_tools_reach_the_reply() {
    let Answer::Reply(reply) = choose(&scenario(), &asking("[tool]", 0), &mut Attempts::default())
    else {
        panic!("reply expected");
    };
    assert_eq!(reply.calls().next().expect("one call").name, "Bash");
    let expected = Tokens { input: 7, output: 8, cached: 9, written: 0 };
    assert_eq!(reply.tokens, expected);
}

#[test]
fn a_tool_that_is_not_offered_is_said_so() {
    let facts = Facts { tools: vec![], ..asking("[tool]", 0) };
    let said = text(choose(&scenario(), &facts, &mut Attempts::default()));
    assert!(said.contains("no tool for `shell`"), "{said}");
}
