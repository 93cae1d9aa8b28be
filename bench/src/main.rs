//! Compares dogwatch with the bare calls that it replaces. See `README.md`.
//!
//! Whole commands are timed from outside, in turn, so that noise affects all of them equally. The figures
//! are reported, never asserted: a loaded machine is not a failure.

mod cases;
mod child;
mod claude;
mod error;
mod growth;
mod machine;
mod race;
mod real_claude;
mod report;
mod search;
mod timing;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::error::Error;
use crate::machine::Machine;
use crate::report::{Cost, Group, Report};
use crate::world::World;

/// Number of sessions for measuring the latency of reports.
const WATCHED_SESSIONS: usize = 50;

/// Numbers of sessions in the registries.
const ROLLS: [usize; 3] = [10, 100, 1000];
/// Number of sessions for measuring the relay.
const RELAYED_SESSIONS: usize = 20;

/// Measures dogwatch side by side with bare tmux calls
#[derive(Debug, Parser)]
#[command(name = "dogwatch-bench", version)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print a JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Timed rounds of each short command; a spawn gets half as many, a sweep a tenth
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(10..=10_000))]
    rounds: u16,
    /// Measure only this
    #[arg(long, value_name = "JOB")]
    only: Option<Job>,
    /// Numbers of sessions that `ls` and `exists` are asked about
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 20, 200])]
    sessions: Vec<usize>,
    /// The dogwatch to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    dogwatch: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// How times, memory and disk grow with ended and living sessions, hooks and events
    Growth(growth::Args),
    Search(search::Args),
}

/// Many sessions.
const CROWD: usize = 1000;
/// Sessions whose runners are measured.
const RUNNERS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Job {
    Start,
    Hook,
    Spawn,
    Look,
    Send,
    Sweep,
    Reconcile,
    Status,
    Supervisor,
    /// The supervisor with 1,000 sessions
    Crowd,
    Team,
    Told,
    Relay,
    Watching,
    Runners,
    StoryAutomator,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(command) = &args.command {
        let measured = match command {
            Command::Growth(args) => growth::measure(args),
            Command::Search(args) => search::measure(args),
        };
        return match measured {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                report::complain(&error);
                ExitCode::FAILURE
            }
        };
    }
    match measure(&args) {
        Ok(report) => {
            report.print(args.json);
            ExitCode::SUCCESS
        }
        Err(error) => {
            report::complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<Report, Error> {
    let world = World::make(args.dogwatch.as_deref())?;
    let machine = Machine::look(&world)?;
    let rounds = usize::from(args.rounds);
    let wanted = |job| args.only.is_none_or(|only| only == job);
    let mut groups = Vec::new();
    if wanted(Job::Start) {
        groups.push(cases::first_byte::measure(&world, rounds)?);
    }
    if wanted(Job::Hook) {
        groups.push(cases::hook::measure(&world, rounds)?);
    }
    if wanted(Job::Spawn) {
        groups.push(cases::spawn::measure(&world, rounds.div_ceil(2))?);
    }
    let mut sessions = args.sessions.clone();
    sessions.sort_unstable();
    let most = sessions.last().copied().unwrap_or(1);
    if wanted(Job::Look) {
        for &count in &sessions {
            world.fill_up_to(count)?;
            groups.extend(cases::look::measure(&world, count, rounds)?);
        }
    }
    if wanted(Job::Sweep) {
        world.fill_up_to(most)?;
        groups.push(cases::sweep::measure(&world, most, rounds.div_ceil(10))?);
    }
    finish(world);
    if wanted(Job::Status) {
        // Other sessions than those above, so another server.
        let world = World::make(args.dogwatch.as_deref())?;
        claude::install(&world)?;
        for count in [1, most] {
            groups.push(cases::status::measure(&world, count, rounds)?);
        }
        finish(world);
    }
    let mut costs = Vec::new();
    if wanted(Job::Supervisor) {
        supervisor(args, most, &mut groups, &mut costs)?;
    }
    if wanted(Job::Crowd) {
        let world = World::make(args.dogwatch.as_deref())?;
        claude::install(&world)?;
        groups.push(cases::supervisor::answers(&world, CROWD, rounds.div_ceil(5))?);
        costs.extend(cases::supervisor::crowd(&world, CROWD)?);
        finish(world);
    }
    if wanted(Job::Send) {
        let world = World::make(args.dogwatch.as_deref())?;
        groups.extend(cases::send::measure(&world, rounds.div_ceil(10))?);
        finish(world);
    }
    if wanted(Job::Reconcile) {
        let world = World::make(args.dogwatch.as_deref())?;
        for count in ROLLS {
            groups.push(cases::reconcile::measure(&world, count, rounds.div_ceil(5))?);
        }
        finish(world);
    }
    if wanted(Job::Team) {
        let world = World::make(args.dogwatch.as_deref())?;
        groups.extend(cases::team::measure(&world, rounds.div_ceil(10))?);
        finish(world);
    }
    if wanted(Job::Told) {
        let world = World::make(args.dogwatch.as_deref())?;
        claude::install(&world)?;
        groups.push(cases::told::measure(&world, WATCHED_SESSIONS, rounds)?);
        finish(world);
    }
    if wanted(Job::StoryAutomator) {
        let world = World::make(args.dogwatch.as_deref())?;
        groups.extend(cases::story_automator::measure(&world, rounds)?);
        finish(world);
    }
    if wanted(Job::Relay) {
        let world = World::make(args.dogwatch.as_deref())?;
        claude::install(&world)?;
        if cases::relay::is_possible(&world) {
            let (group, cost) = cases::relay::measure(&world, RELAYED_SESSIONS, rounds)?;
            groups.push(group);
            costs.extend(cost);
        }
        finish(world);
    }
    if wanted(Job::Watching) {
        let world = World::make(args.dogwatch.as_deref())?;
        claude::install(&world)?;
        costs.extend(cases::watching::measure(&world, most)?);
        finish(world);
    }
    if wanted(Job::Runners) {
        let world = World::make(args.dogwatch.as_deref())?;
        claude::install(&world)?;
        costs.extend(cases::runners::measure(&world, RUNNERS)?);
        finish(world);
    }
    Ok(Report { machine, groups, costs })
}

/// Answers, costs and isolation, each with a server of its own.
fn supervisor(
    args: &Args,
    sessions: usize,
    groups: &mut Vec<Group>,
    costs: &mut Vec<Cost>,
) -> Result<(), Error> {
    let rounds = usize::from(args.rounds);
    let make = || {
        let world = World::make(args.dogwatch.as_deref())?;
        claude::install(&world).map(|()| world)
    };
    let world = make()?;
    groups.push(cases::supervisor::answers(&world, sessions, rounds)?);
    finish(world);
    for measure in [cases::supervisor::costs, cases::supervisor::isolation] {
        let world = make()?;
        let (group, cost) = measure(&world, sessions, rounds)?;
        groups.push(group);
        costs.extend(cost);
        finish(world);
    }
    Ok(())
}

/// Cleans up; a failure only prints a message, because the figures are complete.
fn finish(world: World) {
    if let Err(error) = world.end() {
        report::complain(&error);
    }
}
