use super::*;

#[test]
fn labels_are_found() {
    for (text, expected) in [
        ("Working on a menu\n", Some("Working on a menu")),
        ("Running tests, please wait (ctrl+c to interrupt)\n", Some("Running tests  please wait")),
        ("Thinking\nline\nRunning x\ndone\n", Some("Running x")),
        ("✻ Musing… (ctrl+c to interrupt)", Some("Musing…")),
        ("✻ \n", None),
        ("plain text", None),
        ("", None),
    ] {
        assert_eq!(label(text).as_deref(), expected, "{text}");
    }
    assert_eq!(as_label(&format!("Working {}", "x".repeat(200))).chars().count(), 80);
    assert_eq!(as_label("a\tb\u{1b}c"), "a b c");
}

#[test]
fn boxes_are_removed_and_todos_counted() {
    let text = "☒ a\n  ╭───╮\n  │ ☐ typed │\n  ╰───╯\n│ ☐ b\n";
    assert_eq!(without_boxes(text), "☒ a\n│ ☐ b\n");
    assert_eq!(todos(&without_boxes(text)), Todos { done: 1, total: 2 });
}

#[test]
fn ends_of_turns_are_recognised() {
    for (text, expected) in [
        ("✻ Cooked for 3m 12s\n", true),
        ("✻ Cooked for 45s\n\n❯ \n", true),
        ("✻ Cooked for 1h 2m 3s\n\n❯ \n", true),
        ("✻ Sautéed for 2m\n", true),
        ("✻ Baked for 3m 12s · 1 shell still running\n\n❯ \n", true),
        ("Cooked for 3m 12s\n\n❯ \n\n\n", true),
        ("Done for 3m\n", true),
        ("✻ Cooking for 3m 12s\n", false),
        ("Tested for 3m 12s\nCoverage 85%\nstill busy\n", false),
        ("It was Tested for 3m 12s\n", false),
        ("✻ Cooked for 3m 12s\n❯ go on\n✻ Thinking…\n", false),
        ("Cooked for a while\n", false),
        ("", false),
    ] {
        assert_eq!(shows_an_end(text), expected, "{text}");
    }
}

#[test]
fn prompts_are_recognised() {
    for (text, somewhere, last) in [
        ("hello\n❯ \n\n\n\n", true, true),
        ("❯ 10:01:22\n", true, true),
        ("user@host:~# \n\n", true, true),
        ("host% ", true, true),
        ("❯\n? for shortcuts\n", true, false),
        ("Coverage 85%\n", false, false),
        ("costs 5$\nmore\n", false, false),
        ("", false, false),
    ] {
        assert_eq!(shows_a_prompt(text), somewhere, "{text}");
        assert_eq!(ends_in_a_prompt(text), last, "{text}");
    }
}

#[test]
fn clocks_are_read() {
    for (text, expected) in [
        ("proj | ctx(12%) | 10:00:00\n", Some("10:00:00")),
        ("a | 10:00:00\nb | 10:00:01 |\n", Some("10:00:01")),
        ("a |10:00:00", Some("10:00:00")),
        ("10:00:00", None),
        ("a | 1:00:00", None),
        ("a | é", None),
    ] {
        assert_eq!(clock(text).as_deref(), expected, "{text}");
    }
}
