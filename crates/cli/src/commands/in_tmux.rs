//! Inside tmux: a popup, a sidebar, and a few characters for the status line.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_core::exit_code;
use dogwatch_engine::observe::listing;
use dogwatch_engine::observe::status::{SessionStatus, StatusReader};
use dogwatch_engine::socket::client;
use dogwatch_engine::watch::labels::Follower;
use dogwatch_engine::watch::stream::Stream;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::stream::{Ask, Follow, StatusLine};
use dogwatch_store::Which;
use jiff::Timestamp;

use crate::args::{Popup, Sidebar, TmuxStatus};
use crate::usage::UsageError;
use crate::{environment, interrupt, ui};

/// Longest wait before checking whether to stop.
const LONGEST: Duration = Duration::from_mins(1);
/// tmux answers at once; a popup stays open as long as it is used.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn popup(context: &Context, args: &Popup) -> Result<u8, Error> {
    let mut ask = around(context)?;
    ask.args(["display-message", "-p", "#{client_name}"]);
    let asked = program::run(ask, b"", PATIENCE).map_err(Error::io("start tmux"))?;
    let client = asked.stdout.text().trim().to_owned();
    let mut tmux = around(context)?;
    // In a popup, tmux does not know any more whose it is.
    tmux.args(["display-popup", "-E", "-c", &client, "-w", &args.width, "-h", &args.height]);
    top(context, &mut tmux, &format!("--once={client}"));
    let status = tmux.status().map_err(Error::io("start tmux"))?;
    Ok(if status.success() { exit_code::OK } else { exit_code::TMUX })
}

pub(crate) fn sidebar(context: &Context, args: &Sidebar) -> Result<u8, Error> {
    let mut tmux = around(context)?;
    tmux.args(["split-window", "-h", "-b", "-f", "-l", &args.width.to_string()]);
    top(context, &mut tmux, "--beside");
    let ended = program::run(tmux, b"", PATIENCE).map_err(Error::io("start tmux"))?;
    if !ended.is_fine() {
        ui::talk(format_args!("error: {}", ended.complaint()));
        return Ok(exit_code::TMUX);
    }
    Ok(exit_code::OK)
}

/// The tmux that this process runs in.
fn around(context: &Context) -> Result<Command, Error> {
    let socket = environment::tmux_around().ok_or(UsageError::NotInTmux)?;
    let mut tmux = Command::new(&context.tmux.program);
    program::withhold_secrets(&mut tmux);
    tmux.arg("-S").arg(socket);
    Ok(tmux)
}

/// Our own command line, each word by itself.
fn top(context: &Context, tmux: &mut Command, mode: &str) {
    tmux.arg("--").arg(&context.dogwatch).arg("--socket").arg(&context.socket);
    tmux.arg("--state-dir").arg(context.state.root()).args(["top", mode]);
}

pub(crate) fn status(context: &Context, args: &TmuxStatus) -> Result<u8, Error> {
    if args.follow {
        return follow(context);
    }
    if let Some(StatusLine { text }) = client::ask(context, Ask::TmuxStatus) {
        ui::line(text);
        return Ok(exit_code::OK);
    }
    let now = Timestamp::now();
    let all = StatusReader::new(context)?.all_of(Which::current(now), now)?;
    let is_shown = |one: &SessionStatus| one.seen.pane.is_some_and(|pane| pane.attached > 0);
    let store = context.store().logged("open the database");
    ui::line(listing::in_short(store.as_ref(), all.iter().collect(), is_shown));
    Ok(exit_code::OK)
}

/// Has the supervisor keep the option current until the tmux server ends.
fn follow(context: &Context) -> Result<u8, Error> {
    // One for each server, however often a configuration starts it.
    let Some(_follower) = Follower::new(context) else {
        ui::talk("another process keeps @dogwatch_status current");
        return Ok(exit_code::OK);
    };
    let follow = Follow { labels: true, status_line: true, ..Follow::default() };
    let mut stream = Stream::open(context, &[], follow)?;
    let stop = interrupt::flag(stream.waker())?;
    while !stop.load(Ordering::Relaxed) {
        match stream.next(LONGEST, &stop) {
            Err(Error::Tmux(error)) if error.is_no_server() => break,
            heard => heard?,
        };
    }
    Ok(exit_code::OK)
}
