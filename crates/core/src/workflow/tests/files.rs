//! Workflow files: which are accepted, and the positions of problems in the others.

use crate::workflow::definition::{Count, Failure, Per, Verifier, Work};
use crate::workflow::{bmad, fill, read};

#[test]
fn the_built_in_workflow_is_complete() {
    let bmad = bmad().unwrap();
    let ids: Vec<&str> = bmad.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["create", "dev", "auto", "review", "commit", "retro", "retro-commit"]);
    let review = bmad.step("review").unwrap();
    assert!(review.is_loop);
    assert_eq!((review.attempts, review.rule(Failure::Unverified).times), (5, 5));
    assert_eq!(bmad.step("retro").unwrap().per, Per::Group);
    assert_eq!(bmad.step("dev").unwrap().rule(Failure::Failed).times_if_blocking, Some(3));
    assert!(matches!(bmad.step("commit").unwrap().work, Work::Commit { .. }));
    let with_merges = bmad.with_merges();
    let ids: Vec<&str> = with_merges.steps_per(Per::Item).map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["create", "dev", "auto", "review", "commit", "merge"]);
}

#[test]
fn a_small_workflow_is_read() {
    let text = r#"
name = "docs"
items = ["intro", "guide"]
[[step]]
id = "write"
run = ["sh", "-c", "echo hello"]
verify = [{ kind = "files", glob = "{item}.md", count = 1 }, { kind = "command", run = "test -s {item}.md", timeout = "5s" }]
timeout = "1h 30m"
[step.retry.crash]
times = 4
delay = "2s"
"#;
    let docs = read("docs.toml", text).unwrap();
    assert_eq!(docs.items, ["intro", "guide"]);
    let write = &docs.steps[0];
    assert_eq!(write.timeout.as_secs(), 5400);
    assert_eq!(
        (write.rule(Failure::Crash).times, write.rule(Failure::Crash).delay.as_secs()),
        (4, 2)
    );
    assert_eq!(
        write.verify[0],
        Verifier::Files { glob: "{item}.md".into(), count: Count::Exactly(1) }
    );
}

#[test]
fn problems_are_reported_with_their_position() {
    let step = "name = \"w\"\n[[step]]\nid = \"a\"\n";
    for (text, place, words) in [
        ("name = \"w\"\nsteps = 3\n".to_owned(), "2:1", "unknown field `steps`"),
        ("name = \"w\"\n".to_owned(), "1:8", "no steps"),
        ("name = \"a b\"\n".to_owned(), "1:8", "letters, digits"),
        (format!("{step}prompt = \"x\"\npromt = \"x\"\n"), "5:1", "unknown field `promt`"),
        (format!("{step}prompt = \"{{sotry}}\"\n"), "4:10", "unknown placeholder"),
        (step.to_owned(), "2:1", "does nothing"),
        (format!("{step}prompt = \"x\"\ncommit = \"y\"\n"), "2:1", "more than one of"),
        (format!("{step}run = []\n"), "4:7", "no program"),
        (format!("{step}run = [\"x\"]\nagent = \"claude\"\n"), "5:9", "takes no agent"),
        (format!("{step}prompt = \"x\"\ntimeout = \"soon\"\n"), "5:11", ""),
        (format!("{step}prompt = \"x\"\ntimeout = \"0s\"\n"), "5:11", "greater than zero"),
        (format!("{step}prompt = \"x\"\nattempts = 0\n"), "5:12", "from 1 to"),
        (format!("{step}prompt = \"x\"\ncycles = -1\n"), "5:10", ""),
        (
            format!("{step}prompt = \"x\"\nverify = [{{ kind = \"flies\" }}]\n"),
            "5:20",
            "unknown variant `flies`",
        ),
        (
            format!("{step}prompt = \"x\"\nverify = [{{ kind = \"files\" }}]\n"),
            "5:11",
            "needs \"glob\"",
        ),
        (
            format!("{step}prompt = \"x\"\nverify = [{{ kind = \"policy\", glob = \"x\" }}]\n"),
            "5:37",
            "does not take",
        ),
        (
            format!("{step}prompt = \"x\"\nverify = [{{ kind = \"output\", success = \"(\" }}]\n"),
            "5:40",
            "regular expression",
        ),
        (format!("{step}prompt = \"x\"\ndone_before = true\n"), "5:15", "needs a verifier"),
        (
            format!("{step}commit = \"x\"\nverify = [{{ kind = \"session_exit\" }}]\n"),
            "3:6",
            "no session",
        ),
        (
            format!("{step}prompt = \"x\"\n[step.retry.crsh]\ntimes = 1\n"),
            "5:13",
            "unknown variant `crsh`",
        ),
        (format!("{step}prompt = \"x\"\n[step.retry.crash]\ndelay = \"-1s\"\n"), "6:9", "negative"),
        (
            format!("{step}prompt = \"x\"\n[[step]]\nid = \"a\"\nprompt = \"y\"\n"),
            "6:6",
            "duplicate step",
        ),
        (format!("{step}prompt = \"x\"\nper = \"group\"\n"), "1:8", "per item"),
        (format!("{step}prompt = \"x\n"), "4:12", ""),
    ] {
        let error = read("w.toml", &text).unwrap_err();
        assert_eq!(format!("{}:{}", error.line, error.column), place, "{text}\n{error}");
        assert!(error.problem.contains(words), "{text}\n{error}");
        assert!(error.to_string().starts_with("w.toml:"), "{error}");
    }
}

#[test]
fn the_closest_word_is_suggested() {
    let hint = |text: &str| read("w.toml", text).unwrap_err().hint.unwrap_or_default();
    assert_eq!(
        hint("name = \"w\"\n[[step]]\nid = \"a\"\npromt = \"x\"\n"),
        "did you mean `prompt`?"
    );
    assert_eq!(
        hint("name = \"w\"\n[[step]]\nid = \"a\"\nprompt = \"{sotry}\"\n"),
        "did you mean `{story}`?"
    );
}

#[test]
fn placeholders_are_filled_once() {
    let value = |word: &str| (word == "item").then(|| "{item}".to_owned());
    assert_eq!(fill("a {item} { {x} {item", value), "a {item} { {x} {item");
}
