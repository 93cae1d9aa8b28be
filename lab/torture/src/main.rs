//! A seeded campaign of faults against the built dogwatch. See `README.md`.

mod broker;
mod campaign;
mod cast;
mod checks;
mod deeds;
mod dice;
mod disk;
mod faults;
mod judge;
mod ledger;
mod plan;
mod report;
mod run;
mod service;
mod stage;
mod story;
mod supervisors;
mod world;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;

use crate::campaign::{Campaign, Orders};
use crate::stage::Stage;
use crate::world::World;

/// Injects faults into dogwatch and checks that nothing is lost, nothing happens twice, no ending is wrong, everything recovers and nothing grows
#[derive(Debug, Parser)]
#[command(name = "torture", version)]
struct Args {
    /// How long, in minutes
    #[arg(default_value_t = 3.0)]
    minutes: f64,
    /// Decides the sequence of operations and faults: a number, or hexadecimal after 0x [default: from the clock]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Only rounds with this fault, by its name in the table; `none` for operations without faults
    #[arg(long, value_name = "FAULT")]
    only: Option<String>,
    /// No rounds with this fault; may be repeated
    #[arg(long, value_name = "FAULT")]
    without: Vec<String>,
    /// Play this round again and again
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// Keep the folder also if nothing was violated
    #[arg(long)]
    keep: bool,
}

fn seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("{text}: {error}"))
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// Whether nothing was violated.
fn run(args: &Args) -> io::Result<bool> {
    if !Path::new("/proc/self/environ").exists() {
        return Err(io::Error::other("this needs Linux: processes are watched through /proc"));
    }
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let orders = Orders {
        seed: args.seed.unwrap_or(clock.as_secs()),
        time: Duration::try_from_secs_f64(args.minutes * 60.0).map_err(io::Error::other)?,
        only: args.only.clone(),
        without: args.without.clone(),
        round: args.round,
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [2, 15, 1] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let stage = Stage::new(World::new()?, interrupted, true)?;
    say(&format!(
        "torture: seed {}, {} minutes, in {}",
        orders.seed,
        args.minutes,
        stage.world.root().display()
    ))?;
    let mut campaign = Campaign::prepare(&stage);
    for text in &campaign.left_out {
        say(&format!("left out: {text}"))?;
    }
    campaign.run(&orders);
    let text = report::text(&stage, &campaign, orders.seed);
    let clean = stage.tally().violations.is_empty();
    let state = stage.world.state();
    let keep = args.keep || !clean;
    // The disk is unmounted with the campaign.
    let kept = if keep { copy_state(&state, &stage.world.path("kept")) } else { Ok(()) };
    drop(campaign);
    let left = stage.world.end_all();
    for line in left {
        stage.log(format_args!("killed at the end: {line}"));
    }
    say(&text)?;
    if keep {
        kept?;
        fs::write(stage.world.path("logs").join("report.md"), &text)?;
        say(&format!("kept: {}", stage.world.root().display()))?;
    } else {
        stage.world.remove();
    }
    if !clean {
        say(&format!("again: ./torture {} --seed {}", args.minutes, orders.seed))?;
    }
    Ok(clean)
}

fn copy_state(from: &Path, to: &PathBuf) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)?.flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_state(&path, &target)?;
        } else if kind.is_file() {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
