//! The exact command line, environment and files of one session.
//!
//! Prompt, command and environment travel in files that only the owner can read, as the kernel's own
//! format: strings that end in a NUL. No shell and no tmux quoting is ever between.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::codex_hooks;
use crate::profile::{HookWay, Profile};
use crate::startup::{Extras, Fallback, words_of};
use dogwatch_base::private::is_private;

/// Longest prompt passed as an argument. Linux takes 128 KiB for a single one, NUL included.
pub const MAX_PROMPT_ARGUMENT: usize = 128 * 1024 - 1;

/// Set to anything: command lines, which every user of the machine can read, have no prompts on them, where the agent can be told
/// to read its prompt from a file. Sessions that a session starts inherit it.
pub const PRIVATE_PROMPTS: &str = "DOGWATCH_PRIVATE_PROMPTS";

/// Variables that describe the caller's own terminal and place; the pane has better ones.
const OF_THE_CALLER: [&str; 20] = [
    "TMUX",
    "TMUX_PANE",
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TERM_SESSION_ID",
    "COLUMNS",
    "LINES",
    "STY",
    "WINDOW",
    "WINDOWID",
    "SHLVL",
    "OLDPWD",
    "PWD",
    "_",
    "DOGWATCH_SESSION",
    "DOGWATCH_PROMPT_FILE",
    "DOGWATCH_ROLE",
    "DOGWATCH_SPAWNER_PANE",
    "DOGWATCH_SESSION_FILE",
];

/// Variables that the runner takes from its own environment, because tmux set them for the pane.
pub const OF_THE_PANE: [&str; 5] =
    ["TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];

/// Everything that decides how a session is started.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    pub profile: &'a Profile,
    /// The program found for the profile, or the plain command's own.
    pub program: OsString,
    pub extra_args: Vec<OsString>,
    pub prompt: Option<&'a str>,
    pub model: Option<&'a str>,
    pub conversation: Option<&'a str>,
    /// The conversation is one that was begun before.
    pub resume: bool,
    pub unattended: bool,
    pub session: &'a str,
    pub cwd: PathBuf,
    /// The session's own folder.
    pub folder: PathBuf,
    pub state_dir: PathBuf,
    /// A free port on loopback, for agents that can be asked over HTTP, and the password to it.
    pub port: u16,
    pub secret: &'a str,
    /// Our own binary, for hooks.
    pub dogwatch: PathBuf,
    pub caller_env: Vec<(OsString, OsString)>,
    pub set_env: Vec<(String, String)>,
}

/// The plan, ready to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub argv: Vec<OsString>,
    /// Same as `argv` with the prompt left out, for people to read in lists.
    pub shown: Vec<String>,
    pub env: Vec<(OsString, OsString)>,
    pub files: Vec<(String, String)>,
    pub prompt_in_file: bool,
    /// The same without what is there for our sake, should the agent not take it.
    pub fallback: Option<Fallback>,
}

/// Name of the file in the session's folder that holds the prompt.
pub const PROMPT_FILE: &str = "prompt";

/// Plans one session.
pub fn plan(ask: &Ask<'_>) -> Launch {
    let mut launch = plan_as_given(ask);
    let bare = ask.profile.bare();
    if bare != *ask.profile {
        let argv = plan_as_given(&Ask {
            profile: &bare,
            conversation: ask.conversation.filter(|_| ask.resume),
            ..ask.clone()
        })
        .argv;
        let added = |arg: &&OsString| !argv.contains(arg);
        let added = launch.argv.iter().filter(added).filter_map(|arg| arg.to_str());
        let path = |name: &String| ask.folder.join(name).to_string_lossy().into_owned();
        let extras = Extras {
            unset: ask.profile.launch.env.keys().cloned().collect(),
            files: launch.files.iter().map(|(name, _)| path(name)).collect(),
            words: words_of(added),
            complaints: ask.profile.complaints.clone(),
            ..Extras::default()
        };
        launch.fallback = Some(Fallback { argv, extras });
    }
    launch
}

fn plan_as_given(ask: &Ask<'_>) -> Launch {
    let rules = &ask.profile.launch;
    let mut values = Values::new(ask);
    let prompt_in_file = rules.long_prompt.is_some()
        && ask.prompt.is_some_and(|prompt| {
            prompt.len() > MAX_PROMPT_ARGUMENT
                || (is_private_wanted(ask) && !is_command(ask, prompt))
        });
    values.prompt = match (ask.prompt, &rules.long_prompt) {
        (Some(_), Some(instead)) if prompt_in_file => values.fill(instead),
        (Some(prompt), _) if is_bare_word(prompt) => format!("{prompt}{}", rules.bare_word_suffix),
        (Some(prompt), _) => prompt.to_owned(),
        (None, _) => String::new(),
    };

    let mut shown_args: Vec<OsString> = vec![ask.program.clone()];
    let mut add = |template: &[String]| {
        shown_args.extend(template.iter().map(|arg| OsString::from(values.fill(arg))));
    };
    if ask.resume {
        add(&rules.resume);
    }
    add(&rules.args);
    if let Some(hooks) = ask.profile.hooks.as_ref().filter(|h| h.way == HookWay::CodexOverrides) {
        add(&codex_hooks::arguments(&hooks.events, &hook_command(ask)));
    }
    if ask.unattended {
        add(&rules.unattended);
    }
    if ask.model.is_some() {
        add(&rules.model);
    }
    if ask.conversation.is_some() && !ask.resume {
        add(&rules.conversation);
    }
    shown_args.extend(ask.extra_args.iter().cloned());
    let mut argv = shown_args.clone();
    if ask.prompt.is_some() {
        argv.extend(rules.prompt.iter().map(|arg| OsString::from(values.fill(arg))));
    }

    let files = ask
        .profile
        .files
        .iter()
        .map(|file| (file.name.clone(), values.fill(&file.content)))
        .collect();
    let shown = shown_args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    Launch { argv, shown, env: environment(ask, &values), files, prompt_in_file, fallback: None }
}

/// The caller's environment, less what describes the caller, plus what a session is given.
fn environment(ask: &Ask<'_>, values: &Values) -> Vec<(OsString, OsString)> {
    let rules = &ask.profile.launch;
    let dropped = |key: &OsStr| {
        OF_THE_CALLER.iter().any(|k| key == OsStr::new(k))
            || rules.unset.iter().any(|k| key == OsStr::new(k))
            || is_private(key)
    };
    let mut env: Vec<(OsString, OsString)> =
        ask.caller_env.iter().filter(|(key, _)| !dropped(key)).cloned().collect();
    let mut set = |key: &str, value: OsString| {
        env.retain(|(k, _)| k != key);
        env.push((key.into(), value));
    };
    for (key, value) in &rules.env {
        set(key, values.fill(value).into());
    }
    set("STORY_AUTOMATOR_CHILD", "true".into());
    set("AI_AGENT", ask.profile.name.clone().into());
    set("CLAUDECODE", OsString::new());
    set("BASH_ENV", OsString::new());
    if ask.prompt.is_some() {
        set("DOGWATCH_PROMPT_FILE", ask.folder.join(PROMPT_FILE).into_os_string());
    }
    for (key, value) in &ask.set_env {
        set(key, value.into());
    }
    set("PWD", ask.cwd.clone().into_os_string());
    // Last, so that nothing can detach a session from its own identity.
    set("DOGWATCH_STATE_DIR", ask.state_dir.clone().into_os_string());
    // A shell that an agent starts may have another path than we have.
    set("DOGWATCH_BIN", ask.dogwatch.clone().into_os_string());
    set("DOGWATCH_SESSION", ask.session.into());
    set(crate::process_tree::TAG, ask.session.into());
    env
}

/// What the placeholders stand for.
struct Values {
    prompt: String,
    pairs: Vec<(&'static str, String)>,
}

impl Values {
    fn new(ask: &Ask<'_>) -> Self {
        let dogwatch = json_string(&ask.dogwatch.to_string_lossy());
        let hook = hook_command(ask);
        let statusline = format!("{hook} --statusline");
        let mut pairs = vec![
            ("model", ask.model.unwrap_or_default().to_owned()),
            ("conversation", ask.conversation.unwrap_or_default().to_owned()),
            ("session", ask.session.to_owned()),
            ("port", ask.port.to_string()),
            ("secret", ask.secret.to_owned()),
            ("folder", ask.folder.to_string_lossy().into_owned()),
            ("prompt_file", ask.folder.join(PROMPT_FILE).to_string_lossy().into_owned()),
            ("dogwatch", dogwatch.clone()),
            ("hook", json_string(&hook)),
            ("statusline", json_string(&statusline)),
        ];
        if let Some(hooks) = &ask.profile.hooks {
            let entries: Vec<String> = hooks
                .events
                .iter()
                .map(|event| {
                    fill(&hooks.entry, |key| match key {
                        "event" => Some(event.clone()),
                        "dogwatch" => Some(dogwatch.clone()),
                        "hook" => Some(json_string(&hook)),
                        _ => None,
                    })
                })
                .collect();
            pairs.push(("hook_entries", entries.join(",")));
        }
        Self { prompt: String::new(), pairs }
    }

    fn fill(&self, template: &str) -> String {
        fill(template, |key| {
            if key == "prompt" {
                return Some(self.prompt.clone());
            }
            self.pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone())
        })
    }
}

/// Replaces each `@key@`, once and from left to right: what was put in is never checked again, so a
/// prompt that happens to contain `@model@` stays as it is. Unknown keys stay too.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('@') {
        let after = &rest[at + 1..];
        let found = after.find('@').and_then(|end| Some((end, value(&after[..end])?)));
        out.push_str(&rest[..at]);
        if let Some((end, text)) = found {
            out.push_str(&text);
            rest = &after[end + 1..];
        } else {
            out.push('@');
            rest = after;
        }
    }
    out + rest
}

/// Whether prompts are to stay off command lines.
fn is_private_wanted(ask: &Ask<'_>) -> bool {
    let asked = ask.set_env.iter().any(|(key, value)| key == PRIVATE_PROMPTS && !value.is_empty());
    let inherited =
        |(key, value): &(OsString, OsString)| key == PRIVATE_PROMPTS && !value.is_empty();
    asked || ask.caller_env.iter().any(inherited)
}

/// A command to the agent itself, which it would not obey from a file.
fn is_command(ask: &Ask<'_>, prompt: &str) -> bool {
    let prompt = prompt.trim_start();
    let own = ask.profile.input.command_prefixes.iter().map(String::as_str);
    own.chain(["/"]).any(|prefix| prompt.starts_with(prefix))
}

fn is_bare_word(prompt: &str) -> bool {
    prompt.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// Our hook as a line for a shell. A path that is no text cannot be in a settings file, but it is in the environment.
fn hook_command(ask: &Ask<'_>) -> String {
    let dogwatch = ask.dogwatch.to_str().map(shell_word);
    let dogwatch = dogwatch.unwrap_or_else(|| "\"$DOGWATCH_BIN\"".to_owned());
    format!("{dogwatch} hook {}", ask.profile.name)
}

/// One word for a POSIX shell. Agents run hook commands through one.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Strings in the kernel's form: each followed by a NUL. They cannot contain one, as arguments
/// and environment cannot either.
pub fn to_nul_separated<'a>(strings: impl IntoIterator<Item = &'a OsStr>) -> Vec<u8> {
    let mut out = Vec::new();
    for string in strings {
        out.extend_from_slice(string.as_bytes());
        out.push(0);
    }
    out
}

/// Reads [`to_nul_separated`] back.
pub fn from_nul_separated(bytes: &[u8]) -> Vec<OsString> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    bytes.split(|b| *b == 0).map(|s| OsString::from_vec(s.to_vec())).collect()
}

/// Splits `KEY=VALUE`; `None` if there is no key.
pub fn split_pair(pair: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = pair.as_bytes();
    let at = bytes.iter().position(|b| *b == b'=').filter(|at| *at > 0)?;
    let part = |b: &[u8]| OsString::from_vec(b.to_vec());
    Some((part(&bytes[..at]), part(&bytes[at + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::builtin;
    use proptest::prelude::*;

    fn ask<'a>(profile: &'a Profile, prompt: Option<&'a str>) -> Ask<'a> {
        Ask {
            profile,
            program: "/bin/agent".into(),
            extra_args: Vec::new(),
            prompt,
            model: None,
            conversation: None,
            resume: false,
            unattended: false,
            session: "id-1",
            cwd: "/proj/it's here".into(),
            folder: "/state/sessions/id-1".into(),
            state_dir: "/state".into(),
            port: 4711,
            secret: "s3",
            dogwatch: "/opt/dog watch".into(),
            caller_env: vec![
                ("HOME".into(), "/home/u".into()),
                ("TMUX".into(), "outer".into()),
                ("CLAUDECODE".into(), "1".into()),
                ("DOGWATCH_SESSION".into(), "outer".into()),
                ("DOGWATCH_MQTT_PASSWORD".into(), "secret".into()),
            ],
            set_env: vec![("A".into(), "1".into()), ("HOME".into(), "/home/v".into())],
        }
    }

    fn value(launch: &Launch, key: &str) -> Option<String> {
        launch.env.iter().find(|(k, _)| k == key).map(|(_, v)| v.to_string_lossy().into_owned())
    }

    #[test]
    fn the_environment_of_a_session() {
        let profile = builtin("claude").unwrap();
        let launch = plan(&ask(&profile, Some("x")));
        for (key, want) in [
            ("HOME", Some("/home/v")),
            ("A", Some("1")),
            ("TMUX", None),
            ("CLAUDECODE", Some("")),
            ("BASH_ENV", Some("")),
            ("STORY_AUTOMATOR_CHILD", Some("true")),
            ("AI_AGENT", Some("claude")),
            ("DOGWATCH_SESSION", Some("id-1")),
            ("DOGWATCH_MQTT_PASSWORD", None),
            ("PWD", Some("/proj/it's here")),
            ("DOGWATCH_PROMPT_FILE", Some("/state/sessions/id-1/prompt")),
        ] {
            assert_eq!(value(&launch, key).as_deref(), want, "{key}");
        }
    }

    #[test]
    fn a_prompt_is_one_argument_whatever_it_says() {
        let profile = builtin("claude").unwrap();
        let prompt = "--help\n'@model@' $(rm -rf /) `x` \\ ; #{pid} \u{1F436}\t\"";
        let launch = plan(&ask(&profile, Some(prompt)));
        assert_eq!(launch.argv.last().unwrap(), prompt);
        assert!(!launch.shown.iter().any(|arg| arg.contains("rm -rf")));
    }

    #[test]
    fn a_prompt_that_is_a_subcommand_is_not_run_as_one() {
        let profile = builtin("claude").unwrap();
        assert_eq!(plan(&ask(&profile, Some("doctor"))).argv.last().unwrap(), "doctor\n");
        assert_eq!(plan(&ask(&profile, Some("do it"))).argv.last().unwrap(), "do it");
    }

    #[test]
    fn a_conversation_is_begun_or_gone_on_with() {
        let table: [(&str, bool, &[&str]); 5] = [
            ("claude", false, &["--session-id", "c-1"]),
            ("claude", true, &["--resume", "c-1"]),
            ("codex", true, &["resume", "c-1"]),
            ("agy", true, &["--conversation", "c-1"]),
            ("gemini", true, &["--resume", "c-1"]),
        ];
        for (name, resume, want) in table {
            let profile = builtin(name).unwrap();
            let launch = plan(&Ask { conversation: Some("c-1"), resume, ..ask(&profile, None) });
            assert!(launch.shown.windows(2).any(|pair| pair == want), "{name}: {:?}", launch.shown);
            assert_eq!(launch.shown.iter().filter(|arg| *arg == "c-1").count(), 1, "{name}");
        }
    }

    #[test]
    fn codex_is_told_its_hooks_by_arguments() {
        let profile = builtin("codex").unwrap();
        let launch = plan(&ask(&profile, None));
        assert!(launch.files.is_empty());
        let stop = launch.shown.iter().find(|arg| arg.starts_with("hooks.Stop=")).unwrap();
        assert!(stop.contains(r"'/opt/dog watch' hook codex"), "{stop}");
    }

    #[test]
    fn hooks_are_a_line_for_a_shell_whatever_the_path() {
        let profile = builtin("claude").unwrap();
        let hooks = |dogwatch: PathBuf| {
            let launch = plan(&Ask { dogwatch, ..ask(&profile, None) });
            let json: serde_json::Value = serde_json::from_str(&launch.files[0].1).unwrap();
            let hook = json["hooks"]["UserPromptSubmit"][0]["hooks"][0].clone();
            assert!(hook.get("args").is_none(), "old versions ignore them: {hook}");
            hook["command"].as_str().unwrap().to_owned()
        };
        for (path, want) in [
            ("/opt/dog watch", "'/opt/dog watch' hook claude"),
            ("/it's/$HOME/`x`/\"y\"/a\\b\nc", "'/it'\\''s/$HOME/`x`/\"y\"/a\\b\nc' hook claude"),
        ] {
            assert_eq!(hooks(path.into()), want);
        }
        let not_text = PathBuf::from(OsString::from_vec(b"/\xff/dogwatch".to_vec()));
        assert_eq!(hooks(not_text), "\"$DOGWATCH_BIN\" hook claude");
    }

    #[test]
    fn a_prompt_too_long_for_an_argument_travels_in_its_file() {
        let profile = builtin("claude").unwrap();
        let prompt = "x".repeat(1_000_000);
        let launch = plan(&ask(&profile, Some(&prompt)));
        assert!(launch.prompt_in_file);
        let last = launch.argv.last().unwrap().to_string_lossy();
        assert!(last.contains("/state/sessions/id-1/prompt") && last.len() < 500, "{last}");
    }

    #[test]
    fn a_private_prompt_is_on_no_command_line() {
        let private = |name: &str, prompt: &str, more: &[(&str, &str)]| {
            let profile = builtin(name).unwrap();
            let mut ask = ask(&profile, Some(prompt));
            ask.set_env = more.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            let launch = plan(&ask);
            let shown = launch.argv.iter().any(|arg| arg.to_string_lossy().contains(prompt));
            (launch.prompt_in_file, shown)
        };
        let on: [(&str, &str); 1] = [(PRIVATE_PROMPTS, "1")];
        for name in ["claude", "codex", "gemini", "opencode", "agy"] {
            assert_eq!(private(name, "secret plan", &on), (true, false), "{name}");
            assert_eq!(private(name, "secret plan", &[]), (false, true), "{name}");
            assert_eq!(private(name, "secret plan", &[(PRIVATE_PROMPTS, "")]), (false, true));
            assert_eq!(private(name, "/secret plan", &on), (false, true), "{name}: a command");
        }
        assert_eq!(private("command", "secret plan", &on), (false, false), "it reads its file");
    }

    #[test]
    fn files_of_the_built_in_agents_are_json_with_our_hook_in_it() {
        for name in ["claude", "codex", "gemini", "opencode"] {
            let profile = builtin(name).unwrap();
            for (file, content) in plan(&ask(&profile, None)).files {
                if file.contains(".json") {
                    let json: serde_json::Value = serde_json::from_str(&content).unwrap();
                    assert!(!json.to_string().contains('@'), "{name}/{file}: {json}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn filling_puts_a_value_in_exactly_once(value in ".*") {
            prop_assert_eq!(fill("a@k@b@x@", |k| (k == "k").then(|| value.clone())), format!("a{value}b@x@"));
        }

        #[test]
        fn nul_separated_round_trip(words in prop::collection::vec("[^\0]*", 0..9)) {
            let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
            let bytes = to_nul_separated(words.iter().map(OsString::as_os_str));
            prop_assert_eq!(from_nul_separated(&bytes), words);
        }
    }
}
