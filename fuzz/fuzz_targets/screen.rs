//! A screen of any bytes, size, title and cursor is read: without panic, within bounds, and with one answer.
//!
//! Input: width and height (2 bytes each, little endian), how often the picture is repeated (1), cursor (1, then 4 if it
//! is odd), alternate screen (1), title (a line), the picture.

#![no_main]

use dogwatch_core::screen::grid::Grid;
use dogwatch_core::screen::{self, Screen, State};
use dogwatch_fuzz::{Input, each_text};
use libfuzzer_sys::fuzz_target;

const AGENTS: [&str; 6] = ["claude", "codex", "gemini", "opencode", "nobody", "command"];
/// No repetition makes the picture larger: what takes more than linear time shows well before.
const MOST_BYTES: usize = 256 * 1024;
/// Longest text of a reading, with the sign that it was cut.
const MOST_TEXT: usize = 2_001;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let (width, height) = (input.u16(), input.u16());
    // Once, mostly: what grows is slow to try.
    let times = 1_usize << input.byte().saturating_sub(240);
    let cursor = input.maybe(|input| (input.u16(), input.u16()));
    let alternate = match input.byte() % 3 {
        0 => None,
        answer => Some(answer == 1),
    };
    let title = String::from_utf8_lossy(input.line());
    let title = Some(title.as_ref()).filter(|title| !title.is_empty());
    let picture = input.rest();
    let fitting = (MOST_BYTES / picture.len().max(1)).max(1);
    let picture = picture.repeat(times.min(fitting));
    let screen = Screen { bytes: &picture, width, height, title, cursor, alternate };
    for agent in AGENTS {
        check(agent, &screen);
    }
});

fn check(agent: &str, screen: &Screen) {
    let reading = screen::read(agent, screen);
    let again = match scrolled(screen) {
        Some(bytes) => screen::read(agent, &Screen { bytes: &bytes, ..*screen }),
        None => screen::read(agent, screen),
    };
    assert_eq!(reading, again, "{agent}: another answer to the same screen");
    assert!(
        reading.state == State::Unknown || !reading.reasons.is_empty(),
        "{agent}: {reading:?} without a reason"
    );
    let told = serde_json::to_value(&reading).expect("a reading is data");
    each_text(&told, &|text| {
        assert!(text.chars().count() <= MOST_TEXT, "{agent}: {} bytes", text.len());
        // It is quoted on terminals; a draft may have several lines.
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{agent}: {text:?}");
    });
}

/// The same screen after more has scrolled off: what that was must not change the answer.
fn scrolled(screen: &Screen) -> Option<Vec<u8>> {
    let rows = Grid::parse(screen.bytes).rows().len();
    let height = usize::from(screen.height);
    let above = "❯ 1. Yes\n────────────────────\n✻ Working… (3s)\n";
    let is_full = height > 0 && height <= rows && rows <= 1_000;
    is_full.then(|| [above.as_bytes(), screen.bytes].concat())
}
