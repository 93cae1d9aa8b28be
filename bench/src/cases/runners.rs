//! The cost of notifications: memory and processor time of runners whose sessions are idle, with `[[notify]]` tables that want to know
//! everything.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_store::{StateDir, Store, Which};
use jiff::Timestamp;

use super::watching::memory;
use crate::claude;
use crate::error::Error;
use crate::report::{Cost, Limit};
use crate::world::World;

/// Until then runners have a look at their sessions several times.
const SETTLE: Duration = Duration::from_secs(40);
const WATCHED: Duration = Duration::from_mins(1);

const CONFIG: &str = "[[notify]]\nkind = 'command'\ncommand = ['true']\n\
    on = ['waiting', 'done', 'error', 'limited', 'crashed', 'stuck', 'looping', 'question', 'job', 'drift']\n";

pub(crate) fn measure(world: &World, sessions: usize) -> Result<Vec<Cost>, Error> {
    let folder = world.home().join(".config/dogwatch");
    let written =
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("config.toml"), CONFIG));
    written.map_err(Error::io("write a configuration"))?;
    claude::fill_with_idle(world, sessions)?;
    // sleep: what follows is measured at rest.
    thread::sleep(SETTLE);
    let runners = runners(world)?;
    let used = || -> Result<f64, Error> {
        runners.iter().map(|runner| processor_time_of_all(*runner)).sum()
    };
    let (begun, before) = (Instant::now(), used()?);
    while begun.elapsed() < WATCHED {
        world.go_on()?;
        // sleep: the time over which costs are measured.
        thread::sleep(Duration::from_millis(100));
    }
    #[expect(clippy::cast_precision_loss, reason = "there are some dozens")]
    let count = runners.len().max(1) as f64;
    let share = (used()? - before) / begun.elapsed().as_secs_f64() * 100.0 / count;
    let held: Vec<f64> = runners.iter().map(|runner| memory(*runner)).collect::<Result<_, _>>()?;
    let most = held.iter().copied().fold(0.0, f64::max);
    let title = |what: &str| format!("{what}, {} idle sessions with notifications", runners.len());
    Ok(vec![
        Cost {
            what: title("a runner and what it starts, average"),
            value: share,
            unit: "% of a core",
            limit: Some(Limit(0.05)),
        },
        Cost {
            what: title("the largest runner"),
            value: most,
            unit: "MB",
            limit: Some(Limit(12.0)),
        },
        Cost {
            what: title("a runner, average"),
            value: held.iter().sum::<f64>() / count,
            unit: "MB",
            limit: None,
        },
    ])
}

fn runners(world: &World) -> Result<Vec<u32>, Error> {
    let store = Store::open(&StateDir::open(&world.state())?)?;
    let sessions = store.sessions(&world.socket(), Which::current(Timestamp::now()))?;
    let pid = |session: &dogwatch_store::Session| u32::try_from(session.started()?.runner.pid).ok();
    Ok(sessions.iter().filter_map(pid).collect())
}

/// Seconds of processor time that a process and its ended children have used.
fn processor_time_of_all(pid: u32) -> Result<f64, Error> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(Error::io("read /proc"))?;
    let after_name = stat.rfind(')').map_or("", |at| &stat[at + 2..]);
    let fields: Vec<f64> = after_name.split(' ').map(|f| f.parse().unwrap_or(0.0)).collect();
    #[expect(clippy::cast_precision_loss, reason = "it is 100")]
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Ok(fields.get(11..15).map_or(0.0, |used| used.iter().sum::<f64>()) / per_second)
}
