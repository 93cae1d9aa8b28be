//! Three scripted agents in a private tmux server, watched until they are done.
//!
//! Everything except the agents is real: sessions, runner, hooks, store and verdicts. The user's files are
//! not touched: server, state and work directory are in a directory that is removed at the end.

mod screen;
mod stage;
mod watched;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_core::exit_code;
use dogwatch_engine::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::ui;
use screen::Screen;
use stage::Stage;
use watched::Watched;

/// How often the table is redrawn; it shows a clock.
const FRAME: Duration = Duration::from_millis(200);
/// Time limit; the demo takes about ten seconds.
const CURTAIN: Duration = Duration::from_mins(1);

pub(crate) fn demo() -> Result<u8, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // Also when the terminal is closed: the agents of the demo would stay.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(Error::io("listen for Ctrl-C"))?;
    }
    let stage = Stage::build()?;
    ui::talk(
        "dogwatch demo: three scripted agents on a private tmux server (no account, no network)",
    );
    let begun = Instant::now();
    let mut watched = stage.raise_curtain()?;
    let mut screen = Screen::new();
    while begun.elapsed() < CURTAIN && !interrupted.load(Ordering::Relaxed) {
        for one in &mut watched {
            one.look(&stage.context, begun)?;
        }
        let shown = screen.draw(&watched, begun.elapsed());
        if shown.is_err() || watched.iter().all(|one| one.over) {
            break;
        }
        // sleep: a frame of the live table; there is no event to wait for.
        std::thread::sleep(FRAME);
    }
    // Before anything is printed: a closed pipe ends the process right there.
    drop(stage);
    summary(&watched);
    let all_over = watched.iter().all(|one| one.over);
    Ok(if all_over { exit_code::OK } else { exit_code::FAILED })
}

fn summary(watched: &[Watched]) {
    ui::line("\nObserved:");
    for one in watched {
        let path: Vec<&str> = one.story.iter().map(|m| m.what).collect();
        let end = one.story.last().map_or("", |m| m.why.as_str());
        ui::line(format_args!("  {:<7} {} ({end})", one.name, path.join(" → ")));
    }
    ui::line("\nNext, with a real agent: dogwatch spawn claude 'Say hello', then dogwatch status");
}
