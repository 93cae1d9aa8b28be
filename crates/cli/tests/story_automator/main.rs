//! The drop-in against the answers of the helper that it stands in for, one test a case.
//!
//! `cases.json` has what both known builds of it answer: each must be answered the same. `reference-cases.json` has
//! what the maintained fork answers otherwise than the published package; there, and where a case is known to be a
//! bug, `deviations.toml` says how we differ and why. `swept.json` has what the published package was seen to answer when
//! thousands of odd calls were made to it and to us. Each case has a folder of its own with its own HOME, TMPDIR and tmux
//! server.
//!
//! Without the usual harness, so that cases have names: `cargo nextest run -p dogwatch --test story_automator sprint`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test, with a harness of its own"
)]

mod case;
mod compare;
mod deviations;
mod sandbox;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use case::Case;
use deviations::Deviations;

/// Cases at a time when nobody else divides them up.
const AT_A_TIME: usize = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|given| given == word);
    let filters: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-') && *word != "terse")
        .collect();
    let wanted = |case: &Case| {
        filters.is_empty()
            || filters.iter().any(|filter| {
                if has("--exact") { case.name() == *filter } else { case.name().contains(filter) }
            })
    };
    let cases: Vec<Case> = case::all().into_iter().filter(wanted).collect();
    if has("--list") {
        // None of them is ignored.
        for case in cases.iter().filter(|_| !has("--ignored")) {
            println!("{}: test", case.name());
        }
        return ExitCode::SUCCESS;
    }
    let failed = run_all(&cases, &deviations::read());
    println!("{} cases, {} failed", cases.len(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_all(cases: &[Case], deviations: &Deviations) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = deviations.judge(case, run(case));
                    let mut failed = failed.lock().unwrap();
                    match verdict {
                        Ok(note) => println!("ok   {}{note}", case.name()),
                        Err(why) => {
                            println!("FAIL {}\n{why}", case.name());
                            failed.push(case.name());
                        }
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

/// A case that ends us is a failed one, and no more.
fn run(case: &Case) -> Vec<String> {
    std::panic::catch_unwind(|| sandbox::run(case))
        .unwrap_or_else(|_| vec!["   it panicked".to_owned()])
}
