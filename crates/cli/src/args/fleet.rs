//! What happened, here and on other hosts.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use jiff::Timestamp;

use super::duration;

/// List what happened: sessions made, ended and put away, changes of state, messages, jobs
///
/// From the journal, which every command writes to. The last 100 000 events are kept.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch events --since 2h
  dogwatch events fix --kind state
  dogwatch events --follow --json | jq -c 'select(.kind == \"state\")'")]
pub(crate) struct Events {
    /// Name or id of a session [default: all]
    pub(crate) session: Option<String>,
    /// Only events since then: a time (2026-11-15T12:00:00Z) or a span (90s, 2h, 7d)
    #[arg(long, value_name = "TIME|SPAN", value_parser = since)]
    pub(crate) since: Option<Timestamp>,
    /// Only this kind: created, started, state, ended, deleted, drift, job …
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only the last N events
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) last: Option<u32>,
    /// Go on with what happens from now on, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print a JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Bring what happens here to an MQTT broker, and carry out what other hosts may ask
///
/// Watches all sessions as `dogwatch watch` does, which publishes too when a broker is set up, and prints only where to, and trouble.
/// The broker is that of [mqtt] in ~/.config/dogwatch/config.toml. While it cannot be reached, everything else works and
/// nothing is lost.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch relay &
  dogwatch relay --stop-keeping      # no broker any more: forget what waits for one")]
pub(crate) struct Relay {
    /// Keep no more events for a broker, and forget those that wait; then end
    #[arg(long)]
    pub(crate) stop_keeping: bool,
}

/// Run a small MQTT broker, for one machine or a small team
///
/// Speaks MQTT 3.1.1 and 5 on one port. It keeps everything in memory: after a restart, hosts publish their states again.
/// Every client needs a password. dogwatch on this machine uses one that is made for it; other clients use the same
/// (broker/password in the state directory), or `user` and the password in [mqtt] of config.toml, which are required to
/// listen for other machines. For TLS, or more than a few hosts, use Mosquitto or any other broker.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch broker
  dogwatch broker --listen 0.0.0.0:1883
  mosquitto_sub -h 127.0.0.1 -u dogwatch -P \"$(cat ~/.local/state/dogwatch/broker/password)\" -t 'dogwatch/#' -v")]
pub(crate) struct Broker {
    /// Address and port to listen on [default: those of `url` in [mqtt] if it is on loopback, else 127.0.0.1:1883]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
}

/// Show the sessions of all hosts, or ask something of a host
///
/// From the broker's retained messages alone: nothing is asked of the hosts, and one that is gone is shown as gone, with what
/// was last said of its sessions.
#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  dogwatch fleet
  dogwatch fleet --watch
  dogwatch fleet send desk/fix 'Now write the tests'
  dogwatch fleet spawn desk claude --cwd /home/me/api 'Fix the failing test'
  dogwatch fleet kill desk/fix

A host carries out only what [fleet] allow = [\"send\", \"spawn\", \"kill\"] in its config.toml names, starts agents
only below the folders of [fleet.spawn], and takes orders only from a broker that asks for a password."
)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) order: Option<FleetOrder>,
    /// Draw the table again whenever there is news; with --json, a line for each change
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetOrder {
    /// Send a message to an agent on another host
    Send(FleetSend),
    /// Start an agent on another host
    Spawn(FleetSpawn),
    /// End a session on another host
    Kill(FleetKill),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FleetSend {
    /// HOST/SESSION
    pub(crate) target: String,
    /// The message
    pub(crate) text: String,
    /// A command of the agent's own, such as /clear
    #[arg(long)]
    pub(crate) slash: bool,
    /// Also while it works
    #[arg(long)]
    pub(crate) now: bool,
    /// How long the agent is waited for
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) common: FleetCommon,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FleetSpawn {
    /// HOST, or HOST/NAME for a session of that name
    pub(crate) target: String,
    /// An agent that the host knows
    pub(crate) agent: String,
    /// What it is to do
    pub(crate) prompt: Option<String>,
    /// Folder on the host
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: String,
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Let the agent work without asking
    #[arg(long)]
    pub(crate) unattended: bool,
    #[command(flatten)]
    pub(crate) common: FleetCommon,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FleetKill {
    /// HOST/SESSION
    pub(crate) target: String,
    /// Without being polite first
    #[arg(long)]
    pub(crate) now: bool,
    #[command(flatten)]
    pub(crate) common: FleetCommon,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FleetCommon {
    /// How long the order holds if the host does not take it
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub(crate) expires: Duration,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Fleet {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.order {
            None => self.json,
            Some(FleetOrder::Send(a)) => a.common.json,
            Some(FleetOrder::Spawn(a)) => a.common.json,
            Some(FleetOrder::Kill(a)) => a.common.json,
        }
    }
}

fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let problem = "neither a time such as 2026-11-15T12:00:00Z nor a span such as 2h";
    let span = duration(text).map_err(|_| problem.to_owned())?;
    Timestamp::now().checked_sub(span).map_err(|_| problem.to_owned())
}
