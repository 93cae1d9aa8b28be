use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::watched::{Moment, Watched};
use crate::table::Cell;
use crate::ui;

/// The live table: drawn over itself on a terminal, else one line for each change.
pub(super) struct Screen {
    live: bool,
    lines: usize,
    printed: usize,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { live: ui::stdout_is_terminal(), lines: 0, printed: 0 }
    }

    /// Fails when the output is closed.
    pub(super) fn draw(&mut self, watched: &[Watched], now: Duration) -> io::Result<()> {
        if self.live {
            return self.redraw(watched, now);
        }
        let mut moments: Vec<(&str, &Moment)> =
            watched.iter().flat_map(|w| w.story.iter().map(|m| (w.name.as_str(), m))).collect();
        moments.sort_by_key(|(_, moment)| moment.at);
        for (name, moment) in moments.iter().skip(self.printed) {
            ui::try_line(moment_line(name, moment))?;
        }
        self.printed = moments.len();
        Ok(())
    }

    fn redraw(&mut self, watched: &[Watched], now: Duration) -> io::Result<()> {
        let mut table = ui::table(&["AGENT", "STATE", "FOR", "WHY"]);
        for one in watched {
            let Some(last) = one.story.last() else { continue };
            let lasts = now.saturating_sub(last.at).as_secs_f32();
            let lasts = if one.over { String::new() } else { format!("{lasts:.1} s") };
            table.row([
                one.name.as_str().into(),
                Cell::painted(last.what, colour(last.what)),
                lasts.into(),
                last.why.as_str().into(),
            ]);
        }
        let mut out = anstream::stdout();
        // Back to the first line of the last drawing, and clear from there.
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        self.lines = table.height();
        writeln!(out, "{up}\x1b[J{table}")
    }
}

fn moment_line(name: &str, moment: &Moment) -> String {
    let style = Style::new().fg_color(Some(colour(moment.what).into()));
    let seconds = moment.at.as_secs_f32();
    format!("{seconds:>5.1} s  {name:<7} {style}{:<9}{style:#} {}", moment.what, moment.why)
}

fn colour(what: &str) -> AnsiColor {
    match what {
        "working" => AnsiColor::Green,
        "waiting" => AnsiColor::Yellow,
        "crashed" | "lost" | "error" => AnsiColor::Red,
        "answered" => AnsiColor::Magenta,
        _ => AnsiColor::Blue,
    }
}
