//! Which programs run tests, and which build: by the words of a command.

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Test,
    Build,
}

/// A program that runs tests or builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) kind: Kind,
    /// Programs of one family run the same tests: `cargo test` and `cargo nextest run`.
    pub(super) family: &'static str,
    /// Not all tests: a filter, a package, a file.
    pub(super) is_narrow: bool,
}

/// Options that make a program say something and run nothing.
const ONLY_TELLS: [&str; 9] = [
    "--help",
    "-h",
    "--version",
    "-V",
    "--list",
    "--collect-only",
    "--co",
    "--listTests",
    "--dry-run",
];

/// What the words of one program are, without what comes before it, such as `env` and `timeout`.
pub(super) fn classify(words: &[&str]) -> Option<Program> {
    let (first, rest) = words.split_first()?;
    if rest.iter().any(|word| ONLY_TELLS.contains(word)) {
        return None;
    }
    let name = first.rsplit('/').next().unwrap_or(first);
    let (kind, family, is_narrow) = match name {
        "cargo" | "cross" => return cargo(rest),
        "npm" | "pnpm" | "yarn" | "bun" | "deno" => return javascript(name, rest),
        "jest" | "vitest" | "mocha" | "ava" | "tap" | "bats" => {
            (Kind::Test, "javascript", rest.iter().any(|w| is_plain(w) && *w != "run"))
        }
        "playwright" if rest.first() == Some(&"test") => (Kind::Test, "playwright", rest.len() > 1),
        "cypress" if rest.first() == Some(&"run") => (Kind::Test, "cypress", rest.len() > 1),
        "node" if rest.contains(&"--test") => {
            (Kind::Test, "javascript", rest.iter().any(|w| is_plain(w)))
        }
        "tsc" | "webpack" | "rollup" => (Kind::Build, "javascript", false),
        "vite" | "next" if rest.first() == Some(&"build") => (Kind::Build, "javascript", false),
        "pytest" | "py.test" | "nosetests" | "tox" | "nox" => {
            let is_narrow = rest.iter().any(|word| {
                let is_part = is_plain(word) && !matches!(*word, "." | "tests" | "tests/" | "test");
                is_part || matches!(*word, "-k" | "-m" | "--lf" | "--last-failed")
            });
            (Kind::Test, "python", is_narrow)
        }
        "go" => match *rest.first()? {
            "test" => {
                let is_part = |w: &&str| is_plain(w) && *w != "./..." && *w != "test";
                (Kind::Test, "go", rest.iter().any(is_part) || rest.contains(&"-run"))
            }
            "build" => (Kind::Build, "go", false),
            _ => return None,
        },
        "make" | "gmake" | "just" | "ninja" | "task" | "mage" | "rake" => {
            return targets(name, rest);
        }
        "mvn" | "mvnw" | "gradle" | "gradlew" => return jvm(rest),
        "ctest" => (Kind::Test, "cmake", rest.contains(&"-R")),
        "cmake" if rest.first() == Some(&"--build") => {
            let is_test = rest.iter().any(|w| matches!(*w, "test" | "check"));
            (if is_test { Kind::Test } else { Kind::Build }, "cmake", false)
        }
        "rspec" | "phpunit" | "pest" => {
            (Kind::Test, "spec", rest.iter().any(|word| is_plain(word)))
        }
        "dotnet" | "swift" | "flutter" | "dart" | "mix" | "bazel" | "bazelisk" | "buck2"
        | "meson" | "sbt" | "lein" | "stack" | "cabal" | "zig" | "rails" | "composer"
        | "xcodebuild" => {
            return verbs(rest);
        }
        "artisan" | "manage.py" if rest.first() == Some(&"test") => {
            (Kind::Test, "python", rest.len() > 1)
        }
        _ if first.contains('/') => {
            let stem = name.split('.').next().unwrap_or(name);
            let is_test = matches!(stem, "test" | "tests" | "run-tests" | "run_tests" | "runtests");
            return is_test.then_some(Program {
                kind: Kind::Test,
                family: "script",
                is_narrow: !rest.is_empty(),
            });
        }
        _ => return None,
    };
    Some(Program { kind, family, is_narrow })
}

/// Neither an option nor a setting.
fn is_plain(word: &str) -> bool {
    !word.starts_with('-') && !word.contains('=')
}

fn cargo(words: &[&str]) -> Option<Program> {
    let family = "cargo";
    let mut words = words.iter().copied().peekable();
    let mut verb = None;
    while let Some(word) = words.next() {
        match word {
            "--config" | "-C" | "--color" | "--manifest-path" | "-Z" => skip(words.next()),
            _ if word.starts_with(['-', '+']) => {}
            // `cargo llvm-cov nextest`, `cargo hack test`, `cargo miri test`.
            "llvm-cov" | "hack" | "miri" | "insta" | "careful" | "tarpaulin" => verb = Some("test"),
            "nextest" => {
                let next = words.next();
                verb = (next == Some("run") || next == Some("r")).then_some("test");
                break;
            }
            _ => {
                verb = Some(word);
                break;
            }
        }
    }
    let rest: Vec<&str> = words.collect();
    let kind = match verb? {
        "test" | "t" if rest.contains(&"--no-run") => Kind::Build,
        "test" | "t" => Kind::Test,
        "build" | "b" | "check" | "c" | "clippy" => Kind::Build,
        _ => return None,
    };
    Some(Program { kind, family, is_narrow: is_narrow_cargo(&rest) })
}

fn is_narrow_cargo(words: &[&str]) -> bool {
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" | "--test" | "--lib" | "--bin" | "--bins" | "--doc" | "-E"
            | "--exclude" | "--example" | "--examples" => return true,
            "--features" | "-F" | "-j" | "--jobs" | "--target" | "--profile"
            | "--manifest-path" | "--target-dir" | "--color" | "--test-threads" | "--config" => {
                skip(words.next());
            }
            _ if is_plain(word) => return true,
            _ => {}
        }
    }
    false
}

fn javascript(program: &str, words: &[&str]) -> Option<Program> {
    let mut words = words.iter().copied();
    let mut is_narrow = false;
    let mut verb = loop {
        match words.next()? {
            "-w" | "--workspace" | "--filter" | "-F" | "-C" | "--prefix" | "--dir" | "--cwd" => {
                is_narrow = true;
                skip(words.next());
            }
            word if word.starts_with('-') => {}
            "workspace" if program == "yarn" => {
                is_narrow = true;
                skip(words.next());
            }
            word => break word,
        }
    };
    let is_script = matches!(verb, "run" | "run-script" | "task");
    if is_script {
        verb = words.find(|word| !word.starts_with('-'))?;
    }
    let is_builtin = matches!(verb, "test" | "t" | "tst");
    let is_test = is_builtin
        || verb.starts_with("test:")
        || verb.starts_with("test-")
        || verb.ends_with(":test")
        || matches!(verb, "jest" | "vitest");
    // yarn and pnpm run a script by its name alone.
    let is_by_name = is_script || matches!(program, "yarn" | "pnpm");
    let kind = match () {
        () if is_test && (is_builtin || is_by_name) => Kind::Test,
        () if is_by_name && (verb == "build" || verb.starts_with("build:")) => Kind::Build,
        () if is_by_name && matches!(verb, "typecheck" | "type-check" | "tsc") => Kind::Build,
        () => return None,
    };
    is_narrow |= !matches!(verb, "test" | "t" | "tst" | "build");
    is_narrow |= words.any(|word| is_plain(word) && word != "run");
    Some(Program { kind, family: "javascript", is_narrow })
}

fn targets(program: &str, words: &[&str]) -> Option<Program> {
    let mut targets = Vec::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-n" | "--just-print" => return None,
            "-C" | "-f" | "--directory" | "--file" => skip(words.next()),
            _ if is_plain(word) && !word.bytes().all(|b| b.is_ascii_digit()) => targets.push(word),
            _ => {}
        }
    }
    let is_test = |target: &&str| {
        let is_one = |name: &str| {
            *target == name
                || target.strip_prefix(name).is_some_and(|rest| rest.starts_with(['-', '_', ':']))
        };
        ["test", "tests", "check", "spec", "unittest"].iter().any(|name| is_one(name))
    };
    let is_build = |target: &&str| matches!(*target, "build" | "all" | "compile" | "release");
    let family = "make";
    if let Some(target) = targets.iter().find(|target| is_test(target)) {
        let is_narrow = !matches!(*target, "test" | "tests" | "check");
        return Some(Program { kind: Kind::Test, family, is_narrow });
    }
    let is_bare = targets.is_empty() && matches!(program, "make" | "gmake" | "ninja");
    let is_build = is_bare || targets.iter().any(is_build);
    is_build.then_some(Program { kind: Kind::Build, family, is_narrow: false })
}

fn jvm(words: &[&str]) -> Option<Program> {
    let skips =
        words.iter().any(|w| w.starts_with("-DskipTests") || *w == "-Dmaven.test.skip=true")
            || words.windows(2).any(|pair| pair == ["-x", "test"]);
    let goal = |word: &str| word.rsplit(':').next().map(str::to_owned).unwrap_or_default();
    let mut kind = None;
    for word in words.iter().filter(|word| is_plain(word)) {
        kind = match goal(word).as_str() {
            "test" | "verify" | "check" | "package" | "install" | "integration-test" | "build"
                if !skips =>
            {
                Some(Kind::Test)
            }
            "package" | "install" | "build" | "assemble" | "compile" | "classes" => {
                kind.or(Some(Kind::Build))
            }
            _ => kind,
        };
    }
    let is_part =
        |word: &&str| word.starts_with("-Dtest=") || **word == *"--tests" || **word == *"-pl";
    Some(Program { kind: kind?, family: "jvm", is_narrow: words.iter().any(is_part) })
}

/// `dotnet test`, `swift build`, `zig build test`.
fn verbs(words: &[&str]) -> Option<Program> {
    let plain: Vec<&str> = words.iter().copied().filter(|word| is_plain(word)).collect();
    let family = "verbs";
    match plain[..] {
        ["test" | "tests", ref rest @ ..] | ["build", "test", ref rest @ ..] => {
            let is_narrow = !rest.is_empty() || words.iter().any(|w| w.starts_with("--filter"));
            Some(Program { kind: Kind::Test, family, is_narrow })
        }
        ["build" | "compile", ..] => Some(Program { kind: Kind::Build, family, is_narrow: false }),
        _ => None,
    }
}

/// The value of an option, which says nothing about what is run.
fn skip(_value: Option<&str>) {}
