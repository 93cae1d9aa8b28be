//! Other projects' detectors on our screens, as they come from their registries, each asked by a small driver of ours.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::corpus::{Corpus, Input, Recording};

/// States that every detector has a word for.
const COMPARED: [&str; 3] = ["working", "waiting", "idle"];

/// One detector, and what it said of each screen; `None` where it does not know the agent.
#[derive(Debug)]
pub struct Answers {
    pub name: String,
    states: Vec<Option<String>>,
}

/// A screen as a driver gets it.
#[derive(Debug, Serialize)]
struct Question<'a> {
    agent: &'a str,
    width: u16,
    height: u16,
    text: &'a str,
}

#[derive(Debug, Deserialize)]
struct Answer {
    state: Option<String>,
}

/// A line of `peers/versions`.
#[derive(Debug)]
struct Peer {
    name: String,
    version: String,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    all: usize,
    right: usize,
    falsely_working: usize,
    missed_dialogs: usize,
}

/// The table, as Markdown, and what could not be asked.
pub fn compare(corpora: &[Corpus]) -> io::Result<String> {
    let screens: Vec<&Recording> = corpora
        .iter()
        .flat_map(|corpus| &corpus.recordings)
        .filter(|recording| COMPARED.contains(&recording.truth().state))
        .collect();
    let mut answers = vec![
        ours("dogwatch", &screens, Input::Styled),
        ours("dogwatch, text alone", &screens, Input::Bare),
    ];
    let mut missing = Vec::new();
    for peer in peers()? {
        let title = format!("{} {}, text alone", peer.name, peer.version);
        match ask(&peer, &screens) {
            Ok(states) => answers.push(Answers { name: title, states }),
            Err(error) => missing.push(format!("{} {}: {error}", peer.name, peer.version)),
        }
    }
    let mut text = String::new();
    table(&mut text, &screens, &answers).map_err(io::Error::other)?;
    for peer in missing {
        writeln!(text, "\nNot asked: {peer}").map_err(io::Error::other)?;
    }
    Ok(text)
}

fn ours(name: &str, screens: &[&Recording], input: Input) -> Answers {
    let said = |recording: &&Recording| Some(recording.read(input).state.as_str().to_owned());
    Answers { name: name.to_owned(), states: screens.iter().map(said).collect() }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

fn peers() -> io::Result<Vec<Peer>> {
    let text = fs::read_to_string(folder().join("versions"))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let peer = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, _registry, _package) = (words.next()?, words.next()?, words.next()?);
        Some(Peer { name: name.to_owned(), version: words.next()?.to_owned() })
    };
    Ok(lines.filter_map(peer).collect())
}

/// Where `peers/install` put it.
fn installed(peer: &Peer) -> io::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).ok_or_else(|| io::Error::other("HOME is not set"))?;
    let folder = cache.join("dogwatch/peers").join(format!("{}-{}", peer.name, peer.version));
    let missing = || io::Error::other("not installed; run lab/scoreboard/peers/install");
    if folder.is_dir() { Ok(folder) } else { Err(missing()) }
}

fn driver(peer: &Peer) -> io::Result<Command> {
    let installed = installed(peer)?;
    match peer.name.as_str() {
        "ccmanager" => {
            let mut command = Command::new("node");
            command.arg(folder().join("ccmanager.mjs")).arg(installed);
            Ok(command)
        }
        "cao" => {
            let mut command = Command::new(installed.join("bin/python3"));
            command.arg(folder().join("cao.py"));
            Ok(command)
        }
        name => Err(io::Error::other(format!("there is no driver for {name}"))),
    }
}

fn ask(peer: &Peer, screens: &[&Recording]) -> io::Result<Vec<Option<String>>> {
    let mut child =
        driver(peer)?.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("its driver has no pipes"));
    };
    let mut questions = String::new();
    for recording in screens {
        let text = String::from_utf8_lossy(&recording.plain);
        let facts = &recording.facts;
        let question = Question {
            agent: &facts.agent,
            width: facts.width,
            height: facts.height,
            text: text.trim_end_matches('\n'),
        };
        questions.push_str(&serde_json::to_string(&question)?);
        questions.push('\n');
    }
    let writer = thread::spawn(move || input.write_all(questions.as_bytes()));
    let answer = |line: io::Result<String>| Ok(serde_json::from_str::<Answer>(&line?)?.state);
    let states: Vec<_> = BufReader::new(output).lines().map(answer).collect::<io::Result<_>>()?;
    let status = child.wait()?;
    writer.join().map_err(|_| io::Error::other("its driver was not fed"))??;
    if !status.success() || states.len() != screens.len() {
        let found = states.len();
        return Err(io::Error::other(format!("its driver answered {found} times and {status}")));
    }
    Ok(states)
}

fn table(text: &mut String, screens: &[&Recording], answers: &[Answers]) -> fmt::Result {
    writeln!(text, "| agent | detector | right | of | | false `working` | missed dialogs |")?;
    writeln!(text, "| --- | --- | --: | --: | --: | --: | --: |")?;
    let mut agents: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, recording) in screens.iter().enumerate() {
        agents.entry(&recording.facts.agent).or_default().push(at);
    }
    for (agent, places) in agents {
        for detector in answers {
            let tally = tally(screens, detector, &places);
            let Tally { all, right, falsely_working, missed_dialogs } = tally;
            let Some(percent) = (100 * right).checked_div(all) else { continue };
            let name = &detector.name;
            writeln!(
                text,
                "| {agent} | {name} | {right} | {all} | {percent} % | {falsely_working} | {missed_dialogs} |"
            )?;
        }
    }
    Ok(())
}

fn tally(screens: &[&Recording], detector: &Answers, places: &[usize]) -> Tally {
    let mut tally = Tally::default();
    for at in places {
        let Some(said) = detector.states.get(*at).and_then(Option::as_deref) else { continue };
        let truth = screens[*at].truth().state;
        tally.all += 1;
        tally.right += usize::from(said == truth);
        tally.falsely_working += usize::from(said == "working" && truth != "working");
        tally.missed_dialogs += usize::from(truth == "waiting" && said != "waiting");
    }
    tally
}
