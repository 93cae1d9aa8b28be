//! Placeholders: words in braces.

use toml::Spanned;

use super::{Problem, problem};

pub const PLACEHOLDERS: [&str; 13] = [
    "item",
    "story",
    "key",
    "prefix",
    "group",
    "epic",
    "title",
    "step",
    "label",
    "attempt",
    "artifacts",
    "skill",
    "intent",
];

/// Refuses unknown `{words}`; braces with anything else in them are left alone.
pub(super) fn placeholders(text: &Spanned<String>) -> Result<(), Problem> {
    for (at, _) in text.get_ref().match_indices('{') {
        let Some(word) = word_in_braces(&text.get_ref()[at..]) else { continue };
        if !PLACEHOLDERS.contains(&word) {
            let known = PLACEHOLDERS.map(|word| format!("`{{{word}}}`")).join(", ");
            return problem(
                text.span(),
                format!("unknown placeholder `{{{word}}}`; known placeholders: {known}"),
            );
        }
    }
    Ok(())
}

fn word_in_braces(text: &str) -> Option<&str> {
    let word = text.strip_prefix('{')?.split_once('}')?.0;
    let fits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    fits.then_some(word)
}

/// Replaces `{words}` by values; placeholders inside a value are not replaced.
pub fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = word_in_braces(rest).and_then(|word| Some((word.len() + 2, value(word)?)));
        let (skip, text) = found.unwrap_or_else(|| (1, "{".to_owned()));
        out.push_str(&text);
        rest = &rest[skip..];
    }
    out + rest
}
