//! Events, here and on other hosts.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use jiff::Timestamp;

use super::{duration, since};

/// List recorded events: sessions, status changes, messages, jobs
///
/// Every command writes to this journal. It keeps the last 100 000 events.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch events --since 2h
  dogwatch events fix --kind state
  dogwatch events --follow --json | jq -c 'select(.kind == \"state\")'")]
pub(crate) struct Events {
    /// Name or id of a session [default: all]
    pub(crate) session: Option<String>,
    /// Only events since this time (18:00, 2026-11-15, 2026-11-15T12:00) or within this duration (90s, 2h, 7d)
    #[arg(long, value_name = "TIME|DURATION", value_parser = since)]
    pub(crate) since: Option<Timestamp>,
    /// Only events of this kind: created, started, state, ended, deleted, drift, job …
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only the last N events
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) last: Option<u32>,
    /// Continue with new events until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// Publish local events to an MQTT broker
///
/// Watches all sessions, publishes their states and events, and carries out the orders from other hosts that [fleet]
/// in config.toml allows. Prints the broker's address and problems only. `dogwatch watch` does the same and prints
/// the changes. The broker is set in [mqtt] of ~/.config/dogwatch/config.toml. While it cannot be reached, events are
/// queued and nothing is lost.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch relay &
  dogwatch relay --stop-keeping      # no broker any more: discard the queue")]
pub(crate) struct Relay {
    /// Stop queueing events and discard the queue, then exit
    #[arg(long)]
    pub(crate) stop_keeping: bool,
}

/// Run Mosquitto as an MQTT broker for one machine or a small team
///
/// Configures Mosquitto (which must be installed) and becomes it. Every client needs a password. dogwatch on this machine
/// uses one that is generated for it; other clients use the same (broker/password in the state directory), or `user` and
/// the password in [mqtt] of config.toml, which are required to listen for other machines. Messages are kept in memory:
/// after a restart, hosts publish their states again. For TLS or persistence, configure Mosquitto or any other broker yourself.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch broker
  dogwatch broker --listen 0.0.0.0:1883
  mosquitto_sub -h 127.0.0.1 -u dogwatch -P \"$(cat ~/.local/state/dogwatch/broker/password)\" -t 'dogwatch/#' -v")]
pub(crate) struct Broker {
    /// Address and port to listen on [default: `url` in [mqtt] if it is a loopback address, else 127.0.0.1:1883]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
}

/// Show the sessions of all hosts, or send an order to a host
///
/// Reads the retained messages of the broker; no host is contacted. A host that is offline is shown as offline, with
/// the last known state of its sessions.
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
    /// Redraw the table on every change; with --json, print one line per change
    #[arg(long, short)]
    pub(crate) watch: bool,
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
#[command(after_help = "\
Examples:
  dogwatch fleet send desk/fix 'Now write the tests'
  dogwatch fleet send desk/fix --slash /clear")]
pub(crate) struct FleetSend {
    /// Host and session
    #[arg(value_name = "HOST/SESSION")]
    pub(crate) target: String,
    /// Message
    pub(crate) text: String,
    /// Send a slash command of the agent, such as /clear
    #[arg(long)]
    pub(crate) slash: bool,
    /// Send even while the agent is working
    #[arg(long)]
    pub(crate) now: bool,
    /// How long to wait for the agent
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) common: FleetCommon,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch fleet spawn desk claude --cwd /home/me/api 'Fix the failing test'
  dogwatch fleet spawn desk/fix codex --cwd /home/me/api --unattended")]
pub(crate) struct FleetSpawn {
    /// Host, or host and the name of the new session
    #[arg(value_name = "HOST[/NAME]")]
    pub(crate) target: String,
    /// Agent that is installed on the host
    pub(crate) agent: String,
    /// Prompt for the agent
    pub(crate) prompt: Option<String>,
    /// Folder on the host
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: String,
    /// Model for the agent
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Let the agent act without asking for permission
    #[arg(long)]
    pub(crate) unattended: bool,
    #[command(flatten)]
    pub(crate) common: FleetCommon,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch fleet kill desk/fix
  dogwatch fleet kill --now desk/fix")]
pub(crate) struct FleetKill {
    /// Host and session
    #[arg(value_name = "HOST/SESSION")]
    pub(crate) target: String,
    /// Kill immediately
    #[arg(long)]
    pub(crate) now: bool,
    #[command(flatten)]
    pub(crate) common: FleetCommon,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FleetCommon {
    /// How long the order is valid if the host does not pick it up
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub(crate) expires: Duration,
}
