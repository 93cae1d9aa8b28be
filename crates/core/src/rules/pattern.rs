//! Patterns of commands and of paths.

use dogwatch_base::glob;

/// Programs that run the command in their arguments.
const WRAPPERS: [&str; 14] = [
    "builtin", "chroot", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "timeout", "xargs",
];
/// Shells: `sh -c 'rm x'`.
const SHELLS: [&str; 6] = ["bash", "dash", "fish", "ksh", "sh", "zsh"];
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
        let has_length = if self.and_more {
            words.len() >= self.words.len()
        } else {
            words.len() == self.words.len()
        };
        has_length && self.words.iter().zip(words).all(|(pattern, word)| pattern.fits(word))
    }

    /// Whether the command, or one that it runs in turn, fits: by any path of the program, and behind `sudo`, `env`, `sh -c` and the
    /// like. For what must not be run, where a match too many does no harm.
    pub(super) fn fits_within(&self, words: &[String]) -> bool {
        let Some(program) = words.first() else { return false };
        let base = program.rsplit('/').next().unwrap_or_default();
        let mut by_name = words.to_vec();
        base.clone_into(&mut by_name[0]);
        if self.fits(words) || self.fits(&by_name) {
            return true;
        }
        if WRAPPERS.contains(&base) {
            return (1..words.len()).any(|at| self.fits_within(&words[at..]));
        }
        if SHELLS.contains(&base) {
            let inner =
                words.iter().skip(1).filter_map(|text| super::shell::commands(text).ok()).flatten();
            return inner.into_iter().any(|words| self.fits_within(&words));
        }
        false
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
    fn commands_within_others() {
        let pattern = CommandPattern::parse("rm -rf *").unwrap();
        for line in [
            "rm -rf /",
            "/bin/rm -rf /",
            "sudo rm -rf /",
            "sudo -u root rm -rf /",
            "env A=1 nice -n 5 rm -rf /",
            "xargs rm -rf",
        ] {
            assert!(pattern.fits_within(&words(line)), "{line}");
        }
        for inner in ["rm -rf /", "true; rm -rf /", "sudo sh -c 'rm -rf x'"] {
            assert!(pattern.fits_within(&["bash".into(), "-lc".into(), inner.into()]), "{inner}");
        }
        for line in ["rm -r /", "echo rm -rf /", "git rm -rf x"] {
            assert!(!pattern.fits_within(&words(line)), "{line}");
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
