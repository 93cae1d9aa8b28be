//! File name patterns, on top of the crate glob. A pattern matches one file name, never a path.
//!
//! Not globset: it compares bytes (`?` does not match `é`) and adds 0.9 MB of regular expressions to the binary.

use glob::Pattern as Glob;

#[derive(Debug, Clone)]
pub struct Pattern {
    /// `None` matches nothing: the text is not a valid pattern, such as `[a`.
    glob: Option<Glob>,
}

impl Pattern {
    /// `*` is any characters, `?` any one, `[ab]`, `[a-z]`, `[!a]` one of a set. Everything else is literal.
    pub fn new(text: &str) -> Self {
        Self::compile(text, &[])
    }

    /// Only `*` is special.
    pub fn stars(text: &str) -> Self {
        Self::compile(text, &['?', '['])
    }

    fn compile(text: &str, literal: &[char]) -> Self {
        let mut pattern = String::with_capacity(text.len());
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                letter if literal.contains(&letter) => pattern.extend(['[', letter, ']']),
                // glob reads `**` as any directories, and rejects it beside other characters.
                '*' if pattern.ends_with('*') => {}
                '[' => {
                    pattern.push('[');
                    pattern.extend(letters.next_if(|next| matches!(next, '!' | '^')).map(|_| '!'));
                    // A `]` right after the opening bracket is literal.
                    pattern.extend(letters.next());
                    while let Some(next) = letters.next_if(|next| *next != ']') {
                        pattern.push(next);
                    }
                    pattern.extend(letters.next());
                }
                letter => pattern.push(letter),
            }
        }
        Self { glob: Glob::new(&pattern).ok() }
    }

    pub fn fits(&self, name: &str) -> bool {
        self.glob.as_ref().is_some_and(|glob| glob.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_match_patterns() {
        for (pattern, name, fits) in [
            ("1-2-*.md", "1-2-reset.md", true),
            ("1-2-*.md", "1-2-.md", true),
            ("1-2-*.md", "1-20-x.md", false),
            ("1-2-*.md", "1-2-x.md.bak", false),
            ("*", "", true),
            ("*", ".hidden", true),
            ("**", "a", true),
            ("a**b", "axxb", true),
            ("*a*b*", "xxaxxbx", true),
            ("*a*b", "ba", false),
            ("?[a-c][!x].md", "zbé.md", true),
            ("[^x]", "x", false),
            ("[]a]", "]", true),
            ("[!]a]", "]", false),
            ("[a", "[a", false),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("[{]", "{", true),
            ("a\\*", "a\\x", true),
            ("?", "é", true),
            ("[*", "[x", false),
            ("[*]", "*", true),
            ("[*]", "x", false),
            ("A", "a", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(Pattern::new(pattern).fits(name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn only_stars_are_special() {
        for (pattern, name, fits) in [
            ("*.env", ".env", true),
            (".env.*", ".env.local", true),
            ("id_*_sk", "id_ed25519_sk", true),
            ("rollout-*-x.jsonl", "rollout-2026-11-16-x.jsonl", true),
            ("a?b", "axb", false),
            ("a?b", "a?b", true),
            ("[a]*", "[a]b", true),
            ("[a]*", "ab", false),
            ("{x}", "{x}", true),
            ("\\*", "\\é", true),
        ] {
            assert_eq!(Pattern::stars(pattern).fits(name), fits, "{pattern} {name}");
        }
    }

    /// Reference implementation of `*` and `?`.
    fn plainly(pattern: &[char], name: &[char], is_one: bool) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', rest @ ..], _) => {
                plainly(rest, name, is_one)
                    || name.split_first().is_some_and(|(_, name)| plainly(pattern, name, is_one))
            }
            (['?', rest @ ..], [_, name @ ..]) if is_one => plainly(rest, name, is_one),
            ([letter, rest @ ..], [other, name @ ..]) => {
                letter == other && plainly(rest, name, is_one)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn stars_and_question_marks(pattern in "[ab*?{}.\\\\é]{0,6}", name in "[ab*?{}.\\\\é]{0,6}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            let (p, n) = (letters(&pattern), letters(&name));
            prop_assert_eq!(Pattern::new(&pattern).fits(&name), plainly(&p, &n, true));
            prop_assert_eq!(Pattern::stars(&pattern).fits(&name), plainly(&p, &n, false));
        }

        #[test]
        fn anything_can_be_a_pattern(pattern in any::<String>(), name in any::<String>()) {
            let _ = Pattern::new(&pattern).fits(&name);
            let _ = Pattern::stars(&pattern).fits(&name);
        }
    }
}
