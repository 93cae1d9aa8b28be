//! Masks everything that leaves the host: events, states, replies, notices and comments. All channels use the same rules, those
//! of `bug-report`. Names and paths stay: other hosts need them.

use std::sync::LazyLock;

use dogwatch_core::fleet::Reply;
use dogwatch_core::mask::{Masks, secret_values};
use dogwatch_core::notice::Notice;
use dogwatch_core::terminal;
use serde_json::Value;

/// The rules, and the values of environment variables whose names mark them as secret.
static MASKS: LazyLock<Masks> = LazyLock::new(|| {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| {
            (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
        })
        .collect();
    let pairs = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Masks::outward(secret_values(pairs))
});

/// The rules themselves.
pub fn masks() -> &'static Masks {
    &MASKS
}

pub fn json(value: Value) -> Value {
    MASKS.json(value)
}

/// A text that people may read in a terminal.
pub fn text(text: &str) -> String {
    terminal::harmless(&MASKS.text(text)).into_owned()
}

pub fn notice(notice: &Notice) -> Notice {
    Notice {
        title: text(&notice.title),
        text: text(&notice.text),
        data: json(notice.data.clone()),
        several: notice.several.iter().map(self::notice).collect(),
        ..notice.clone()
    }
}

pub fn reply(reply: Reply) -> Reply {
    let because = reply.because.as_deref().map(|because| MASKS.text(because));
    Reply { because, result: json(reply.result), ..reply }
}
