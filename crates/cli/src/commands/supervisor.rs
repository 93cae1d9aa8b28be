use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_core::exit_code;
use dogwatch_core::record::ProcessIdent;
use dogwatch_engine::error::SystemError;
use dogwatch_engine::observe::processes;
use dogwatch_engine::supervisor::{self, End, Found};
use dogwatch_engine::{Context, Error, summon};
use jiff::tz::TimeZone;
use rustix::process::Signal;

use crate::args::{Deliver, SupervisorArgs, SupervisorVerb};
use crate::{interrupt, ui};

/// How long the supervisor may take for the effect in hand.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn supervisor(context: &Context, args: &SupervisorArgs) -> Result<u8, Error> {
    match &args.verb {
        None => {}
        Some(SupervisorVerb::Serve) => return serve(context),
        Some(SupervisorVerb::Restart) => restart(context)?,
    }
    show(context)
}

fn show(context: &Context) -> Result<u8, Error> {
    let shown = supervisor::report(context)?;
    if ui::prints_json() {
        ui::json(&shown);
        return Ok(exit_code::OK);
    }
    match &shown.serving {
        Some(serving) => {
            let since = serving.since.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S");
            ui::line(format_args!("supervisor: pid {}, since {since}", serving.pid));
            let program = serving.program.display().to_string();
            ui::line(format_args!(
                "program:    {}, version {}",
                ui::harmless(program),
                serving.version
            ));
        }
        None if shown.serves => ui::line("supervisor: starting"),
        None => ui::line("supervisor: none; it starts when it is needed"),
    }
    let socket = shown.socket.display().to_string();
    ui::line(format_args!("tmux:       {}", ui::harmless(socket)));
    ui::line(format_args!("sessions:   {}", shown.sessions));
    match &shown.health {
        Some(health) => ui::line(format_args!("clients:    {}", health.clients)),
        None if shown.serving.is_some() => ui::line("clients:    it does not answer"),
        None => {}
    }
    let open = &shown.open;
    ui::line(format_args!(
        "open:       {} messages, {} jobs, {} limits, {} callbacks",
        open.messages, open.jobs, open.limits, open.callbacks
    ));
    for one in &shown.aside {
        let at = one.at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string();
        ui::line(format_args!("set aside:  {at} {}", ui::harmless(one.what.clone())));
    }
    for error in shown.health.iter().flat_map(|health| &health.errors) {
        let at = error.at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
        ui::line(format_args!("error:      {at} {}", ui::harmless(error.message.clone())));
    }
    Ok(exit_code::OK)
}

/// Ends the one that serves, and starts the next unless a runner has.
fn restart(context: &Context) -> Result<(), Error> {
    if let Found::Serving(serving) = supervisor::find(context)? {
        let before = ProcessIdent { pid: serving.pid, start: serving.start };
        processes::signal(before.pid, Signal::TERM);
        processes::wait_gone(before, PATIENCE);
        if processes::is_alive(before) {
            let (pid, patience) = (before.pid, PATIENCE.as_secs());
            return Err(SystemError::SupervisorHangs { pid, patience }.into());
        }
    }
    summon::ensure(context)?;
    supervisor::wait_for(context, PATIENCE)
}

fn serve(context: &Context) -> Result<u8, Error> {
    // No terminal of those who started it, and none of its signals. Started by hand it may lead a group, and stays there.
    rustix::process::setsid().logged("leave the terminal");
    let lock = io::stdin().as_fd().try_clone_to_owned().logged("take the lock over");
    // What this process starts must not have the lock: it would hold it when we are gone.
    let nothing = File::open("/dev/null").map_err(Error::io("open /dev/null"))?;
    rustix::stdio::dup2_stdin(&nothing)
        .map_err(|error| Error::io("leave the lock")(error.into()))?;
    match supervisor::serve(context, lock.map(File::from), |waker| {
        interrupt::flag(move || waker.wake())
    })? {
        End::Replaced(lock) => {
            let mut next =
                Command::new(program::own_path().map_err(Error::io("find the program"))?);
            next.arg("--state-dir").arg(context.state.root());
            next.arg("--socket").arg(&context.socket).args(["supervisor", "serve"]);
            // Returns only if it fails; then a runner or a command starts the next one.
            Err(Error::io("start the new program")(next.stdin(Stdio::from(lock)).exec()))
        }
        End::NothingLeft | End::Other | End::Asked => Ok(exit_code::OK),
    }
}

/// What runners of version 0.1 call when a message waits for their session.
pub(crate) fn deliver(context: &Context, args: &Deliver) -> u8 {
    summon::poke(context, &args.session);
    exit_code::OK
}
