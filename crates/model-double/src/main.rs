//! `model-double SCENARIO`: serves until killed.
//! `model-double home`: writes a clean home for a real agent.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use model_double::homes::{Agent, Place};
use model_double::parent::Parent;
use model_double::{ModelDouble, Options, Scenario, ScenarioError};

/// A loopback stand-in for hosted model APIs, driven by a scenario file
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Args)]
struct Serve {
    /// The scenario file (TOML)
    #[arg(required = true)]
    scenario: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Append requests to this file as JSON lines
    #[arg(long)]
    log: Option<PathBuf>,
    /// Record the bodies of requests too
    #[arg(long)]
    log_bodies: bool,
    /// End when the parent process ends, or when a piped standard input is closed
    #[arg(long)]
    with_parent: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a clean home for an agent and print its whole environment as KEY=VALUE lines
    Home {
        #[arg(long)]
        agent: AgentName,
        #[arg(long)]
        home: PathBuf,
        #[arg(long)]
        project: PathBuf,
        /// The address a running double printed
        #[arg(long)]
        url: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AgentName {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::Claude => Self::Claude,
            AgentName::Codex => Self::Codex,
            AgentName::Gemini => Self::Gemini,
            AgentName::Opencode => Self::Opencode,
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match (cli.command, &cli.serve.scenario) {
        (Some(command), _) => run_command(command),
        (None, Some(scenario)) => run_server(scenario, &cli.serve),
        (None, None) => Ok(()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nowhere is left to report a standard error that is closed.
            let _ = writeln!(std::io::stderr(), "model-double: {error}");
            match error {
                Failed::Scenario(_) => ExitCode::from(2),
                Failed::Io(_) => ExitCode::FAILURE,
            }
        }
    }
}

fn run_server(scenario: &Path, serve: &Serve) -> Result<(), Failed> {
    let parent = serve.with_parent.then(Parent::watch);
    let scenario = Scenario::load(scenario)?;
    let options =
        Options { port: serve.port, log: serve.log.clone(), log_bodies: serve.log_bodies };
    let double = ModelDouble::start_with(scenario, &options)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", double.url())?;
    stdout.flush()?;
    if let Some(parent) = parent {
        return Ok(parent.wait_for_end()?);
    }
    loop {
        std::thread::park();
    }
}

fn run_command(command: Command) -> Result<(), Failed> {
    let Command::Home { agent, home, project, url } = command;
    let place = Place { home: &home, project: &project, url: &url };
    let mut stdout = std::io::stdout();
    for (key, value) in Agent::from(agent).write_home(place)? {
        writeln!(stdout, "{key}={value}")?;
    }
    Ok(())
}
