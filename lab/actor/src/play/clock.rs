//! The status line that ticks while other steps are played.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::scenario::Ticking;

#[derive(Debug)]
pub(super) struct Running {
    pub(super) ticking: Ticking,
    pub(super) due: Instant,
    pub(super) ticks: u64,
}

impl Running {
    pub(super) fn start(ticking: &Ticking) -> Self {
        Self { ticking: ticking.clone(), due: Instant::now(), ticks: 0 }
    }

    /// Counts a tick and says when the next one is due. Ticks that were missed are not made up for.
    pub(super) fn tick(&mut self, now: Instant) {
        self.ticks += 1;
        self.due = now + self.ticking.every.0;
    }
}

/// The sequence that paints a line in a row of the screen and leaves the cursor where it is.
pub(super) fn paint(text: &str, row: i32, rows: u16) -> String {
    let row = if row < 0 { i32::from(rows) + row } else { row };
    format!("\x1b7\x1b[{};1H\x1b[2K{text}\x1b[0m\x1b8", row.max(0) + 1)
}

/// `HH:MM:SS` in UTC.
pub(super) fn time_of_day() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_from_either_end() {
        for (row, rows, expected) in [(0, 24, 1), (23, 24, 24), (-1, 24, 24), (-30, 24, 1)] {
            let painted = paint("x", row, rows);
            assert!(painted.contains(&format!("[{expected};1H")), "{row}: {painted:?}");
        }
    }
}
