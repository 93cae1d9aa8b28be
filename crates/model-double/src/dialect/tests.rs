//! Each protocol is given the same conversation and the same replies.

mod reading;
mod writing;

use super::*;

/// A path that each protocol is found at.
const PATHS: [(&str, &str); 5] = [
    ("anthropic", "/v1/messages"),
    ("responses", "/v1/responses"),
    ("chat", "/v1/chat/completions"),
    ("gemini", "/v1beta/models/g-1:streamGenerateContent"),
    ("gemini", "/v1beta/models/g-1:generateContent"),
];

fn named(name: &str) -> (&'static dyn Dialect, &'static str) {
    let (_, path) = PATHS.iter().find(|(dialect, _)| *dialect == name).expect(name);
    (at(path).expect(path), path)
}

#[test]
fn each_path_has_its_protocol() {
    for (name, path) in PATHS {
        assert_eq!(at(path).expect(path).name(), name, "{path}");
    }
    for path in ["/", "/v1/models", "/v1/completions", "/v1/messages/batches"] {
        assert!(at(path).is_none(), "{path}");
    }
}
