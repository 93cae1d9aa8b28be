//! What an agent says of tests and builds: that they pass, or fail. Only what is said plainly, in English, of the work at hand.
//! What is hoped, planned, asked, quoted, or said of another place or time is no claim; in doubt there is none.

mod text;

use std::sync::LazyLock;

use regex_lite::Regex;

use super::commands::Kind;
use text::Sentence;

/// Longest sentence that is shown.
const SHOWN: usize = 200;
/// A longer text is not read to its end.
const LONGEST: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Says {
    Pass,
    Fail,
}

/// Something that was said of tests or a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub kind: Kind,
    pub says: Says,
    /// Of all tests, not of some.
    pub is_whole: bool,
    /// The sentence.
    pub text: String,
}

/// The claims in what an agent said, each kind once.
pub fn find(said: &str) -> Vec<Claim> {
    let end = said.char_indices().nth(LONGEST).map_or(said.len(), |(at, _)| at);
    let said = &said[..end];
    // Most texts are about something else.
    let lower = said.to_ascii_lowercase();
    if !["test", "build", "compil", "pass", "suite"].iter().any(|word| lower.contains(word)) {
        return Vec::new();
    }
    let mut found: Vec<Claim> = Vec::new();
    let mut speaks_of_tests = false;
    for sentence in text::sentences(said) {
        let spoke_of_tests = speaks_of_tests;
        speaks_of_tests = TESTS.is_match(&sentence.plain);
        for claim in claims_in(&sentence, spoke_of_tests || speaks_of_tests) {
            let is_known = |known: &Claim| {
                known.kind == claim.kind
                    && known.says == claim.says
                    && (known.is_whole || !claim.is_whole)
            };
            if !found.iter().any(is_known) {
                found.push(claim);
            }
        }
    }
    found
}

fn claims_in(sentence: &Sentence, speaks_of_tests: bool) -> Vec<Claim> {
    if sentence.is_question || BLOCKED.is_match(&sentence.plain) {
        return Vec::new();
    }
    let is_partial = PARTIAL.is_match(&sentence.plain) || has_unequal_count(&sentence.plain);
    let mut found = Vec::new();
    for clause in CLAUSES.split(&sentence.plain) {
        let mut push = |kind, says, is_whole| {
            let text = crate::text::shortened(&sentence.shown, SHOWN);
            found.push(Claim { kind, says, is_whole, text });
        };
        if TEST_FAILS.iter().any(|pattern| pattern.is_match(clause)) {
            push(Kind::Test, Says::Fail, false);
        } else if !is_partial && let Some(is_whole) = tests_pass(clause, speaks_of_tests) {
            push(Kind::Test, Says::Pass, is_whole);
        }
        if BUILD_FAILS.is_match(clause) {
            push(Kind::Build, Says::Fail, true);
        } else if !is_partial && builds(clause) {
            push(Kind::Build, Says::Pass, true);
        }
    }
    found
}

#[expect(clippy::expect_used, reason = "the patterns are constants; a test reads them all")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("invariant: the patterns are constants, and tests read them all")
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => { $(static $name: LazyLock<Regex> = LazyLock::new(|| pattern($text));)* };
}

patterns! {
    TESTS = r"\b(?:tests?|specs?|suites?)\b|⟦test⟧";
    // Hoped, planned, asked for, conditional; said by others, of another place or another time.
    BLOCKED = concat!(
        r"\b(?:should|would|could|might|may|must|will|won't|shall|expect\w*|hope\w*|hoping|probably|likely|presumably|perhaps|maybe|",
        r"seems?|appears?|apparently|supposedly|believe|think|assum\w+|suspect|guess|if|once|when|whenever|until|till|unless|whether|",
        r"so that|in order|make sure|ensur\w+|verify|verifying|check|checking|confirm|let me|let's|lets|need|needs|needed|want\w*|",
        r"goal|try|trying|next|todo|plan|planned|waiting|wait|remains?|before|beforehand|previous\w*|earlier|used to|yesterday|formerly|",
        r"originally|initially|ago|last (?:week|month|time|night|release)|since (?:monday|tuesday|wednesday|thursday|friday|yesterday|last)|",
        r"says|said|say|claims?|claimed|states|stated|wrote|writes|mentions|mentioned|reported|told|according|readme|changelog|ticket|",
        r"badge|message|comment|quoted?|documented|ci|github actions|pipeline|on (?:the )?(?:main|master|trunk|develop)|upstream|",
        r"other (?:repo\w*|project|branch|machine|clone)|your (?:machine|side|laptop|environment)|for you|production|staging|elsewhere|",
        r"colleague|without (?:the|this|my|that) (?:fix|change|patch)|example|e\.g\.|for instance|means|meaning|instead of|",
        r"requir\w*|asked|criteri\w*|doubt\w*|not true that|not (?:sure|certain|clear|verified|run|able)|unable|cannot|can't|couldn't|haven't|hasn't|didn't run|to pass|to be green|",
        r"to succeed|to compile|to build|to get|to make|to see|to fix)\b|'ll\b|\bi'd\b",
    );
    // Of some only.
    PARTIAL = concat!(
        r"\b(?:except|apart from|other than|aside from|besides|most|almost|nearly|some|many|few|several|half|remaining|rest|only|",
        r"part of|mostly|partially|largely|skipp?\w*|ignor\w+|disabl\w+|exclud\w+)\b",
    );
    COUNT = r"\b(\d+)\s*(?:/|of|out of)\s*(?:the |all )?(\d+)\b";
    CLAUSES = r"(?:,|;| -| —| –)? (?:but|however|while|whereas|although|though|yet|and)\b|; ";
    TEST_PASSES = concat!(
        r"(?P<before>(?:[\w'’.⟦⟧/-]+ )?)(?P<noun>\btests?(?: cases?| suites?| runs?)?|\btest[- ]suites?|\bsuites?|\bspecs|⟦test⟧)",
        r"(?: in [\w./:-]+)?,? ?:? ?(?:(?:all|now|still|also|again|both|are|is|have|has|of them|currently|finally|been|run|ran) )*",
        r"(?P<verb>pass(?:es|ed|ing)?|succeed(?:s|ed|ing)?|green|clean|successful|complete[sd]? successfully|(?:run|ran) successfully|",
        r"exit(?:s|ed)? (?:with )?(?:code |status |exit code )?(?:0|zero)|✅|✓|✔)",
        r"(?P<after>.*)$",
    );
    // `The test passes a list`: then it is another kind of passing.
    GOES_ON = concat!(
        r"^(?:[^\w\s]|$|\s+(?:now|again|with|without|on|in|after|locally|too|as|cleanly|successfully|for|both|here|under|at|so|because|",
        r"including|once|\(|\d|—|-|–|✅|✓|✔|🎉|this))",
    );
    THEY_PASS = concat!(
        r"\b(?:they|these|everything|all of them|it all|all|all \d+)(?: (?:all|now|still|also|again|are|is|have))* ",
        r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)(?P<after>.*)$",
    );
    NONE_FAILED = concat!(
        r"\b\d+ (?:tests? )?passed\b|\b(?:no|zero|0) (?:test )?failures\b|\bno (?:failing|failed) tests\b|\bno tests? (?:fail|failed)\b|",
        r"\b(?:0|no) (?:tests? )?failed\b",
    );
    PASSES_ALL = r"\bpass(?:es|ed|ing)? (?:all|every)(?: of| the| our| its| \d+| existing| unit| integration)* tests?\b";
    MARKED = r"(?:✅|✓|✔|☑)️? *(?:all )?(?:the )?tests?\s*$";
    BUILD_PASSES = concat!(
        r"(?:\b(?:build|compilation|type[- ]?check)|⟦build⟧),? ?:? ?(?:(?:now|still|also|again|is|has|both|all|are) )*",
        r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed|ing)?|green|clean|successful|works|complete[sd]? successfully|",
        r"exit(?:s|ed)? (?:with )?(?:code |status |exit code )?(?:0|zero)|✅|✓|✔)(?P<after>.*)$",
    );
    COMPILES = concat!(
        r"\b(?:it|code|crate|project|everything|workspace|package|binary|app|module|⟦code⟧|now|still|all|and|to)? ?",
        r"(?:compiles|compiled|builds) (?:now |again )?(?:cleanly|successfully|without (?:any )?(?:errors|warnings)|fine|correctly)",
    );
    BUILD_FAILS = concat!(
        r"(?:\b(?:build|compilation)|⟦build⟧) (?:(?:now|still|also|again|is|has) )*(?:fail(?:s|ed|ing)?|broken|red)\b|",
        r"\b(?:does not|doesn't|do not|don't|did not|didn't) (?:yet |even )?(?:compile|build)\b",
    );
}

static TEST_FAILS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        pattern(concat!(
            r"(?:\b(?:tests?(?: cases?| suites?| runs?)?|test[- ]suites?|suites?|specs)|⟦test⟧) (?:(?:now|still|also|again|are|is|all|both|",
            r"have|has) )*(?:fail(?:s|ed|ing)?|broken|red)\b"
        )),
        pattern(r"\b(?:not all|not every|none of)\b.*\btests? (?:yet )?(?:pass|succeed|green|are)"),
        pattern(concat!(
            r"(?:\b(?:tests?|suites?)|⟦test⟧) (?:still |now )?(?:do not|don't|does not|doesn't|did not|didn't) (?:yet |all |still )?",
            r"(?:pass|succeed)"
        )),
        pattern(r"\b[1-9]\d* (?:failing tests?|tests? failed|failed\b|failures?\b)"),
    ]
});

/// Whether tests pass, and whether that is said of all of them.
fn tests_pass(clause: &str, speaks_of_tests: bool) -> Option<bool> {
    if let Some(found) = TEST_PASSES.captures(clause) {
        let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
        let verb = part("verb");
        let is_bare = verb.starts_with("pass") || verb.starts_with("succeed");
        if is_bare && !GOES_ON.is_match(part("after")) {
            return None;
        }
        return Some(is_whole(part("before").trim(), part("noun"), clause));
    }
    if speaks_of_tests
        && let Some(found) = THEY_PASS.captures(clause)
        && GOES_ON.is_match(found.name("after").map_or("", |part| part.as_str()))
    {
        return Some(true);
    }
    let is_said =
        NONE_FAILED.is_match(clause) || PASSES_ALL.is_match(clause) || MARKED.is_match(clause);
    is_said.then_some(true)
}

/// `all tests`, `the test suite`, but not `the parser tests` or `the test`.
fn is_whole(before: &str, noun: &str, clause: &str) -> bool {
    if noun == "test" || noun == "spec" {
        return false;
    }
    let is_count = before.bytes().all(|b| b.is_ascii_digit() || b == b'/' || b == b'.');
    let neutral = [
        "all",
        "the",
        "every",
        "our",
        "my",
        "these",
        "its",
        "existing",
        "of",
        "and",
        "full",
        "whole",
        "entire",
        "complete",
        "project",
        "both",
        "that",
        "automated",
    ];
    let says_all =
        clause.split(' ').any(|word| matches!(word, "all" | "every" | "entire" | "whole"));
    is_count
        || neutral.contains(&before)
        || !before.bytes().any(|b| b.is_ascii_alphabetic())
        || (says_all && noun.contains("suite"))
}

fn builds(clause: &str) -> bool {
    let goes_on = BUILD_PASSES.captures(clause).is_some_and(|found| {
        GOES_ON.is_match(found.name("after").map_or("", |part| part.as_str()))
    });
    goes_on || COMPILES.is_match(clause)
}

/// `29 of 31`.
fn has_unequal_count(text: &str) -> bool {
    COUNT
        .captures(text)
        .is_some_and(|found| found.get(1).map(|m| m.as_str()) != found.get(2).map(|m| m.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(said: &str) -> String {
        let one = |claim: &Claim| {
            let kind = if claim.kind == Kind::Test { "test" } else { "build" };
            let part = if claim.is_whole { "" } else { "*" };
            let says = if claim.says == Says::Pass { "pass" } else { "fail" };
            format!("{kind}{part} {says}")
        };
        find(said).iter().map(one).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn said_plainly() {
        for (said, expected) in [
            ("All tests pass.", "test pass"),
            ("all tests\npass now", "test pass"),
            ("The tests pass.", "test pass"),
            ("Tests pass", "test pass"),
            ("All 42 tests passed!", "test pass"),
            ("I verified that all tests pass.", "test pass"),
            ("**All tests are green.**", "test pass"),
            ("- all tests passing", "test pass"),
            ("Tests: ✅", "test pass"),
            ("✅ All tests", "test pass"),
            ("The parser tests pass.", "test* pass"),
            ("The test passes now.", "test* pass"),
            ("The test suite passes.", "test pass"),
            ("31 passed, 0 failed", "test pass"),
            ("I ran the tests and they all pass.", "test pass"),
            ("The code passes all existing tests.", "test pass"),
            ("`cargo test` passes.", "test pass"),
            ("`cargo test` exits with code 0.", "test pass"),
            ("42/42 tests pass", "test pass"),
            ("The build succeeds and all tests pass.", "build pass, test pass"),
            ("The project builds successfully.", "build pass"),
            ("`npm run build` passes", "build pass"),
            ("Two tests fail.", "test* fail"),
            ("The tests are still failing.", "test* fail"),
            ("Not all tests pass yet.", "test* fail"),
            ("The tests don't pass.", "test* fail"),
            ("The build is broken.", "build fail"),
            ("It does not compile.", "build fail"),
        ] {
            assert_eq!(shown(said), expected, "{said}");
        }
    }

    #[test]
    fn no_claims() {
        for said in [
            "The tests should pass now.",
            "I'll run the tests until they pass.",
            "Once all tests pass, I'll push.",
            "Do all tests pass?",
            "> All tests pass",
            "```\nall tests pass\n```",
            "The log says \"all tests pass\".",
            "It prints `all tests pass`.",
            "- [ ] all tests pass",
            "In CI all tests pass.",
            "The test passes a string to the parser.",
            "Tests pass their options by name.",
            "29 of 31 tests pass.",
            "All tests pass except one.",
            "Only the unit tests pass.",
            "| state | all tests pass |",
            "Password tests and a compass.",
            "Build a parser that passes.",
            "All tests were passing.",
            "You asked that all tests pass.",
            "The task requires that all tests pass.",
            "Required: all tests pass.",
            "Acceptance criteria: all tests pass.",
            "I doubt that all tests pass.",
            "It is not true that all tests pass.",
            "",
        ] {
            assert_eq!(shown(said), "", "{said}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\n`*\"]{0,200}|\\PC{0,80}") {
            let _ = find(&text);
            let _ = find(&format!("all tests pass {text}"));
        }
    }
}
