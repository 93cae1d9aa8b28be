use std::path::PathBuf;
use std::process::Command;

use dogwatch_protocol::report::{Commit, EditedFile, ReportedClaim, Says, Times};
use dogwatch_protocol::usage::{Tokens, Used};
use jiff::Timestamp;

use super::*;

const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{1b}[31m\u{202e}<img src=x onerror=alert(1)>";

fn at(text: &str) -> Timestamp {
    format!("2026-11-16T{text}:00Z").parse().unwrap()
}

fn line(line: u64) -> Source {
    Source::Transcript { file: "/home/ada/.claude/projects/app/1.jsonl".to_owned(), line }
}

fn run(command: &str, when: &str, exit: i32, result: RunResult) -> ReportedRun {
    let because = (result == RunResult::Hidden).then(|| "a pipe hides the exit code".to_owned());
    ReportedRun {
        kind: RunKind::Test,
        command: command.to_owned(),
        at: Some(at(when)),
        exit: Some(exit),
        result,
        because,
        source: line(700),
    }
}

fn claim(text: &str, run: ReportedRun, verdict: ClaimVerdict) -> ReportedClaim {
    ReportedClaim {
        kind: RunKind::Test,
        says: Says::Pass,
        text: text.to_owned(),
        at: Some(at("03:14")),
        verdict,
        run,
        edits_since: 2,
        source: line(812),
    }
}

fn session(name: &str, text: &str) -> SessionReport {
    let happened = |text: &str| Happened {
        at: at("02:00"),
        text: text.to_owned(),
        source: Source::Journal { number: 77 },
    };
    let span = |state, from: &str, to: &str| Span {
        state,
        from: at(from),
        to: at(to),
        source: (state != SpanState::NotObserved).then_some(Source::Journal { number: 12 }),
    };
    let failed = run("cargo test", "03:12", 101, RunResult::Failed);
    SessionReport {
        id: "%3-1-2".parse().unwrap(),
        name: name.to_owned(),
        agent: "claude".to_owned(),
        title: Some(text.to_owned()),
        folder: Some("/home/ada/app".to_owned()),
        begun: Some(at("00:00")),
        ended: None,
        turns: Some(vec![happened("")]),
        commits: vec![Commit {
            commit: "0123456789012345678901234567890123456789".to_owned(),
            subject: text.to_owned(),
            at: at("02:30"),
            files: 3,
            by_agent: Some(true),
            source: Source::Git { commit: "0123456789012345678901234567890123456789".to_owned() },
        }],
        files: vec![EditedFile { path: format!("src/{text}"), edits: 2, source: line(5) }],
        runs: vec![
            run(text, "01:00", 0, RunResult::Passed),
            run("cargo test 2>&1 | tail -n 20", "02:00", 0, RunResult::Hidden),
            failed.clone(),
        ],
        claims: vec![
            claim("All tests pass.", failed.clone(), ClaimVerdict::Contradicted),
            claim(text, failed, ClaimVerdict::Unproven),
        ],
        questions: vec![Question {
            at: at("01:10"),
            about: "permission".to_owned(),
            text: text.to_owned(),
            answered: Some(at("01:40")),
            by: Some("ann on pts/3".to_owned()),
            source: Source::Journal { number: 8 },
            answer_source: Some(Source::Journal { number: 9 }),
        }],
        limits: vec![happened("5-hour limit reached, resets 03:00")],
        loops: vec![happened(text)],
        collisions: Vec::new(),
        actions: vec![happened("rule tests: allow Bash make")],
        usage: Some(Used {
            tokens: Tokens { input: 1_000, ..Tokens::default() },
            messages: 1,
            subagents: Tokens::default(),
            cost_usd: Some(1.2),
            cost_is_lower_bound: false,
            unpriced: Vec::new(),
        }),
        usage_sources: vec![line(900)],
        time: Times { working: 7_200, waiting: 1_800, not_observed: 3_600, ..Times::default() },
        timeline: vec![
            span(SpanState::Working, "00:00", "01:10"),
            span(SpanState::Waiting, "01:10", "01:40"),
            span(SpanState::Working, "01:40", "02:30"),
            span(SpanState::NotObserved, "02:30", "03:30"),
        ],
        notes: vec!["a note".to_owned()],
    }
}

pub(in super::super) fn example() -> Report {
    let long = "a-very-long-word-without-any-break-".repeat(8);
    Report {
        since: at("00:00"),
        until: at("07:00"),
        sessions: vec![
            session("api", "Rate limits of the public API"),
            session("hostile", HOSTILE),
            session("long", &long),
        ],
    }
}

#[test]
fn no_text_becomes_markup() {
    let page = page(&example(), &TimeZone::UTC);
    let lower = page.to_lowercase();
    assert!(!lower.contains("<script") && !lower.contains("<img"), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'), "{page}");
    for outside in ["http:", "https:", "url(", "@import", "src=", "<link", "<iframe", "javascript:"]
    {
        let found = lower.replace("src=x onerror", "").replace("http-equiv", "");
        assert!(!found.contains(outside), "{outside}: {page}");
    }
    let claim =
        "said “All tests pass.” at 03:14; the last `cargo test` exited 101 at 03:12; 2 edits since";
    assert!(page.contains(claim), "{page}");
    // Sources are to be read without a pointer.
    let link = "<a class=\"src\" href=\"#file-0\">transcript line 812 of file 1</a>";
    assert!(page.contains(link), "{page}");
    let file = "<li id=\"file-0\">file 1: <code>/home/ada/.claude/projects/app/1.jsonl</code></li>";
    assert!(page.contains(file), "{page}");
    assert!(page.contains("rule tests: allow Bash make"), "{page}");
    let cost =
        "$1.20, 1,000 tokens</b> cost, in <a class=\"src\" href=\"#file-0\">transcript line 900";
    assert!(page.contains(cost), "{page}");
}

/// Every link leads to a place on the page.
#[test]
fn links_lead_somewhere() {
    let page = page(&example(), &TimeZone::UTC);
    let links: Vec<&str> =
        page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().map(|dir| dir.join(name)).find(|p| p.is_file()))
}

/// Real Chromium, on a phone and on a desk: nothing is wider than the window, and nothing but the file is read.
#[test]
fn readable_in_chromium() {
    let Some(program) = chromium() else {
        let required = Some("DOGWATCH_REQUIRE_CHROMIUM");
        dogwatch_testkit::skip::skipped(required, "chromium is not installed");
        return;
    };
    let tmp = tempfile::tempdir().unwrap();
    let file = tmp.path().join("report.html");
    // A frame of a given width tells what the page in it measures; Chromium's own window is never narrower than 500.
    std::fs::write(&file, page(&example(), &TimeZone::UTC)).unwrap();
    for width in [390, 1200] {
        let frame = tmp.path().join(format!("frame-{width}.html"));
        let script = "onload=()=>{const d=document.getElementById('f').contentDocument;const e=d.documentElement;\
            const c=d.querySelector('.numbers');document.title=[e.scrollWidth,e.clientWidth,\
            d.querySelectorAll('script,img').length,d.querySelectorAll('section').length,\
            getComputedStyle(c).gridTemplateColumns.split(' ').length].join(' ')}";
        let text = format!(
            "<iframe id=\"f\" src=\"report.html\" style=\"width:{width}px;height:800px;border:0\"></iframe><script>{script}</script>"
        );
        std::fs::write(&frame, text).unwrap();
        let mut command = Command::new(&program);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            // Nothing is fetched from anywhere.
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-quic",
        ]);
        command.arg(format!("--user-data-dir={}", tmp.path().join("profile").display()));
        command.args(["--virtual-time-budget=3000", "--dump-dom"]);
        command.arg(format!("file://{}", frame.display()));
        let output = command.output().unwrap();
        let dom = String::from_utf8_lossy(&output.stdout);
        let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        let said =
            title.unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&output.stderr)));
        let numbers: Vec<i64> = said.split(' ').map(|n| n.parse().unwrap()).collect();
        let [scroll, client, foreign, sections, columns] = numbers[..] else { panic!("{said}") };
        assert!(scroll <= client && client <= width, "{width}: {said}");
        assert_eq!((foreign, sections), (0, 3), "{said}");
        assert!(if width < 600 { columns == 2 } else { columns > 4 }, "{width}: {said}");
    }
}
