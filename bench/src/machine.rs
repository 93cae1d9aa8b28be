use std::fs;
use std::thread::available_parallelism;

use serde::Serialize;

use crate::child;
use crate::error::Error;
use crate::world::World;

/// The machine of the measurement: what a reader needs to judge the figures, and nothing that identifies it.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) system: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) tmux: String,
    pub(crate) dogwatch: String,
    /// Of the last minute before the start: above the number of cores, times are longer.
    pub(crate) load: String,
}

impl Machine {
    pub(crate) fn look(world: &World) -> Result<Self, Error> {
        let ask = |words: &[&str]| {
            let (program, rest) = words.split_first().unwrap_or((&"true", &[]));
            child::run(world.command(program).args(rest)).map(|done| done.text())
        };
        Ok(Self {
            system: ask(&["uname", "-srm"])?,
            processor: processor().unwrap_or_else(|| "unknown".into()),
            cores: available_parallelism().map_or(1, Into::into),
            tmux: ask(&["tmux", "-V"])?,
            dogwatch: child::run(&mut world.dogwatch(["--version"]))?.text(),
            load: load().unwrap_or_else(|| "unknown".into()),
        })
    }
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn load() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next().map(ToOwned::to_owned)
}
