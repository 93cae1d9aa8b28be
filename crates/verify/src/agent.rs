//! What differs between agents: keys, arguments, and how their prompt looks.

use model_double::homes::Agent;

/// The agents that can be verified.
pub fn named(name: &str) -> Option<Agent> {
    Agent::ALL.into_iter().find(|agent| agent.name() == name)
}

/// How one agent is operated.
#[derive(Debug, Clone, Copy)]
pub struct Ways {
    /// One of these is on the screen when it takes input.
    pub ready: &'static [&'static str],
    /// Leaves it.
    pub exit: &'static str,
    /// A rule of the scenario whose answer quotes this agent's dialogs.
    pub quote: &'static str,
    /// So that it asks for permission.
    pub careful: Start,
    /// So that it does not try again when its model fails.
    pub once: Start,
    pub plan: Plan,
    /// Names of the tool by which it asks a question.
    pub ask_tools: &'static [&'static str],
    /// Why it asks nobody whether to trust a folder.
    pub no_trust: Option<&'static str>,
    /// Why its failures are not played.
    pub no_failures: Option<&'static str>,
    /// Why it leaves nothing in the background.
    pub no_background: Option<&'static str>,
    /// Why a conversation is not continued.
    pub no_resume: Option<&'static str>,
}

/// Arguments and variables of a start.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    pub args: &'static [&'static str],
    pub env: &'static [(&'static str, &'static str)],
}

const PLAIN: Start = Start { args: &[], env: &[] };

/// How a plan to be approved comes about.
#[derive(Debug, Clone, Copy)]
pub enum Plan {
    /// Started with these arguments, it is asked for this.
    Args(&'static [&'static str], &'static str),
    /// Once this key has put this on the screen, it is asked for that.
    Key(&'static str, &'static str, &'static str),
    None(&'static str),
}

pub fn ways(agent: Agent) -> Ways {
    match agent {
        Agent::Claude => Ways {
            ready: &["\n❯", "\n>", "│ >", "│ ❯"],
            exit: "/exit",
            quote: "[quote-claude]",
            careful: PLAIN,
            once: Start { args: &[], env: &[("CLAUDE_CODE_MAX_RETRIES", "0")] },
            plan: Plan::Args(&["--permission-mode", "plan"], "[plan]"),
            ask_tools: &["AskUserQuestion"],
            no_trust: None,
            no_failures: None,
            no_background: None,
            no_resume: None,
        },
        Agent::Codex => Ways {
            ready: &["\n›", "\n▌"],
            exit: "/quit",
            quote: "[quote-codex]",
            careful: Start {
                args: &["--sandbox", "read-only", "--ask-for-approval", "on-request"],
                env: &[],
            },
            once: Start {
                args: &[
                    "-c",
                    "model_providers.double.request_max_retries=0",
                    "-c",
                    "model_providers.double.stream_max_retries=0",
                ],
                env: &[],
            },
            plan: Plan::Key("BTab", "Plan mode", "[proposed-plan]"),
            ask_tools: &["request_user_input"],
            no_trust: None,
            no_failures: None,
            no_background: None,
            no_resume: None,
        },
        Agent::Gemini => Ways {
            ready: &["Type your message"],
            exit: "/quit",
            quote: "[quote-claude]",
            careful: PLAIN,
            once: PLAIN,
            plan: Plan::None("the double cannot lead it into a plan"),
            ask_tools: &["ask_user"],
            no_trust: Some("folder trust is off in the private home"),
            no_failures: Some("it tries again for longer than a verification takes"),
            no_background: Some("it has no background shells that outlast a turn"),
            no_resume: None,
        },
        Agent::Opencode => Ways {
            ready: &["Ask anything", "ctrl+p", "tab agents"],
            exit: "/exit",
            quote: "[quote-claude]",
            careful: Start { args: &[], env: &[("OPENCODE_PERMISSION", r#"{"bash":"ask"}"#)] },
            once: PLAIN,
            plan: Plan::None("it has no plan to be approved"),
            ask_tools: &["question"],
            no_trust: Some("it asks nobody whether to trust a folder"),
            no_failures: Some("it tries again for longer than a verification takes"),
            no_background: Some("it has no background shells"),
            no_resume: Some("its conversations are not known by an id"),
        },
    }
}
