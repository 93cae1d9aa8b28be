//! The prompt of a step's session, and the command line that passes it.

use crate::policy::Step;

/// The values for a template.
#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    pub story_id: &'a str,
    /// The directory of story files, relative to the project.
    pub artifacts: &'a str,
    /// The caller's addition; if empty, the step's own.
    pub extra: &'a str,
}

/// Fills a template in one pass: placeholders inside values are not replaced.
pub fn render(template: &str, step: Step<'_>, filling: Filling<'_>) -> String {
    let line = |words: &str, kind: &str| match step.asset(kind) {
        "" => String::new(),
        path => format!("{words}: {path}\n"),
    };
    let extra = if filling.extra.is_empty() { step.default_extra() } else { filling.extra };
    let value = |name: &str| {
        Some(match name {
            "story_id" => filling.story_id.to_owned(),
            "story_prefix" => filling.story_id.replace('.', "-"),
            "label" => step.label().to_owned(),
            "implementation_artifacts" => filling.artifacts.to_owned(),
            "skill_line" => line("READ this skill first", "skill"),
            "workflow_line" => line("READ this workflow file next", "workflow"),
            "instructions_line" => line("Then read", "instructions"),
            "checklist_line" => line("Validate with", "checklist"),
            "template_line" => line("Use template", "template"),
            "extra_instruction" => extra.to_owned(),
            _ => return None,
        })
    };
    fill(template, value)
}

/// Replaces known `{{names}}` by values; placeholders inside values are not replaced.
pub(super) fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        let known = from.find("}}").and_then(|end| Some((value(&from[2..end])?, end + 2)));
        let (put, used) = known.unwrap_or_else(|| ("{{".to_owned(), 2));
        text.push_str(&put);
        rest = &from[used..];
    }
    text.push_str(rest);
    text
}

/// The program that gets the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program<'a> {
    /// A configured command line, used as it is.
    Given(&'a str),
    Claude,
    /// With its own home, so that the user's interactive settings do not interfere.
    Codex {
        project_hash: &'a str,
        auth: &'a str,
    },
}

/// The shell command that runs a step's session.
pub fn command(program: Program<'_>, model: Option<&str>, prompt: &str) -> String {
    let model = model.map(|model| format!(" --model {}", quoted(model))).unwrap_or_default();
    let prompt = always_quoted(prompt);
    match program {
        Program::Given(cli) => format!("unset CLAUDECODE && {cli} {prompt}"),
        Program::Claude => {
            format!("unset CLAUDECODE && claude --dangerously-skip-permissions{model} {prompt}")
        }
        Program::Codex { project_hash, auth } => {
            let auth = quoted(auth);
            format!(
                "(codex_home=$(mktemp -d \"${{TMPDIR:-/tmp}}/sa-codex-home-{project_hash}.XXXXXX\") \
                 && trap 'rm -rf \"$codex_home\"' EXIT \
                 && if [ -f {auth} ]; then ln -sf {auth} \"$codex_home/auth.json\"; fi \
                 && CODEX_HOME=\"$codex_home\" codex exec -s workspace-write \
                 -c 'approval_policy=\"never\"' -c 'model_reasoning_effort=\"high\"'{model} \
                 --disable plugins --disable sqlite --disable shell_snapshot {prompt})"
            )
        }
    }
}

/// One word of a POSIX shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./-_".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        always_quoted(text)
    }
}

fn always_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::{DataFile, Policy, bundled, bundled_file, merge};

    const FILLING: Filling<'_> = Filling { story_id: "1.2", artifacts: "docs", extra: "" };

    fn policy() -> Policy {
        let mut policy = bundled();
        let files = json!({"steps": {"dev": {"assets": {"files": {"skill": "s/SKILL.md", "workflow": ""}}}}});
        merge(&mut policy, files);
        Policy::new(policy).unwrap()
    }

    #[test]
    fn a_template_is_filled_once() {
        let policy = policy();
        let dev = policy.step("dev").unwrap();
        let template = "{{label}} {{story_id}} {{story_prefix}} {{skill_line}}{{workflow_line}}{{implementation_artifacts}} {{zap}} {{extra_instruction}}{{";
        let filling = Filling { extra: "{{story_id}}", ..FILLING };
        assert_eq!(
            render(template, dev, filling),
            "dev-story 1.2 1-2 READ this skill first: s/SKILL.md\ndocs {{zap}} {{story_id}}{{"
        );
        let review = policy.step("review").unwrap();
        let given = render("{{extra_instruction}}", review, FILLING);
        assert_eq!(given, "auto-fix all issues without prompting");
    }

    #[test]
    fn the_built_in_prompts_have_what_a_step_needs() {
        let policy = policy();
        for name in policy.steps() {
            let step = policy.step(&name).unwrap();
            let template = bundled_file(step.data_file(DataFile::Template)).unwrap();
            let prompt = render(template, step, FILLING);
            for word in ["1.2", "docs", "ask"] {
                assert!(prompt.contains(word), "{name} lacks {word}");
            }
            assert!(!prompt.contains("{{"), "{name}");
        }
    }

    #[test]
    fn commands_of_each_program() {
        let hash = Program::Codex { project_hash: "abcd1234", auth: "/home/u v/.codex/auth.json" };
        let codex = command(hash, Some("gpt-5.5"), "It's\nso");
        assert!(codex.contains("ln -sf '/home/u v/.codex/auth.json' \"$codex_home/auth.json\""));
        assert!(codex.ends_with("--disable shell_snapshot 'It'\"'\"'s\nso')"));
        assert!(codex.contains("\"high\"' --model gpt-5.5 --disable plugins"));
        assert_eq!(
            command(Program::Claude, Some("claude-opus-4-7[1m]"), "x y"),
            "unset CLAUDECODE && claude --dangerously-skip-permissions --model 'claude-opus-4-7[1m]' 'x y'"
        );
        assert_eq!(
            command(Program::Given("/opt/claude --foo"), None, ""),
            "unset CLAUDECODE && /opt/claude --foo ''"
        );
    }
}
