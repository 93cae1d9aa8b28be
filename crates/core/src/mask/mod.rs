//! Removes from a bug report what others must not see: keys, passwords, the user's names and paths.
//!
//! - [`Masks::screen`] keeps every column, so that a masked screen gives the same reading;
//! - [`Masks::text`] is for texts without columns, [`Masks::json`] for every string in a JSON value.
//!
//! The rules are data (`masks.toml`), plus what the machine knows: values of variables whose names mark them as
//! secret, the home directory, the user, the host. In doubt a word is masked; reading the masked screen again shows whether that
//! changed its meaning.

mod chains;
mod flat;
mod json;
mod names;
mod near;
#[cfg(test)]
mod outward_tests;
mod pem;
mod rules;
mod screen;
#[cfg(test)]
mod tests;

pub use json::secrets_of;
pub use names::secret_values;

use flat::{Fill, Span};
use near::Haystack;
use rules::RULES;

/// What the machine knows.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Home directories.
    pub homes: Vec<String>,
    /// The user, the host, the machine.
    pub names: Vec<String>,
    /// Secrets as plain text.
    pub secrets: Vec<String>,
}

/// Shortest secret to search for: a shorter one would match anywhere.
const SHORTEST_SECRET: usize = 6;
/// Agents show this many characters of a key's end.
const SHOWN_END: usize = 20;
const SHORTEST_NAME: usize = 3;

/// Masks for one machine and one session.
#[derive(Debug, Clone)]
pub struct Masks {
    /// Also hide names and addresses of people.
    personal: bool,
    homes: Vec<String>,
    names: Vec<String>,
    secrets: Vec<String>,
}

impl Masks {
    pub fn new(known: Known) -> Self {
        let mut homes: Vec<String> = Vec::new();
        for home in known.homes.iter().map(|home| home.trim_end_matches('/')) {
            if home.starts_with('/') && home.len() > 1 {
                homes.push(home.to_owned());
                // The form in which Claude Code names a project's directory.
                homes.push(format!("/{}", home.replace(['/', '.', '_'], "-")));
            }
        }
        let is_telling = |name: &String| {
            name.chars().count() >= SHORTEST_NAME && !RULES.common_names.contains(name)
        };
        let names = known.names.into_iter().filter(is_telling).collect();
        let mut secrets: Vec<String> = Vec::new();
        for secret in known.secrets.iter().flat_map(|secret| secret.lines().map(str::trim)) {
            secrets.push(secret.to_owned());
            secrets.push(secret.escape_debug().to_string());
            let end = secret.char_indices().rev().nth(SHOWN_END - 1).map(|(at, _)| at);
            secrets.extend(end.filter(|at| *at > 0).map(|at| secret[at..].to_owned()));
        }
        secrets.retain(|secret| secret.chars().count() >= SHORTEST_SECRET);
        let mut masks = Self { personal: true, homes, names, secrets };
        for list in [&mut masks.homes, &mut masks.names, &mut masks.secrets] {
            list.sort_by_key(|text| std::cmp::Reverse(text.len()));
            list.dedup();
        }
        masks
    }

    /// Masks for what leaves the host: only secrets. Names and paths are needed by the recipients.
    pub fn outward(secrets: Vec<String>) -> Self {
        Self { personal: false, ..Self::new(Known { secrets, ..Known::default() }) }
    }

    /// A screen as tmux captured it, plain or with attributes: same rows, same columns. `width` is the pane's, 0 if
    /// unknown.
    pub fn screen(&self, captured: &str, width: usize) -> String {
        settled(captured, |text| screen::mask(self, text, width))
    }

    /// A text without columns: the home directory becomes `~`.
    pub fn text(&self, text: &str) -> String {
        settled(text, |text| flat::replace(text, &self.spans(text)))
    }

    /// All spans of a text to hide.
    fn spans(&self, text: &str) -> Vec<Span> {
        let mut spans = self.secrets_in(text);
        for home in &self.homes {
            // `/-home-me`: the slash before it stays.
            let kept = usize::from(home.starts_with("/-"));
            let found = flat::occurrences(text, home).filter(|at| flat::is_path(text, at, home));
            spans.extend(found.map(|at| Span { at: at.start + kept..at.end, fill: Fill::Home }));
        }
        for name in &self.names {
            let found = flat::occurrences(text, name).filter(|at| flat::is_word(text, at));
            spans.extend(found.map(|at| Span { at, fill: Fill::Name }));
        }
        let hay = Haystack::new(text);
        for rule in RULES.rules.iter().filter(|rule| self.personal || !rule.personal) {
            spans.extend(rule.spans(&hay));
        }
        spans.extend(pem::spans(&hay));
        spans
    }

    /// Only known secrets: these matches are certain.
    fn secrets_in(&self, text: &str) -> Vec<Span> {
        let found = self.secrets.iter().flat_map(|secret| flat::occurrences(text, secret));
        found.map(|at| Span { at, fill: Fill::Secret("") }).collect()
    }
}

/// Keys in a text that are recognisable by their form: the kind, and the key. Marked examples do not count.
pub fn keys_in(text: &str) -> Vec<(&'static str, &str)> {
    let hay = Haystack::new(text);
    let rules = RULES.rules.iter().filter(|rule| rule.is_a_key);
    let mut keys: Vec<(&str, &str)> = rules
        .flat_map(|rule| rule.spans(&hay).map(|span| (rule.name.as_str(), &text[span.at])))
        .filter(|(_, key)| !key.to_ascii_lowercase().contains("example"))
        .collect();
    keys.extend(pem::spans(&hay).into_iter().map(|span| ("private key", &text[span.at])));
    keys
}

/// Masks repeatedly until nothing changes, so that masking a masked text changes nothing. It terminates: each
/// round hides characters permanently, and adds none that a path begins with.
fn settled(text: &str, mask: impl Fn(&str) -> String) -> String {
    let mut before = text.to_owned();
    loop {
        let after = mask(&before);
        if after == before {
            return after;
        }
        before = after;
    }
}
