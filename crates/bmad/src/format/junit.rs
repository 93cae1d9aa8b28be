//! The counts of a JUnit file: of its root, if that is a `testsuite`, else of the suites right below it.

use serde::Serialize;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub tests: u64,
    pub failures: u64,
    pub errors: u64,
    pub skipped: u64,
    /// `None` if they were not counted.
    pub assertions: Option<u64>,
}

/// `None` if it is not a JUnit file.
pub fn read(xml: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut open: Vec<&str> = Vec::new();
    let mut seen_root = false;
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if let Some(after) = skipped(rest)? {
            rest = after;
            continue;
        }
        let end = tag_end(rest)?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop()? != name.trim() {
                return None;
            }
            continue;
        }
        let closed = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let name = tag.split_whitespace().next()?;
        if open.is_empty() && (seen_root || !matches!(name, "testsuites" | "testsuite")) {
            return None;
        }
        seen_root = true;
        let counts_here = name == "testsuite" && (open.is_empty() || open == ["testsuites"]);
        if counts_here {
            counts.add(&tag[name.len()..])?;
        }
        if !closed {
            open.push(name);
        }
    }
    (seen_root && open.is_empty()).then_some(counts)
}

impl Counts {
    fn add(&mut self, attributes: &str) -> Option<()> {
        let mut rest = attributes.trim();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
            let (value, after) = after[1..].split_once(quote)?;
            rest = after.trim_start();
            // Some tools write 3.0.
            let number = || value.split('.').next()?.trim().parse::<u64>().ok();
            match name.trim() {
                "tests" => self.tests += number()?,
                "failures" => self.failures += number()?,
                "errors" => self.errors += number()?,
                "skipped" => self.skipped += number()?,
                "assertions" => self.assertions = Some(self.assertions.unwrap_or(0) + number()?),
                _ => {}
            }
        }
        Some(())
    }
}

/// The text after a comment, an instruction, a declaration or CDATA, if one begins here; `None` if it does not end.
#[expect(clippy::option_option, reason = "no such thing here, and no end of it, are two answers")]
fn skipped(text: &str) -> Option<Option<&str>> {
    for (start, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")] {
        if text.starts_with(start) {
            let at = text.find(end)?;
            return Some(Some(&text[at + end.len()..]));
        }
    }
    Some(None)
}

/// The end of a tag: the first `>` outside of quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('>', None) => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(numbers: [u64; 4], assertions: Option<u64>) -> Counts {
        let [tests, failures, errors, skipped] = numbers;
        Counts { tests, failures, errors, skipped, assertions }
    }

    #[test]
    fn junit_files_are_read() {
        for (xml, expected) in [
            (
                "<testsuites><testsuite tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" assertions=\"9\"/><testsuite tests=\"2\"/></testsuites>",
                Some(counts([5, 1, 0, 1], Some(9))),
            ),
            (
                "<?xml version=\"1.0\"?><!-- a --><testsuite name='a > b' tests='2'><testsuite tests='9'/><testcase><failure><![CDATA[<x>]]></failure></testcase></testsuite>\n",
                Some(counts([2, 0, 0, 0], None)),
            ),
            ("<testsuites tests='7'/>", Some(counts([0, 0, 0, 0], None))),
            ("<html></html>", None),
            ("<testsuites><testsuite tests='x'/></testsuites>", None),
            ("<testsuites><testsuite>", None),
            ("<testsuites></testsuite>", None),
            ("<testsuite tests='1'", None),
            ("<!-- <testsuite/>", None),
            ("", None),
        ] {
            assert_eq!(read(xml), expected, "{xml}");
        }
    }
}
