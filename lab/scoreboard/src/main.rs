//! Prints the scoreboard: accuracy by agent and state, what was taken for what, and the misses.

use std::io::Write as _;

use dogwatch_scoreboard::corpus::{Corpus, Input};
use dogwatch_scoreboard::score::Score;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let corpora = match std::env::args_os().nth(1) {
        Some(folder) => vec![Corpus::load("folder", folder.as_ref())?],
        None => vec![Corpus::given()?, Corpus::recorded()?],
    };
    for corpus in &corpora {
        for input in Input::ALL {
            let score = Score::of(corpus, input);
            writeln!(out, "{} ({}): {}", corpus.name, input.name(), score.report()?)?;
            for recording in score.falsely_working() {
                writeln!(out, "  FALSELY WORKING: {}", recording.short_name())?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
