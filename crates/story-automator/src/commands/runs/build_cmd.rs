//! `build-cmd <step> <story>`: the command of a step's session.

use crate::session::agent;
use dogwatch_bmad::format::prompt::{self, Filling, Program};
use dogwatch_bmad::format::slug::short_hash;
use dogwatch_bmad::policy::DataFile;
use dogwatch_bmad::policy::fault::PolicyFault;
use dogwatch_bmad::policy::load::{self, Need};
use dogwatch_bmad::{Project, Stories};

use super::{Call, Reply, project};
use crate::call::is_value;

const USAGE: &str = "Usage: tmux-wrapper <action> [args...]\n\n  build-cmd <step> <story_id> [--agent TYPE] [--model ID] \
    [--state-file FILE] [extra words]\n";
const OPTIONS: [&str; 3] = ["--agent", "--model", "--state-file"];

/// The arguments; `extra` are the words that belong to no option.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked<'a> {
    step: &'a str,
    story: &'a str,
    agent: Option<&'a str>,
    model: Option<&'a str>,
    state_file: Option<&'a str>,
    extra: String,
}

/// The command of a step's session; `call` has the words after `build-cmd`.
pub(crate) fn build_cmd(call: &Call) -> Reply {
    if call.asks_for_help() {
        return Reply::text(USAGE);
    }
    let (Some(step), Some(story)) = (call.word(0), call.word(1)) else {
        return Reply::refused(USAGE);
    };
    let asked = match read(step, story, call.words.get(2..).unwrap_or_default()) {
        Ok(asked) => asked,
        Err(words) => return Reply::refused(format!("{words}\n")),
    };
    match command(&project::here(), &asked) {
        Ok(command) => Reply::line(command),
        Err(words) => Reply::refused(format!("{words}\n")),
    }
}

fn read<'a>(step: &'a str, story: &'a str, words: &'a [String]) -> Result<Asked<'a>, String> {
    let mut asked = Asked { step, story, ..Asked::default() };
    let mut extra = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if !OPTIONS.contains(&word) {
            extra.push(word);
            continue;
        }
        let value = words.next().filter(|value| is_value(value));
        let value = value.ok_or_else(|| format!("{word} requires a value"))?;
        match word {
            "--agent" => asked.agent = Some(value),
            "--model" => asked.model = Some(value),
            _ => asked.state_file = Some(value),
        }
    }
    asked.extra = extra.join(" ");
    Ok(asked)
}

fn command(project: &Project, asked: &Asked) -> Result<String, String> {
    let words = |fault: PolicyFault| fault.to_string();
    let policy = load::load(project, asked.state_file, Need::Skills).map_err(words)?;
    let step = policy.step(asked.step).map_err(words)?;
    let artifacts =
        Stories::new(&project.root).artifacts_below_root().map_err(|e| e.to_string())?;
    let filling = Filling { story_id: asked.story, artifacts: &artifacts, extra: &asked.extra };
    let prompt = prompt::render(step.data_text(DataFile::Template), step, filling);

    let wishes = project::wishes();
    let agent = agent::of_session(project, asked.agent, &wishes);
    let given = wishes.command.as_deref().filter(|_| wishes.agent.is_none());
    let hash = short_hash(project.root.to_string_lossy().as_bytes());
    let home = project.home.clone().unwrap_or_default();
    let auth = home.join(".codex/auth.json").display().to_string();
    let program = match (given, agent.as_str()) {
        (Some(given), _) => Program::Given(given),
        (None, "codex") => Program::Codex { project_hash: &hash, auth: &auth },
        _ => Program::Claude,
    };
    Ok(prompt::command(program, asked.model, &prompt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &str) -> Vec<String> {
        words.split(' ').map(ToOwned::to_owned).collect()
    }

    #[test]
    fn options_may_be_anywhere() {
        let given = words("only --agent codex check --model m tests");
        let asked = read("dev", "1.2", &given).unwrap();
        assert_eq!((asked.agent, asked.model, asked.state_file), (Some("codex"), Some("m"), None));
        assert_eq!(asked.extra, "only check tests");
        for option in ["--model", "--agent --model", "--state-file"] {
            let name = option.split(' ').next().unwrap();
            let refused = read("dev", "1.2", &words(option)).unwrap_err();
            assert_eq!(refused, format!("{name} requires a value"));
        }
    }
}
