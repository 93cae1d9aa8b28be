//! The cost of watching: processor time and memory of `watch` over idle sessions.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::child::{self, Guard};
use crate::claude;
use crate::error::Error;
use crate::report::{Cost, Limit};
use crate::world::World;

/// A session that is new or has just changed is checked each second for a while.
const SETTLE: Duration = Duration::from_secs(16);
const WATCHED: Duration = Duration::from_secs(20);

pub(crate) fn measure(world: &World, sessions: usize) -> Result<Vec<Cost>, Error> {
    claude::fill_with_idle(world, sessions)?;
    let mut watch = world.dogwatch(["watch", "--json"]);
    let mut watch = Guard(child::start(watch.stdout(Stdio::piped()))?);
    if let Some(stdout) = watch.0.stdout.take() {
        let mut lines = BufReader::new(stdout).lines();
        for _ in 0..sessions {
            lines.next().transpose().map_err(Error::io("read from dogwatch watch"))?;
        }
        // Kept open: a closed pipe would end it.
        thread::spawn(move || lines.for_each(drop));
    }
    let server = child::run(&mut world.tmux(["display-message", "-p", "#{pid}"]))?.success()?;
    let server: u32 = server.text().parse().unwrap_or(0);
    // sleep: what follows is measured at rest.
    thread::sleep(SETTLE);
    let begun = Instant::now();
    let before = [processor_time(watch.0.id())?, processor_time(server)?];
    while begun.elapsed() < WATCHED {
        world.go_on()?;
        // sleep: the time over which costs are measured.
        thread::sleep(Duration::from_millis(100));
    }
    let took = begun.elapsed().as_secs_f64();
    let after = [processor_time(watch.0.id())?, processor_time(server)?];
    let share = |at: usize| (after[at] - before[at]) / took * 100.0;
    let title = |what: &str| format!("{what}, {sessions} idle sessions");
    Ok(vec![
        Cost {
            what: title("watch"),
            value: share(0),
            unit: "% of a core",
            limit: Some(Limit(1.0)),
        },
        Cost { what: title("its tmux server"), value: share(1), unit: "% of a core", limit: None },
        Cost {
            what: title("watch"),
            value: memory(watch.0.id())?,
            unit: "MB",
            limit: Some(Limit(40.0)),
        },
    ])
}

/// Seconds of processor time that a process has used.
pub(crate) fn processor_time(pid: u32) -> Result<f64, Error> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(Error::io("read /proc"))?;
    let after_name = stat.rfind(')').map_or("", |at| &stat[at + 2..]);
    let fields: Vec<f64> = after_name.split(' ').map(|f| f.parse().unwrap_or(0.0)).collect();
    #[expect(clippy::cast_precision_loss, reason = "it is 100")]
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Ok(fields.get(11..13).map_or(0.0, |used| used.iter().sum::<f64>()) / per_second)
}

/// Megabytes that a process holds in memory.
pub(crate) fn memory(pid: u32) -> Result<f64, Error> {
    let status =
        fs::read_to_string(format!("/proc/{pid}/status")).map_err(Error::io("read /proc"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.unwrap_or(0.0) / 1024.0)
}
