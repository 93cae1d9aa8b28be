use super::*;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("test.toml", text)
}

fn only_step(steps: &str) -> Vec<Action> {
    let text = format!("[[rule]]\nmatch = 'x'\nsteps = {steps}\n");
    parse(&text).expect(steps).rules.remove(0).steps.remove(0).0
}

#[test]
fn short_and_full_forms_mean_the_same() {
    let pairs = [
        (r#"["hi"]"#, r#"[[{ text = { text = "hi" } }]]"#),
        (r#"[{ text = "hi" }]"#, r#"[["hi"]]"#),
        (r#"[{ shell = "ls" }]"#, r#"[{ shell = { command = "ls" } }]"#),
        (r#"[{ gate = "g" }]"#, r#"[{ gate = { name = "g", max_s = 600 } }]"#),
        (r#"[{ error = "rate_limit" }]"#, r#"[{ error = { kind = "rate_limit" } }]"#),
        (
            r#"[{ todos = [{ text = "a" }] }]"#,
            r#"[{ todos = { items = [{ text = "a", status = "pending" }], update = false } }]"#,
        ),
        (r#"[{ subagent = "p" }]"#, r#"[{ subagent = { prompt = "p" } }]"#),
    ];
    for (short, full) in pairs {
        assert_eq!(only_step(short), only_step(full), "{short} against {full}");
    }
}

#[test]
fn every_action_has_a_form() {
    let step = only_step(
        r#"[[
        "a", { thinking = "b" }, { shell = { command = "c", why = "w", escalate = "e" } },
        { write = { path = "p", content = "q" } }, { edit = { path = "p", old = "a", new = "b" } },
        { todos = [] }, { ask = { question = "?", options = ["y", "n"] } }, { subagent = "s" },
        { exit_plan = "plan" }, { tool = { name = "T", args = { n = 1 } } }, { stall_s = 1.5 },
        { gate = "g" }, { usage = { input = 5 } }, { error = "overloaded" },
        { stream_error = { kind = "server_error", attempts = 1 } }, { cut = {} },
        ]]"#,
    );
    assert_eq!(step.len(), 16);
    assert_eq!(step[10], Action::Stall(std::time::Duration::from_millis(1500)));
}

#[test]
fn errors_name_the_place_and_what_is_expected() {
    let cases = [
        ("[[rule]]\nmatch = '['\nsteps = []", "2:9", "unclosed character class"),
        ("[[rule]]\nmatch = 'x'\nsteps = [7]", "3:10", "expected a step"),
        ("[[rule]]\nmatch = 'x'\nsteps = [{ shel = 'ls' }]", "3:12", "expected one of"),
        ("[[rule]]\nmatch = 'x'\nsteps = [{ shell = 3 }]", "3:20", "expected a string"),
        ("[[rule]]\nsteps = []", "1:1", "missing field `match`"),
        ("[[rule]]\nmatch = 'x'\nsteps = [{ stall_s = -1 }]", "3:22", "seconds from 0 up"),
        (
            "[[rule]]\nmatch = 'x'\nsteps = [{ error = 'oops' }]",
            "3:20",
            "expected one of `rate_limit`",
        ),
        ("[[rule]]\nmatch = 'x'\nsteps = [[{ text = 'a', stall_s = 1 }]]", "3:11", "one key"),
        ("defualt = []", "1:1", "expected one of `side`"),
        ("rule = [", "1:9", "unclosed array"),
    ];
    for (text, place, part) in cases {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("test.toml:{place}: ")), "{text}\n→ {error}");
        assert!(error.contains(part), "{text}\n→ {error}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = Scenario::load(Path::new("/nonexistent/s.toml")).expect_err("no file");
    assert!(error.to_string().starts_with("/nonexistent/s.toml: cannot read"), "{error}");
}

#[test]
fn pieces_keep_characters_whole() {
    let speech = Speech { chunk: 2, ..Speech::from("äöü€x".to_owned()) };
    assert_eq!(speech.pieces(), ["äö", "ü€", "x"]);
    assert!(Speech::from(String::new()).pieces().is_empty());
}

#[test]
fn the_shipped_scenario_is_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/scenarios/basic.toml");
    Scenario::load(&path).expect("lab/scenarios/basic.toml");
}
