use std::io;
use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_engine::observe::{agents, verifications};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::verification::{Grade, Situation, Verification, Verifications};
use dogwatch_store::read_regular;
use dogwatch_verify::{Request, laboratory, matrix};

use crate::args::AgentsVerify;
use crate::table::Cell;
use crate::{environment, ui};

/// More than any result or document has.
const MOST_RESULT: u64 = 16 * 1024 * 1024;

pub(crate) fn verify(context: &Context, args: &AgentsVerify) -> Result<u8, Error> {
    let names = match &args.agent {
        Some(agent) => vec![agent.clone()],
        None => installed(context),
    };
    let mut found = Vec::new();
    for agent in names {
        ui::talk(format_args!(
            "verifying {agent} in a private home, against a model on this machine"
        ));
        let request = Request {
            agent,
            program: args.program.clone(),
            all: args.all,
            only: args.only.clone(),
            lanes: args.lanes,
            names: environment::surroundings().names,
        };
        let verification = dogwatch_verify::verify(context, &request)?;
        // A part of the situations says nothing about the rest.
        if args.only.is_empty() {
            verifications::keep(context, &verification)?;
        }
        found.push(verification);
    }
    let is_well = found.iter().all(is_well);
    if ui::prints_json() {
        ui::json(&Verifications { verifications: found });
    } else if found.is_empty() {
        ui::talk("no agent is installed that can be verified");
    } else {
        found.iter().for_each(print);
    }
    Ok(if is_well { exit_code::OK } else { exit_code::FAILED })
}

/// The agents that are here and can be verified.
fn installed(context: &Context) -> Vec<String> {
    let survey = agents::survey(context).into_iter();
    survey
        .filter(|(name, found)| {
            let is_here = found.as_ref().is_ok_and(|found| found.path.is_some());
            is_here && dogwatch_verify::agent::named(name).is_some()
        })
        .map(|(name, _)| name)
        .collect()
}

fn is_well(verification: &Verification) -> bool {
    let totals = &verification.totals;
    totals.wrong + totals.lies + totals.not_known + totals.not_played == 0
}

/// What the process of the laboratory does.
pub(crate) fn laboratory(folder: &Path) -> Result<u8, Error> {
    laboratory::run(folder, &progress)?;
    Ok(exit_code::OK)
}

/// Prints the matrix of many results, and puts it into a document.
pub(crate) fn matrix(docs: Option<&Path>, files: &[PathBuf]) -> Result<u8, Error> {
    let mut all = Vec::new();
    for file in files {
        let action = || format!("read {}", file.display());
        let text = read_regular(file, MOST_RESULT).map_err(Error::io(action()))?;
        let found: Verifications = serde_json::from_slice(&text)
            .map_err(|error| Error::io(action())(io::Error::other(error)))?;
        all.extend(found.verifications);
    }
    let text = matrix::markdown(&all);
    ui::line(&text);
    if let Some(path) = docs {
        let action = || format!("write {}", path.display());
        let document = read_regular(path, MOST_RESULT).map_err(Error::io(action()))?;
        let new = matrix::with_section(&String::from_utf8_lossy(&document), &text);
        let missing = || io::Error::other(format!("it has no section {}", matrix::BEGIN));
        let new = new.ok_or_else(missing).map_err(Error::io(action()))?;
        std::fs::write(path, new).map_err(Error::io(action()))?;
    }
    Ok(if matrix::has_lies(&all) { exit_code::FAILED } else { exit_code::OK })
}

/// One line of progress, as a situation is graded.
fn progress(situation: &Situation) {
    ui::talk(format_args!("{:<10} {}", situation.grade, in_words(situation)));
}

fn in_words(situation: &Situation) -> String {
    let mut words =
        vec![format!("{}, {}", situation.name, situation.start.as_str().replace('_', " "))];
    if let Some(said) = situation.said.as_ref().filter(|_| situation.grade != Grade::Right) {
        let by = situation.source.as_deref().unwrap_or("nothing");
        let basis = situation.basis.as_deref().unwrap_or_default();
        words.push(format!("was {}, told as {said} ({basis}, {by})", situation.truth));
    }
    words.extend(situation.note.clone());
    ui::harmless(words.join(": "))
}

fn print(verification: &Verification) {
    let Verification { agent, totals, program, seconds, .. } = verification;
    let version = verification.version.as_deref().unwrap_or("of an unknown version");
    let mut table = ui::table(&["SITUATION", "START", "GRADE", "TRUTH", "STATUS SAID", "BY"]);
    for situation in &verification.situations {
        let grade =
            Cell::painted(situation.grade.as_str().replace('_', " "), colour(situation.grade));
        let said = match (&situation.said, &situation.basis) {
            (Some(said), Some(basis)) => format!("{said} ({basis})"),
            (Some(said), None) => said.clone(),
            (None, ..) => String::new(),
        };
        table.row([
            situation.name.as_str().into(),
            situation.start.as_str().replace('_', " ").into(),
            grade,
            situation.truth.as_str().into(),
            ui::harmless(said).into(),
            situation.source.as_deref().unwrap_or_default().into(),
        ]);
    }
    ui::line(table);
    for situation in verification.situations.iter().filter(|one| one.grade != Grade::Right) {
        ui::line(format_args!(
            "{}: {}",
            situation.grade.as_str().replace('_', " "),
            in_words(situation)
        ));
    }
    ui::line(format_args!(
        "{agent} {version}: {} of {} situations recognised, {} with a wrong detail, {} wrong, {} of them asserted, {} not known; {} not played, {} do not apply ({seconds} s, {program})",
        totals.right,
        totals.played,
        totals.detail,
        totals.wrong + totals.lies,
        totals.lies,
        totals.not_known,
        totals.not_played,
        totals.not_applicable,
    ));
    if let Some(latency) = &verification.turn_end {
        let samples = latency.samples;
        let (p50, p99) = (latency.p50, latency.p99);
        ui::line(format_args!(
            "end of a turn to `watch`: half within {p50} ms, 99 % within {p99} ms ({samples} turns)"
        ));
    }
    let distrusted: Vec<&str> = verification.distrusted().collect();
    if !distrusted.is_empty() {
        ui::line(format_args!(
            "`status` asserts nothing on {} for this version from now on",
            distrusted.join(", ")
        ));
    }
    if let Some(report) = &verification.report {
        ui::line(format_args!("recordings for a bug report: {report}"));
    }
}

fn colour(grade: Grade) -> AnsiColor {
    match grade {
        Grade::Right => AnsiColor::Green,
        Grade::Detail | Grade::NotKnown | Grade::NotPlayed => AnsiColor::Yellow,
        Grade::Wrong | Grade::Lie => AnsiColor::Red,
        Grade::NotApplicable => AnsiColor::BrightBlack,
    }
}
