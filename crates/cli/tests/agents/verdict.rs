//! Asking dogwatch what it thinks of session `a`, and holding it to it.

use std::time::{Duration, Instant};

use dogwatch_testkit::eventually_or;
use serde_json::Value;

use crate::lab::Lab;

/// How often in a row a verdict must be the same to be no flicker.
const IN_A_ROW: u32 = 3;

impl Lab {
    /// What `why` says now.
    pub(crate) fn why(&self) -> Value {
        self.dogwatch(&["why", "a", "--json"]).success().json()
    }

    /// Waits for a state that a certain source decides.
    #[track_caller]
    pub(crate) fn is(&self, state: &str, by: &str) -> Value {
        self.comes_to(state, by, 1)
    }

    /// The same, and it is no flicker.
    #[track_caller]
    pub(crate) fn settles(&self, state: &str, by: &str) -> Value {
        self.comes_to(state, by, IN_A_ROW)
    }

    #[track_caller]
    fn comes_to(&self, state: &str, by: &str, times: u32) -> Value {
        let mut last = Value::Null;
        let mut in_a_row = 0;
        eventually_or(&format!("{} is {state} by {by}", self.agent.name()), || {
            last = self.why();
            let so = last["state"] == state && decided(&last) == by;
            in_a_row = if so { in_a_row + 1 } else { 0 };
            if in_a_row >= times { Ok(()) } else { Err(format!("{last:#}")) }
        });
        assert_eq!(last["basis"], basis(by), "{last:#}");
        last
    }

    /// Waits until its screen says so too: an agent says that it works some moments before it draws that.
    #[track_caller]
    pub(crate) fn shows(&self, what: &str) {
        eventually_or(&format!("the screen of {} says {what:?}", self.agent.name()), || {
            let last = self.why();
            if said(&last, "screen").starts_with(what) { Ok(()) } else { Err(format!("{last:#}")) }
        });
    }

    /// Looks again and again for that long: it must be in that state each time.
    #[track_caller]
    pub(crate) fn stays(&self, state: &str, by: &str, time: Duration) -> Value {
        let begun = Instant::now();
        loop {
            let last = self.why();
            assert!(last["state"] == state && decided(&last) == by, "{last:#}");
            if begun.elapsed() >= time {
                return last;
            }
            // sleep: the state must hold for that long; a look every so often.
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

/// The source that decided a verdict.
pub(crate) fn decided(verdict: &Value) -> &str {
    let reasons = verdict["reasons"].as_array().unwrap();
    let by = reasons.iter().find(|reason| reason["role"] == "decided");
    by.expect("every verdict names its source")["source"].as_str().unwrap()
}

/// What one source said beside a verdict.
pub(crate) fn said<'a>(verdict: &'a Value, source: &str) -> &'a str {
    let reasons = verdict["reasons"].as_array().unwrap();
    let reason = reasons.iter().find(|reason| reason["source"] == source);
    reason.expect("every source is named")["said"].as_str().unwrap()
}

/// The agent and the kernel assert; what is read off is inferred.
fn basis(source: &str) -> &'static str {
    match source {
        "exit" | "own_word" | "hook" | "transcript" => "asserted",
        _ => "inferred",
    }
}
