//! `.dogwatch.toml`: what a new worktree of a project needs besides its files in git, and the project's rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use toml::Spanned;

use crate::config::ConfigError;
use crate::rules::{self, Rule, RuleTable};

/// The file's name, at the top of the work tree.
pub const FILE: &str = ".dogwatch.toml";
/// Longest file that is read.
pub const MOST_BYTES: u64 = 64 * 1024;

const MOST_PATHS: usize = 100;
const MOST_VALUES: usize = 32;
const WIDEST: u32 = 100_000;
const DEFAULT_TIMEOUT: u64 = 600;
const LONGEST_TIMEOUT: u64 = 3600;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    copy: Vec<Spanned<String>>,
    link: Vec<Spanned<String>>,
    setup: Option<Spanned<String>>,
    setup_timeout: Option<Spanned<u64>>,
    values: BTreeMap<String, Spanned<String>>,
    rule: Vec<RuleTable>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Files and folders to copy, from the top of the work tree.
    pub copy: Vec<String>,
    /// Files and folders to link to.
    pub link: Vec<String>,
    /// A command for `sh -c`.
    pub setup: Option<String>,
    pub setup_timeout: Duration,
    /// Variables that get a number of their own in each session.
    pub values: BTreeMap<String, Range>,
}

/// Numbers to choose from, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub first: u32,
    pub last: u32,
}

impl Range {
    fn parse(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| {
            let text = text.trim();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<u32>().ok()).flatten()
        };
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(format!("{text:?} is not a range; write for example \"3000-3999\""));
        };
        if last < first || last - first >= WIDEST {
            return Err(format!("{text:?} must contain from 1 to {WIDEST} numbers"));
        }
        Ok(Self { first, last })
    }

    /// The first number that is neither taken nor refused.
    pub fn choose(
        self,
        taken: &BTreeSet<u32>,
        mut is_free: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        (self.first..=self.last).find(|value| !taken.contains(value) && is_free(*value))
    }
}

/// What identifies a file's content.
pub fn hash(content: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn read(text: &str) -> Result<File, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        ConfigError::at(text, offset, error.message())
    })
}

/// The project's rules that answer requests for permission.
pub fn rules(text: &str) -> Result<Vec<Rule>, ConfigError> {
    rules::read(&read(text)?.rule, text)
}

pub fn parse(text: &str) -> Result<Settings, ConfigError> {
    let file = read(text)?;
    rules::read(&file.rule, text)?;
    let at = |offset: usize, problem: String| Err(ConfigError::at(text, offset, problem));
    let mut seen = BTreeSet::new();
    for path in file.copy.iter().chain(&file.link) {
        let problem = path_problem(path.get_ref()).map(ToOwned::to_owned).or_else(|| {
            (!seen.insert(path.get_ref().trim_end_matches('/')))
                .then(|| "is named twice".to_owned())
        });
        if let Some(problem) = problem {
            return at(path.span().start, format!("{:?} {problem}", path.get_ref()));
        }
    }
    if seen.len() > MOST_PATHS {
        return at(0, format!("at most {MOST_PATHS} paths to copy and link"));
    }
    if let Some(setup) = file.setup.as_ref().filter(|setup| setup.get_ref().trim().is_empty()) {
        return at(setup.span().start, "setup is empty".to_owned());
    }
    let timeout = file.setup_timeout.as_ref().map_or(DEFAULT_TIMEOUT, |timeout| *timeout.get_ref());
    if let Some(given) = &file.setup_timeout
        && !(1..=LONGEST_TIMEOUT).contains(&timeout)
    {
        let problem = format!("setup_timeout must be from 1 to {LONGEST_TIMEOUT} seconds");
        return at(given.span().start, problem);
    }
    if file.values.len() > MOST_VALUES {
        return at(0, format!("at most {MOST_VALUES} values"));
    }
    let mut values = BTreeMap::new();
    for (name, range) in &file.values {
        if !is_variable(name) {
            return at(range.span().start, format!("{name:?} is not a name for a variable"));
        }
        match Range::parse(range.get_ref()) {
            Ok(parsed) => values.insert(name.clone(), parsed),
            Err(problem) => return at(range.span().start, problem),
        };
    }
    let plain = |paths: Vec<Spanned<String>>| -> Vec<String> {
        paths.into_iter().map(|path| path.into_inner().trim_end_matches('/').to_owned()).collect()
    };
    Ok(Settings {
        copy: plain(file.copy),
        link: plain(file.link),
        setup: file.setup.map(Spanned::into_inner),
        setup_timeout: Duration::from_secs(timeout),
        values,
    })
}

/// Why a path is not one below the project.
fn path_problem(path: &str) -> Option<&'static str> {
    let parts = || Path::new(path).components();
    if path.trim_end_matches('/').is_empty() || path.contains('\0') {
        return Some("is not a path");
    }
    if !parts().all(|part| matches!(part, Component::Normal(_))) {
        return Some("must be a path below the project, without `.` and `..`");
    }
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    parts().any(is_git).then_some("is part of git's own files")
}

/// A name that shells take, and that is not dogwatch's or the loader's.
fn is_variable(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && name.chars().all(is_letter)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.starts_with("DOGWATCH_")
        && !name.starts_with("LD_")
        && name != "PATH"
        && name != "HOME"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file() {
        let text = "copy = ['.env', 'config/local.json']\nlink = ['node_modules/']\nsetup = 'npm ci'\n\
                    setup_timeout = 60\n[values]\nPORT = '3000-3999'\nDB = '7'\n";
        let settings = parse(text).unwrap();
        assert_eq!(settings.copy, [".env", "config/local.json"]);
        assert_eq!(settings.link, ["node_modules"]);
        assert_eq!(settings.setup.as_deref(), Some("npm ci"));
        assert_eq!(settings.setup_timeout, Duration::from_mins(1));
        assert_eq!(settings.values["PORT"], Range { first: 3000, last: 3999 });
        assert_eq!(settings.values["DB"], Range { first: 7, last: 7 });
        assert_eq!(parse("").unwrap().setup_timeout, Duration::from_mins(10));
    }

    #[test]
    fn problems_have_a_position() {
        for (text, start) in [
            ("copi = []", "line 1, column 1: unknown field"),
            ("copy = ['../x']", "line 1, column 9: \"../x\" must be a path below"),
            ("copy = ['/etc/passwd']", "line 1, column 9: "),
            ("copy = ['a/../../x']", "line 1, column 9: "),
            ("link = ['.git/hooks']", "line 1, column 9: \".git/hooks\" is part of git"),
            ("link = ['x/.GIT']", "line 1, column 9: "),
            ("copy = ['']", "line 1, column 9: \"\" is not a path"),
            ("copy = ['a']\nlink = ['a/']", "line 2, column 9: \"a/\" is named twice"),
            ("setup = ' '", "line 1, column 9: setup is empty"),
            ("setup_timeout = 0", "line 1, column 17: setup_timeout must"),
            ("[values]\nPORT = '9-1'", "line 2, column 8: \"9-1\" must contain"),
            ("[values]\nPORT = '1-9999999'", "line 2, column 8: "),
            ("[values]\nPORT = '+1-9'", "line 2, column 8: \"+1-9\" is not a range"),
            ("[values]\nPORT = 'x'", "line 2, column 8: \"x\" is not a range"),
            ("[values]\n'1x' = '1'", "line 2, column 8: \"1x\" is not a name"),
            ("[values]\nLD_PRELOAD = '1'", "line 2, column 14: "),
        ] {
            let problem = parse(text).unwrap_err().to_string();
            assert!(problem.starts_with(start), "{text:?}: {problem}");
        }
    }

    #[test]
    fn a_value_is_free_and_not_taken() {
        let range = Range { first: 3, last: 5 };
        let taken = BTreeSet::from([3]);
        assert_eq!(range.choose(&taken, |_| true), Some(4));
        assert_eq!(range.choose(&taken, |value| value != 4), Some(5));
        assert_eq!(range.choose(&BTreeSet::from([3, 4, 5]), |_| true), None);
    }

    #[test]
    fn content_is_identified() {
        assert!(hash(b"").starts_with("e3b0c44298fc1c14"));
        assert_ne!(hash(b"a"), hash(b"b"));
    }
}
