//! The table at the end.

use std::fmt::Write as _;
use std::time::Duration;

use crate::campaign::Campaign;
use crate::stage::{Stage, Tally};

pub(crate) fn text(stage: &Stage, campaign: &Campaign<'_>, seed: u64) -> String {
    let mut out = String::new();
    let tally = stage.tally();
    let minutes = stage.begun.elapsed().as_secs_f64() / 60.0;
    let (spawned, judged) = {
        let ledger = stage.ledger();
        (ledger.spawned, ledger.judged)
    };
    let faults: u64 = tally.faults.values().map(|count| count.times).sum();
    let _ = writeln!(
        out,
        "seed {seed}, {minutes:.1} minutes, {} rounds, {spawned} spawns, {judged} sessions judged, {faults} faults, {} violations\n",
        campaign.rounds,
        tally.violations.len()
    );
    let _ = writeln!(out, "| fault | injected | violations |\n| --- | ---: | ---: |");
    for (label, count) in tally.faults.iter().filter(|(label, _)| *label != "none") {
        let _ = writeln!(out, "| {label} | {} | {} |", count.times, count.violations);
    }
    if let Some(count) = tally.faults.get("none") {
        let _ = writeln!(
            out,
            "| (rounds without another fault) | {} | {} |",
            count.times, count.violations
        );
    }
    let _ = writeln!(
        out,
        "\n| operation | count | refused or failed | killed in mid-flight |\n| --- | ---: | ---: | ---: |"
    );
    for (kind, count) in &tally.deeds {
        let _ = writeln!(out, "| {kind} | {} | {} | {} |", count.times, count.failed, count.cut);
    }
    let stories = &campaign.targets.stories;
    let _ = writeln!(
        out,
        "| story runs completed | {} | | {} resumed |",
        stories.completed, stories.resumed
    );
    let _ = writeln!(out, "\n| checked | times |\n| --- | ---: |");
    for (what, times) in &tally.checks {
        let _ = writeln!(out, "| {what} | {times} |");
    }
    if let Some(heard) =
        campaign.targets.broker.as_ref().and_then(|broker| broker.heard.lock().ok())
    {
        let _ = writeln!(
            out,
            "| events received | {} |\n| of these again, the same | {} |",
            heard.count(),
            heard.again
        );
    }
    times(&mut out, &tally);
    let _ = writeln!(
        out,
        "\n| process | restarts | over so many spawns | memory KiB | open files |\n| --- | ---: | ---: | ---: | ---: |"
    );
    for daemon in &campaign.targets.daemons {
        let growth = daemon.growth();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} to {} | {} to {} |",
            if daemon.name == "steady" { "watch, never killed" } else { daemon.name },
            daemon.restarts,
            growth.spawns,
            growth.first_kib,
            growth.last_kib,
            growth.first_files,
            growth.last_files
        );
    }
    for text in &campaign.left_out {
        let _ = writeln!(out, "\nleft out: {text}");
    }
    if !tally.violations.is_empty() {
        let _ = writeln!(out, "\nviolations:");
        for text in &tally.violations {
            let _ = writeln!(out, "- {text}");
        }
    }
    out
}

fn times(out: &mut String, tally: &Tally) {
    if tally.times.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n| measured | times | median | p90 | p99 | longest |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    );
    for (what, all) in &tally.times {
        let mut all = all.clone();
        all.sort_unstable();
        let at = |percent: usize| {
            let last = all.len().saturating_sub(1);
            let took = all.get(last * percent / 100).copied().unwrap_or(Duration::ZERO);
            format!("{:.0} ms", took.as_secs_f64() * 1000.0)
        };
        let (median, p90, p99, most) = (at(50), at(90), at(99), at(100));
        let _ = writeln!(out, "| {what} | {} | {median} | {p90} | {p99} | {most} |", all.len());
    }
}
