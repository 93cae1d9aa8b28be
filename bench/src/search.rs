//! `dogwatch search` over generated transcripts: how long the index takes, and how long an answer does.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::child;
use crate::error::Error;
use crate::report;
use crate::timing::{Summary, milliseconds};
use crate::world::World;

/// How long `dogwatch search` takes, over transcripts as Claude Code writes them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of conversations
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    conversations: usize,
    /// Size of all transcripts together
    #[arg(long, value_name = "MB", default_value_t = 1_000)]
    megabytes: u64,
    /// Timed rounds of each question
    #[arg(long, value_name = "N", default_value_t = 20)]
    rounds: usize,
    /// The dogwatch to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    dogwatch: Option<PathBuf>,
}

/// Different words in all texts; the first ones are the most frequent, as in any language.
const VOCABULARY: u64 = 30_000;

pub(crate) fn measure(args: &Args) -> Result<(), Error> {
    let world = World::make(args.dogwatch.as_deref())?;
    let folder = world.home().join(".claude/projects/-home-me-shop");
    fs::create_dir_all(&folder).map_err(Error::io("make a folder"))?;
    let each = args.megabytes * 1_000_000 / u64::try_from(args.conversations.max(1)).unwrap_or(1);
    let mut bytes = 0;
    for number in 0..args.conversations {
        world.go_on()?;
        bytes += conversation(&path(&folder, number), number, each)?;
    }
    say(&format!("{} conversations, {} MB of transcripts", args.conversations, bytes / 1_000_000));

    let took = index(&world)?;
    let size = |name: &str| fs::metadata(world.state().join(name)).map_or(0, |meta| meta.len());
    let rate = f64::from(u32::try_from(bytes / 1_000_000).unwrap_or(u32::MAX)) / took.as_secs_f64();
    say(&format!(
        "first indexing: {:.1} s ({rate:.0} MB/s); index: {} MB",
        took.as_secs_f64(),
        size("search.db") / 1_000_000
    ));

    let questions: [(&str, &[&str]); 7] = [
        ("a rare word", &["needle7"]),
        ("a word of one in ten messages", &[&word(40)]),
        ("the most frequent word", &[&word(0)]),
        ("two words", &[&word(60), &word(90)]),
        ("five words", &[&word(5), &word(9), &word(20), &word(33), &word(47)]),
        ("a word that is nowhere", &["nowhere"]),
        ("a rare word, by agent and time", &["needle7", "--agent", "claude", "--since", "30d"]),
    ];
    for (what, words) in questions {
        let all = [&["search", "--json"], words].concat();
        let summary = timed(&world, &all, args.rounds)?;
        tell(what, summary);
    }
    let grown = conversations_grown(&world, &folder, 10)?;
    tell("after ten conversations went on by 10 kB each", Summary::of(grown));
    world.end()
}

fn path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number:08x}-1111-4111-8111-111111111111.jsonl"))
}

fn index(world: &World) -> Result<Duration, Error> {
    let mut took = Duration::ZERO;
    // In several calls: one may not take longer than the benchmark's patience with a command.
    loop {
        let done =
            child::run(&mut world.dogwatch(["search", "nowhere", "--json", "--wait", "60s"]))?;
        took += done.took;
        let said: Value = serde_json::from_str(&done.text()).unwrap_or_default();
        match said["index"]["missing"].as_u64() {
            Some(0) => return Ok(took),
            Some(_) => {}
            None => return Err(Error::Wrong { what: "the index", found: done.text() }),
        }
    }
}

fn timed(world: &World, words: &[&str], rounds: usize) -> Result<Option<Summary>, Error> {
    let mut timings = Vec::new();
    // The first one warms up.
    for round in 0..=rounds {
        world.go_on()?;
        let done = child::run(&mut world.dogwatch(words))?;
        if round > 0 {
            timings.push(done.took);
        }
    }
    Ok(Summary::of(timings))
}

fn conversations_grown(
    world: &World,
    folder: &Path,
    rounds: usize,
) -> Result<Vec<Duration>, Error> {
    let mut timings = Vec::new();
    for round in 0..rounds {
        for number in 0..10 {
            let file = OpenOptions::new().append(true).open(path(folder, number));
            let mut file = file.map_err(Error::io("open a transcript"))?;
            let mut text = String::new();
            let mut dice = Dice(u64::try_from(round * 10 + number).unwrap_or(1) + 77);
            while text.len() < 10_000 {
                message(&mut text, "assistant", &dice.words(200));
            }
            file.write_all(text.as_bytes()).map_err(Error::io("write a transcript"))?;
        }
        timings.push(child::run(&mut world.dogwatch(["search", "needle7", "--json"]))?.took);
    }
    Ok(timings)
}

fn tell(what: &str, summary: Option<Summary>) {
    let Some(summary) = summary else { return };
    let [best, median, p95] = [summary.best, summary.median, summary.p95].map(milliseconds);
    say(&format!("{what}: median {median:.1} ms, p95 {p95:.1} ms, best {best:.1} ms"));
}

fn say(text: &str) {
    report::mention(text);
}

/// One conversation: prompts, answers, tool calls, and mostly the results of tools. Returns its length.
fn conversation(path: &Path, number: usize, length: u64) -> Result<u64, Error> {
    let file = File::create(path).map_err(Error::io("make a transcript"))?;
    let mut file = BufWriter::new(file);
    let mut dice = Dice(u64::try_from(number).unwrap_or(0) * 7919 + 1);
    let mut written = 0;
    while written < length {
        let mut text = String::new();
        message(&mut text, "user", &dice.words(40));
        for _ in 0..6 {
            message(&mut text, "assistant", &dice.words(90));
            let result = dice.words(500);
            let _ = writeln!(
                text,
                "{}",
                json!({ "type": "user", "timestamp": AT, "cwd": "/home/me/shop", "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_01", "content": result }] } })
            );
        }
        if dice.roll(2_000) == 0 {
            message(&mut text, "assistant", "here is the needle7 that was lost");
        }
        file.write_all(text.as_bytes()).map_err(Error::io("write a transcript"))?;
        written += u64::try_from(text.len()).unwrap_or(0);
    }
    if number == 0 {
        let mut text = String::new();
        message(&mut text, "assistant", "here is the needle7 that was lost");
        file.write_all(text.as_bytes()).map_err(Error::io("write a transcript"))?;
    }
    file.flush().map_err(Error::io("write a transcript"))?;
    Ok(written)
}

const AT: &str = "2026-11-10T10:00:00.000Z";

fn message(text: &mut String, who: &str, said: &str) {
    let line = json!({
        "parentUuid": "0b4f1f3c-7a2e-4f0e-9d53-1a8f3f7c2d10", "isSidechain": false, "userType": "external", "cwd": "/home/me/shop",
        "sessionId": "0b4f1f3c-7a2e-4f0e-9d53-1a8f3f7c2d10", "version": "2.1.325", "gitBranch": "main", "type": who,
        "message": { "role": who, "content": [{ "type": "text", "text": said }] }, "uuid": "5d1e9a47-3f0b-4d8e-8f0a-6f4d2b1c9e77", "timestamp": AT,
    });
    let _ = writeln!(text, "{line}");
}

/// A word of the vocabulary.
fn word(number: u64) -> String {
    let letters = b"aeioubcdfghklmnprstvwz";
    let mut rest = number * 2_654_435_761 % 1_000_003 + 31;
    let mut word = String::new();
    while rest > 0 {
        word.push(char::from(letters[usize::try_from(rest % 22).unwrap_or(0)]));
        rest /= 22;
    }
    format!("{word}{}", number % 7)
}

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// So many words, few of them frequent.
    fn words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let most = 1 + self.roll(VOCABULARY);
            let most = 1 + self.roll(most);
            text.push_str(&word(self.roll(most)));
            text.push(' ');
        }
        text
    }
}
