//! `stop-hook` and `ensure-stop-hook`: keep an agent that leads a run from stopping in the middle of it.

use std::path::{Path, PathBuf};

use crate::answers::{ClaudeHook, CodexHook, Decision, HookRefused, failure, success};
use crate::reply::pretty_raw;
use crate::stop_hook::{self, Codex, NotInstalled};
use dogwatch_bmad::format::prompt::quoted;
use dogwatch_bmad::project::run_marker;
use dogwatch_bmad::{Project, marker_path};
use dogwatch_engine::actions::hook;

use super::{Call, Reply, no, project};

const RECOVERY: &str = "data/stop-hook-recovery.md";

/// No output means that stopping is allowed. Errors allow it too: a failing hook must not block an agent.
pub(super) fn stop(_call: &Call) -> Reply {
    // The payload is not needed, but the agent must not write into a closed pipe.
    let _ = hook::read_payload(std::io::stdin());
    let project = project::here();
    if project::is_child() {
        return Reply::default();
    }
    let Some(left) = run_marker::stories_left(&project) else { return Reply::default() };
    let what_to_do = match recovery(&project) {
        Some(document) => format!("Read {}", document.display()),
        None => advice(&project),
    };
    let reason = format!("Story Automator active ({left} stories remaining). {what_to_do}");
    Reply::text(format!("{}\n", pretty_raw(&Decision { decision: "block", reason })))
}

/// The instructions of the installed skill.
fn recovery(project: &Project) -> Option<PathBuf> {
    let own = project.own_skill.as_ref().map(|skill| skill.join(RECOVERY));
    let installed = [".agents", ".claude", ".codex"]
        .map(|folder| project.root.join(folder).join("skills/bmad-story-automator").join(RECOVERY));
    own.into_iter().chain(installed).find(|document| document.is_file())
}

/// The instructions without an installed skill.
fn advice(project: &Project) -> String {
    format!(
        "Go on with the run: a finished story or session, an error, a choice or a doubt is no reason to stop; decide \
         and carry on. If something outside is down, wait 1, 2, 4, 8 and 16 minutes for it. Only if every retry is used \
         up, or the user asked for it: set the state document's status to PAUSED, remove {} and say why you stop.",
        marker_path(project).display()
    )
}

/// `ensure-stop-hook [--settings FILE] --command WORDS… [--timeout SECONDS]`
pub(super) fn ensure(call: &Call) -> Reply {
    let project = project::here();
    let words = command_words(call);
    let timeout = match call.option("--timeout").map(|value| value.trim().parse::<u64>()) {
        None => 10,
        Some(Ok(seconds)) if seconds > 0 => seconds,
        Some(_) => return no("invalid_timeout"),
    };
    if words.is_empty() {
        return no("missing_required_args");
    }
    let rest = if words.len() > 1 { words[1..].join(" ") } else { "stop-hook".to_owned() };
    let root = quoted(&project.root.display().to_string());
    let command = format!("env PROJECT_ROOT={root} {} {rest}", project::helper());
    let provider = dogwatch_bmad::provider(&project);
    let reply = if provider == "codex" {
        stop_hook::install_codex(&project, &command, timeout)
            .map(|done| Reply::json(&success(codex(&done))))
    } else {
        let Some(settings) =
            call.option("--settings").filter(|path| !path.is_empty() && !path.starts_with("--"))
        else {
            return no("missing_required_args");
        };
        let settings = std::path::absolute(settings).unwrap_or_else(|_| PathBuf::from(settings));
        stop_hook::install_claude(&project, &settings, &command, timeout)
            .map(|done| Reply::json(&success(claude(&done.path, done.changed))))
    };
    match reply {
        Ok(reply) => reply,
        Err(error) => refused(&error, provider),
    }
}

/// All words after `--command` up to the next option; a single word is split.
fn command_words<'a>(call: &Call<'a>) -> Vec<&'a str> {
    let after = call.words.iter().skip_while(|word| *word != "--command").skip(1);
    let words = after.take_while(|word| !word.starts_with("--"));
    words.flat_map(|words| words.split_whitespace()).collect()
}

fn claude<'a>(path: &Path, changed: Option<&'a str>) -> ClaudeHook<'a> {
    let message = match changed {
        Some(_) => {
            "The stop hook is in Claude's settings now. Restart Claude so that it is loaded."
        }
        None => "The stop hook is in Claude's settings.",
    };
    ClaudeHook {
        changed: changed.is_some(),
        reason: changed.unwrap_or("already_configured"),
        provider: "claude",
        path: path.display().to_string(),
        message,
    }
}

fn codex(done: &Codex) -> CodexHook<'static> {
    let changed = done.hooks.changed.is_some() || done.config.changed.is_some();
    let (reason, state, message) = match (changed, done.trusted) {
        (true, true) => (
            "codex_hook_configured",
            "configured",
            "The stop hook is in .codex/hooks.json and hooks are on in .codex/config.toml. Restart Codex so that it is loaded.",
        ),
        (true, false) => (
            "codex_hook_configured",
            "configured",
            "The stop hook is in .codex/hooks.json and hooks are on in .codex/config.toml. Trust this project, then restart Codex.",
        ),
        (false, true) => (
            "already_configured",
            "verified",
            "The stop hook is in place, and the project is trusted.",
        ),
        (false, false) => (
            "pending_trust",
            "pending_trust",
            "The stop hook is in place, but this project is not yet trusted: start Codex in it and answer yes.",
        ),
    };
    CodexHook {
        changed,
        reason,
        provider: "codex",
        path: done.hooks.path.display().to_string(),
        hooks_path: done.hooks.path.display().to_string(),
        config_path: done.config.path.display().to_string(),
        hooks_changed: done.hooks.changed.is_some(),
        config_changed: done.config.changed.is_some(),
        hooks_reason: done.hooks.changed.unwrap_or("already_configured"),
        config_reason: done.config.changed.unwrap_or("already_enabled"),
        trusted: done.trusted,
        verification_state: state,
        message,
    }
}

fn refused(error: &NotInstalled, provider: &str) -> Reply {
    let path = error.path().display().to_string();
    let rest = HookRefused { path, provider, message: error.message() };
    Reply::json(&failure(&error.to_string(), rest)).failed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_be_one_word_or_many() {
        for given in [
            vec!["--command", "sa stop-hook", "--timeout", "3"],
            vec!["--command", "sa", "stop-hook", "--x"],
        ] {
            let words: Vec<String> = given.iter().map(ToString::to_string).collect();
            assert_eq!(command_words(&Call::new("ensure-stop-hook", &words)), ["sa", "stop-hook"]);
        }
    }
}
