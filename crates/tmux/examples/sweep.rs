//! Measures reading 200 panes: control mode, one chained process, a process for each.
//!
//! Runs on a private server and needs nothing but tmux: `cargo run --release --example sweep`.

#![expect(clippy::print_stdout, reason = "it is a report")]

use std::time::{Duration, Instant};

use dogwatch_tmux::control::Control;
use dogwatch_tmux::{CaptureOptions, Command, Error, PaneId, Reply, Server, Socket};

const PANES: usize = 200;
const SCREEN: CaptureOptions = CaptureOptions { lines: None, ansi: false, joined: false };

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let mut server = Server::new(Socket::Path(dir.path().join("s")));
    server.config = Some("/dev/null".into());
    let report = measure(&server);
    // By its own socket, whatever the result.
    server.run_one(Command::new("kill-server"))?;
    Ok(report?)
}

fn measure(server: &Server) -> Result<(), Error> {
    let panes = fill(server)?;
    let commands: Vec<_> = panes.iter().map(|&pane| SCREEN.command(pane)).collect();
    let (control, _notes) = Control::open(server)?;

    let pipelined = || control.request(&commands)?.into_iter().collect();
    let chained = || server.capture_many(&panes, SCREEN)?.into_iter().collect();
    let each = || panes.iter().map(|&pane| server.capture(pane, SCREEN)).collect();

    let (control_time, seen) = median(31, pipelined)?;
    let (chain_time, seen_chained) = median(31, chained)?;
    let (each_time, seen_each) = median(5, each)?;
    let bytes: usize = seen.iter().map(|reply| reply.bytes().len()).sum();
    println!("{PANES} panes, {} kB of text, medians", bytes / 1000);
    println!("  the same text by all ways: {}", seen == seen_chained && seen == seen_each);
    for (way, time) in [
        ("control mode, one write", control_time),
        ("chained processes", chain_time),
        ("a process for each pane", each_time),
    ] {
        let ratio = each_time.as_secs_f64() / time.as_secs_f64();
        println!("  {way:<24} {:>8.2} ms   {ratio:>5.1}x", time.as_secs_f64() * 1000.0);
    }
    Ok(())
}

/// Sessions with a full screen each.
fn fill(server: &Server) -> Result<Vec<PaneId>, Error> {
    let new = |at: usize| {
        Command::new("new-session")
            .flag('d')
            .option('s', format!("pane-{at}"))
            .option('x', "120")
            .option('y', "40")
            .args([
                "sh",
                "-c",
                "seq -f 'line %g of this screen, with some text in it' 1 60; exec cat",
            ])
    };
    for at in (0..PANES).collect::<Vec<_>>().chunks(40) {
        server.run(&at.iter().map(|&at| new(at)).collect::<Vec<_>>())?;
    }
    let panes: Vec<_> = server.panes()?.iter().map(|row| row.pane_id).collect();
    let begun = Instant::now();
    let printed = |reply: &Result<Reply, Error>| {
        reply.as_ref().is_ok_and(|reply| reply.text().contains("line 60"))
    };
    while !server.capture_many(&panes, SCREEN)?.iter().all(printed) {
        if begun.elapsed() > Duration::from_secs(30) {
            return Err(Error::Timeout { command: "seq".into(), after: begun.elapsed() });
        }
        // sleep: poll interval.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(panes)
}

fn median(
    rounds: usize,
    mut run: impl FnMut() -> Result<Vec<Reply>, Error>,
) -> Result<(Duration, Vec<Reply>), Error> {
    let mut last = run()?;
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begun = Instant::now();
        last = run()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok((times[rounds / 2], last))
}
