//! Prints the scoreboard: accuracy by agent and state, what was taken for what, and the misses.
//!
//!     dogwatch-scoreboard [--readings | --peers] [FOLDER]
//!
//! Without a folder, all corpora of the repository. `--readings` prints every reading as a line of
//! JSON instead, `--peers` a table of ours and of other projects' detectors (see
//! `lab/scoreboard/peers`).

use std::ffi::OsString;
use std::io::{StdoutLock, Write as _};

use dogwatch_scoreboard::corpus::{Corpus, Input};
use dogwatch_scoreboard::peers;
use dogwatch_scoreboard::score::Score;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let (flags, folders): (Vec<OsString>, Vec<_>) =
        std::env::args_os().skip(1).partition(|word| word == "--readings" || word == "--peers");
    let corpora = match folders.first() {
        Some(folder) => vec![Corpus::load("folder", folder.as_ref())?],
        None => vec![
            Corpus::given()?,
            Corpus::recorded()?,
            Corpus::versions()?,
            Corpus::recorded_more()?,
        ],
    };
    let mut out = std::io::stdout().lock();
    if flags.iter().any(|flag| flag == "--peers") {
        write!(out, "{}", peers::compare(&corpora)?)?;
        return Ok(());
    }
    for corpus in &corpora {
        if flags.is_empty() {
            print_scores(&mut out, corpus)?;
        } else {
            print_readings(&mut out, corpus)?;
        }
    }
    Ok(())
}

fn print_scores(out: &mut StdoutLock, corpus: &Corpus) -> Outcome {
    for input in Input::ALL {
        let score = Score::of(corpus, input);
        writeln!(out, "{} ({}): {}", corpus.name, input.name(), score.report()?)?;
        for recording in score.falsely_working() {
            writeln!(out, "  FALSELY WORKING: {}", recording.short_name())?;
        }
    }
    Ok(())
}

fn print_readings(out: &mut StdoutLock, corpus: &Corpus) -> Outcome {
    for recording in &corpus.recordings {
        let reading = serde_json::to_string(&recording.read(Input::Styled))?;
        writeln!(out, "{} {reading}", recording.short_name())?;
    }
    Ok(())
}
