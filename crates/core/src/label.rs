//! Titles and tags that a person gives to sessions.

use std::collections::BTreeSet;

/// Longest title, in characters.
pub const MAX_TITLE: usize = 200;
/// Longest tag, in characters.
pub const MAX_TAG: usize = 40;
/// Most tags on one session.
pub const MAX_TAGS: usize = 20;

/// Why a text cannot be a title or a tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    #[error("a tag must not be empty")]
    EmptyTag,
    #[error("the tag {tag:?} has {length} characters; at most {MAX_TAG} are allowed")]
    LongTag { tag: String, length: usize },
    #[error(
        "the tag {tag:?} contains {found:?}; allowed are letters, digits, '-', '_', '.', ':', '/', '+' and '#'"
    )]
    Forbidden { tag: String, found: char },
    #[error("the tag {tag:?} starts with '-' and would be read as an option")]
    LeadingDash { tag: String },
    #[error("a session has at most {MAX_TAGS} tags")]
    TooManyTags,
    #[error("the title has {length} characters; at most {MAX_TITLE} are allowed")]
    LongTitle { length: usize },
}

/// A tag as it was given, if it can be one: a word without blanks and commas, so that lists of tags need no quoting.
pub fn tag(text: &str) -> Result<&str, LabelError> {
    let is_allowed = |c: char| c.is_alphanumeric() || "-_.:/+#".contains(c);
    let tag = || text.to_owned();
    if text.is_empty() {
        return Err(LabelError::EmptyTag);
    }
    if let Some(found) = text.chars().find(|c| !is_allowed(*c)) {
        return Err(LabelError::Forbidden { tag: tag(), found });
    }
    if text.starts_with('-') {
        return Err(LabelError::LeadingDash { tag: tag() });
    }
    match text.chars().count() {
        length if length > MAX_TAG => Err(LabelError::LongTag { tag: tag(), length }),
        _ => Ok(text),
    }
}

/// Several of them: in order, each once.
pub fn tags(texts: &[String]) -> Result<Vec<String>, LabelError> {
    let tags =
        texts.iter().map(|text| Ok(tag(text)?.to_owned())).collect::<Result<BTreeSet<_>, _>>()?;
    if tags.len() > MAX_TAGS {
        Err(LabelError::TooManyTags)
    } else {
        Ok(tags.into_iter().collect())
    }
}

/// The tags of a session after some were added and others removed.
pub fn changed(
    before: &[String],
    add: &[String],
    remove: &[String],
) -> Result<Vec<String>, LabelError> {
    let kept = before.iter().filter(|tag| !remove.contains(tag));
    tags(&kept.chain(add).cloned().collect::<Vec<_>>())
}

/// A title in one line; none if nothing is left of it.
pub fn title(text: &str) -> Result<Option<String>, LabelError> {
    let line = one_line(text);
    match line.chars().count() {
        0 => Ok(None),
        length if length > MAX_TITLE => Err(LabelError::LongTitle { length }),
        _ => Ok(Some(line)),
    }
}

/// A text in one line: every run of blanks, line ends and control characters becomes one blank.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tag_may_be() {
        let long = "x".repeat(MAX_TAG + 1);
        for (text, fits) in [
            ("urgent", true),
            ("größe", true),
            ("area:api/v2", true),
            ("#12", true),
            ("", false),
            ("two words", false),
            ("a,b", false),
            ("-x", false),
            ("x\u{1b}[31m", false),
            ("*", false),
            (long.as_str(), false),
        ] {
            assert_eq!(tag(text).is_ok(), fits, "{text:?}");
        }
    }

    #[test]
    fn tags_are_a_set() {
        let list = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (before, add, remove, after) in [
            ("", "b a b", "", "a b"),
            ("a b", "c", "a", "b c"),
            ("a b", "", "x", "a b"),
            ("a", "a", "a", "a"),
            ("a b", "", "a b", ""),
        ] {
            assert_eq!(
                changed(&list(before), &list(add), &list(remove)),
                Ok(list(after)),
                "{before} +{add} -{remove}"
            );
        }
        let many: Vec<String> = (0..=MAX_TAGS).map(|n| n.to_string()).collect();
        assert_eq!(changed(&[], &many, &[]), Err(LabelError::TooManyTags));
    }

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(title(" Fix the\n login\t\u{7} "), Ok(Some("Fix the login".to_owned())));
        assert_eq!(title(" \n "), Ok(None));
        assert!(title(&"x".repeat(MAX_TITLE + 1)).is_err());
    }
}
