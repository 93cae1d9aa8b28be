use std::io::Read;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::child::{self, Guard};
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const EXISTS: &str = "dogwatch exists, to first byte";
const LS: &str = "dogwatch ls, to first byte";

/// From the start of the binary to the first byte that its tmux sends to the server.
///
/// The "server" is our own socket: a tmux client introduces itself before it expects anything, so
/// its first byte can be awaited without knowing the protocol. Then the connection is closed.
pub(crate) fn measure(world: &World, rounds: usize) -> Result<Group, Error> {
    let socket = world.path().join("ear.sock");
    let ear = UnixListener::bind(&socket).map_err(Error::io("listen on a socket"))?;
    let timed = |name: &str, mut command: Command| {
        let ear = &ear;
        command.env("DOGWATCH_TMUX", &socket).stdout(Stdio::null()).stderr(Stdio::null());
        Contestant::new(name, move || first_byte(ear, &mut command))
    };
    let mut bare = world.command("tmux");
    bare.arg("-S").arg(&socket).args(["has-session", "-t", "=x:"]);
    let contestants = vec![
        timed("tmux has-session, to first byte", bare),
        timed(EXISTS, world.dogwatch(["exists", "x"])),
        timed(LS, world.dogwatch(["ls"])),
    ];
    Ok(Group {
        title: "start".into(),
        runners: race(world, contestants, rounds)?,
        targets: vec![
            Target { runner: EXISTS, goal: Goal::Milliseconds(3.0) },
            Target { runner: LS, goal: Goal::Milliseconds(3.0) },
        ],
    })
}

fn first_byte(ear: &UnixListener, command: &mut Command) -> Result<Duration, Error> {
    let begun = Instant::now();
    let mut child = Guard(child::start(command)?);
    child::wait_readable(ear, begun, command)?;
    let (mut line, _) = ear.accept().map_err(Error::io("take a connection"))?;
    child::wait_readable(&line, begun, command)?;
    let took = begun.elapsed();
    let _ = line.read(&mut [0; 16 * 1024]).map_err(Error::io("read from tmux"))?;
    drop(line);
    // It reports that it could not talk to this server, which does not matter.
    child.0.wait().map_err(Error::io("wait for a command"))?;
    Ok(took)
}
