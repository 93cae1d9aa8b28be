//! Growth: what takes longer, or more space, the more there is of something.

mod cases;
mod curve;
mod seed;
mod svg;

use std::fs;
use std::path::PathBuf;

use crate::error::Error;
use crate::machine::Machine;
use crate::report;
use crate::world::World;
use curve::Curve;

/// How times, memory and disk grow with ended and living sessions, hooks and events
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Smaller numbers: a first impression in a minute
    #[arg(long)]
    quick: bool,
    /// Measure only this
    #[arg(long, value_name = "CASE")]
    only: Option<Case>,
    /// Timed rounds of each command; the median counts
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// How many sessions come and go under `watch` and `relay`, whose memory is measured
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    cycles: usize,
    /// Write these sessions to the store instead of starting them: ten thousand in a minute
    #[arg(long)]
    written: bool,
    /// Where the curves are drawn
    #[arg(long, value_name = "FILE", default_value = "growth.svg")]
    svg: PathBuf,
    /// Print a JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// The dogwatch to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    dogwatch: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Case {
    Ended,
    Alive,
    Hooks,
    Events,
    Memory,
}

pub(crate) fn measure(args: &Args) -> Result<(), Error> {
    let wanted = |case| args.only.is_none_or(|only| only == case);
    let pick =
        |all: &[usize], quick: &[usize]| if args.quick { quick.to_vec() } else { all.to_vec() };
    let rounds = usize::from(args.rounds);
    let mut curves: Vec<Curve> = Vec::new();
    let mut machine = None;
    let mut run = |case: Case, work: &dyn Fn(&World) -> Result<Vec<Curve>, Error>| {
        if !wanted(case) {
            return Ok(());
        }
        let world = World::make(args.dogwatch.as_deref())?;
        if machine.is_none() {
            machine = Some(Machine::look(&world)?);
        }
        curves.extend(work(&world)?);
        if let Err(error) = world.end() {
            report::complain(&error);
        }
        Ok::<(), Error>(())
    };
    run(Case::Ended, &|world| {
        cases::ended(world, &pick(&[0, 100, 1_000, 5_000], &[0, 100, 500]), rounds)
    })?;
    run(Case::Alive, &|world| {
        cases::alive(world, &pick(&[10, 100, 500, 1_000], &[10, 50]), rounds)
    })?;
    run(Case::Hooks, &|world| {
        cases::hooks(world, &pick(&[1_000, 100_000], &[1_000, 10_000]), rounds)
    })?;
    run(Case::Events, &|world| {
        cases::events(world, &pick(&[1_000, 100_000], &[1_000, 10_000]), rounds)
    })?;
    run(Case::Memory, &|world| {
        cases::memory(world, if args.quick { 100 } else { args.cycles }, args.written)
    })?;
    curve::print(machine.as_ref(), &curves, args.json);
    fs::write(&args.svg, svg::draw(&curves)).map_err(Error::io("write the curves"))?;
    report::mention(&format!("curves: {}", args.svg.display()));
    Ok(())
}
