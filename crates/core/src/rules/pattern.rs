//! Patterns of commands and of paths.

use dogwatch_base::glob;

/// Letters that have a meaning to a shell. A pattern describes one command.
const OPERATORS: [char; 14] =
    [';', '|', '&', '<', '>', '$', '`', '(', ')', '\'', '"', '\n', '{', '}'];

/// Each multiplies the time that a comparison takes.
const MOST_ANY_FOLDERS: usize = 3;

/// A command: words, `*` in a word is any characters of that word, and `*` as the last word any further words or none.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    words: Vec<glob::Pattern>,
    and_more: bool,
    text: String,
}

impl CommandPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(letter) = text.chars().find(|letter| OPERATORS.contains(letter)) {
            return Err(format!(
                "{letter:?} in a command pattern; a pattern describes one command without quotes, write a rule for each"
            ));
        }
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let and_more = words.last() == Some(&"*");
        if and_more {
            words.pop();
        }
        if words.is_empty() && !and_more {
            return Err("an empty command pattern".to_owned());
        }
        Ok(Self {
            words: words.into_iter().map(glob::Pattern::stars).collect(),
            and_more,
            text: text.to_owned(),
        })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this very command fits.
    pub(super) fn fits(&self, words: &[String]) -> bool {
        match words.split_first() {
            Some((program, rest)) => self.fits_program(program, rest),
            None => self.and_more && self.words.is_empty(),
        }
    }

    /// The same, of a program and its arguments.
    pub(super) fn fits_program(&self, program: &str, rest: &[String]) -> bool {
        let length = rest.len() + 1;
        let has_length =
            if self.and_more { length >= self.words.len() } else { length == self.words.len() };
        let words = std::iter::once(program).chain(rest.iter().map(String::as_str));
        has_length && self.words.iter().zip(words).all(|(pattern, word)| pattern.fits(word))
    }
}

/// A path: `**` is any folders, `*` any characters of one name. Without a `/` at its beginning it is below the project.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    names: Vec<Name>,
    is_absolute: bool,
    text: String,
}

#[derive(Debug, Clone)]
enum Name {
    AnyFolders,
    Like(glob::Pattern),
}

impl PathPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.split('/').any(|name| name == "..") {
            return Err(format!(
                "{text:?} is no path pattern: name a path below the project, or one that begins with /"
            ));
        }
        if text.split('/').filter(|name| *name == "**").count() > MOST_ANY_FOLDERS {
            return Err(format!("more than {MOST_ANY_FOLDERS} times ** in a path pattern"));
        }
        if text.starts_with('~') {
            return Err("~ in a path pattern: write the whole path".to_owned());
        }
        let names = text.split('/').filter(|name| !matches!(*name, "" | "."));
        let name = |name| {
            if name == "**" { Name::AnyFolders } else { Name::Like(glob::Pattern::stars(name)) }
        };
        Ok(Self {
            names: names.map(name).collect(),
            is_absolute: text.starts_with('/'),
            text: text.to_owned(),
        })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a path fits. Both are absolute, without links and `..` in them.
    pub(super) fn fits(&self, path: &str, project: &str) -> bool {
        let below = |path: &str, folder: &str| {
            let rest = path.strip_prefix(folder)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
        };
        let path = if self.is_absolute {
            Some(path.to_owned())
        } else {
            below(path, project.trim_end_matches('/'))
        };
        path.is_some_and(|path| {
            let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
            fit(&self.names, &names)
        })
    }
}

fn fit(pattern: &[Name], names: &[&str]) -> bool {
    match pattern {
        [] => names.is_empty(),
        [Name::AnyFolders, rest @ ..] => (0..=names.len()).any(|at| fit(rest, &names[at..])),
        [Name::Like(like), rest @ ..] => {
            names.split_first().is_some_and(|(name, names)| like.fits(name) && fit(rest, names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(ToOwned::to_owned).collect()
    }

    #[test]
    fn commands() {
        let table = [
            ("cargo test *", "cargo test", true),
            ("cargo test *", "cargo test --lib x", true),
            ("cargo test *", "cargo testx", false),
            ("cargo test *", "cargo run test", false),
            ("cargo test *", "./cargo test", false),
            ("cargo test", "cargo test x", false),
            ("git * --stat", "git diff --stat", true),
            ("git * --stat", "git diff a --stat", false),
            ("npm run test:*", "npm run test:unit", true),
            ("npm run test:*", "npm run test", false),
            ("*", "anything at all", true),
        ];
        for (pattern, line, want) in table {
            assert_eq!(
                CommandPattern::parse(pattern).unwrap().fits(&words(line)),
                want,
                "{pattern} {line}"
            );
        }
        for bad in ["", "  ", "a; b", "a 'b'", "a > b", "a $x"] {
            assert!(CommandPattern::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn paths() {
        let table = [
            ("src/**", "/p/src/a/b.rs", true),
            ("src/**", "/p/src", true),
            ("src/**", "/p/srcx/a", false),
            ("src/**", "/q/src/a", false),
            ("src/*.rs", "/p/src/a.rs", true),
            ("src/*.rs", "/p/src/a/b.rs", false),
            ("**/*.md", "/p/README.md", true),
            ("**/*.md", "/p/docs/a.md", true),
            ("**", "/p/any/thing", true),
            ("**", "/other", false),
            ("/tmp/**", "/tmp/x", true),
            ("/tmp/**", "/p/tmp/x", false),
        ];
        for (pattern, path, want) in table {
            assert_eq!(
                PathPattern::parse(pattern).unwrap().fits(path, "/p"),
                want,
                "{pattern} {path}"
            );
        }
        for bad in ["", "../x", "a/../b", "~/x", "**/a/**/b/**/c/**"] {
            assert!(PathPattern::parse(bad).is_err(), "{bad:?}");
        }
    }
}
