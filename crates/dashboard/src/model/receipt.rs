//! How far a message came: staged, submitted, proven.

use dogwatch_core::delivery::Outcome;
use dogwatch_store::Message;
use jiff::Timestamp;

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub to: String,
    pub text: String,
    pub posted: Timestamp,
    pub staged: Option<Timestamp>,
    pub submitted: Option<Timestamp>,
    pub done: Option<Timestamp>,
    pub outcome: Option<Outcome>,
}

impl Sent {
    pub fn new(to: String, message: Message) -> Self {
        let Message { text, posted, staged, submitted, done, outcome, .. } = message;
        Self { to, text, posted, staged, submitted, done, outcome }
    }

    /// `staged 0.1s → submitted 0.2s → proven by its transcript 0.4s`, by the time since it was posted; and what went wrong.
    pub fn receipt(&self) -> String {
        let after = |word: &str, at: Option<Timestamp>| {
            let seconds = at?.duration_since(self.posted).as_secs_f64();
            Some(format!("{word} {seconds:.1}s"))
        };
        let steps = [after("staged", self.staged), after("submitted", self.submitted)];
        let mut steps: Vec<String> = steps.into_iter().flatten().collect();
        match &self.outcome {
            Some(Outcome::Delivered { proof, .. }) => {
                steps.extend(after(&format!("proven by its {}", proof.as_str()), self.done));
            }
            Some(other) => {
                let word = other.as_str().replace('_', " ");
                let because = other.because().map(|because| format!(": {because}"));
                steps.push(word + &because.unwrap_or_default());
            }
            None if steps.is_empty() => steps.push("queued".to_owned()),
            None => {}
        }
        steps.join(" → ")
    }
}
