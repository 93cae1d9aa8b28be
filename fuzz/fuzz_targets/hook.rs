//! Hooks of any names, payloads and times, a state file of any bytes, and then the verdict on all of it.
//!
//! Input: numbers for times and flags (see [`evidence`]), the state file (a line), the transcript's dialect and one line
//! of it, then a payload a line. A payload is treated as `dogwatch hook` treats it.

#![no_main]

use std::time::Duration;

use dogwatch_core::liveness::{Life, State};
use dogwatch_core::record::{Exit, ProcessIdent};
use dogwatch_core::screen::Hands;
use dogwatch_core::status::evidence::{Before, Evidence, OwnWord, Screen, Shows, Turn};
use dogwatch_core::status::self_report::Writer;
use dogwatch_core::status::{
    Role, Status, Verdict, WaitFor, hooks, judge, payload, rollout, self_report,
};
use dogwatch_core::transcript::Dialect;
use dogwatch_fuzz::{Input, each_text};
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The process of the seeds' state file.
const PROCESS: ProcessIdent = ProcessIdent { pid: 7, start: 99 };
/// The longest text of a verdict: two texts of a hook, each cut, and some words.
const MOST_TEXT: usize = 9_000;

fuzz_target!(|bytes: &[u8]| {
    let evidence = evidence(&mut Input::new(bytes));
    let verdict = judge(&evidence);
    assert_eq!(verdict, judge(&evidence), "another answer");
    is_explained(&verdict);
    is_honest(&evidence, &verdict);
});

fn evidence(input: &mut Input) -> Evidence {
    let now = time(input);
    let life = life(input);
    let exit = input.maybe(|input| Exit::Code(input.byte().into()));
    let [is_plain, prompted, stopped] = [input.flag(), input.flag(), input.flag()];
    let (clock, movement) = (input.maybe(time), input.maybe(time));
    let window = Duration::from_secs(input.u16().into());
    let screen = input.maybe(screen);
    let knows_conversation = input.flag();
    let before = input.maybe(before);
    let spooled = input.byte();
    let step = SignedDuration::from_secs(input.i64() % 10_000);
    let first = time(input);
    let own_word = own_word(input.line());
    let transcript = transcript(input);
    let hooks = hooks(input, first, step, spooled);
    Evidence {
        now,
        life,
        exit,
        cause: None,
        by: None,
        is_plain,
        prompted,
        stopped,
        own_word,
        hooks,
        transcript,
        knows_conversation,
        clock,
        screen,
        movement,
        window,
        before,
    }
}

/// Claude's state file, or opencode's three answers in a list.
fn own_word(said: &[u8]) -> OwnWord {
    match said {
        b"" => OwnWord::Mute,
        [b'[', ..] => {
            let answers: Value = serde_json::from_slice(said).unwrap_or_default();
            self_report::opencode(&answers[0], &answers[1], &answers[2])
        }
        _ => self_report::claude(said, Writer { process: PROCESS, began: None }),
    }
}

fn time(input: &mut Input) -> Timestamp {
    let second = 1_794_700_000_i64.saturating_add(input.i64());
    Timestamp::from_second(second).unwrap_or(if second < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

fn life(input: &mut Input) -> Life {
    let states = [
        State::Running,
        State::Starting,
        State::Exited,
        State::Stopped,
        State::Crashed,
        State::Lost,
        State::Unknown,
    ];
    // Mostly running: the other states decide at once.
    let state = states.get(usize::from(input.byte() / 32)).copied().unwrap_or(State::Running);
    Life { state, since: input.maybe(time), reason: "as told".to_owned(), server_died: None }
}

fn before(input: &mut Input) -> Before {
    let status = match input.byte() % 3 {
        0 => Status::Starting,
        1 => Status::working(None),
        _ => Status::Exited,
    };
    Before { status, since: time(input) }
}

fn screen(input: &mut Input) -> Screen {
    let text = || "text".to_owned();
    let shows = match input.byte() % 9 {
        0 => Shows::Starting,
        1 => Shows::Working(input.maybe(|_| text())),
        2 => Shows::Dialog(WaitFor::Trust, input.maybe(|_| text())),
        3 => Shows::Dialog(WaitFor::Permission, input.maybe(|_| text())),
        4 => Shows::Limit(text(), input.maybe(|_| text())),
        5 => Shows::Failure("kind".to_owned(), text()),
        6 => Shows::Prompt { after_turn: input.flag() },
        7 => Shows::Shell,
        _ => Shows::Unreadable,
    };
    let (is_live, title) = (input.flag(), input.maybe(|_| Shows::Working(None)));
    let options = (0..input.byte() % 4).map(|_| text()).collect();
    let (draft, background) = (input.maybe(|_| text()), input.u16().into());
    Screen {
        shows,
        is_live,
        title,
        because: text(),
        draft,
        background,
        options,
        todos: None,
        hands: Hands::default(),
    }
}

fn transcript(input: &mut Input) -> Turn {
    let dialects = [Dialect::Claude, Dialect::Codex, Dialect::Gemini];
    let dialect = dialects[usize::from(input.byte()) % dialects.len()];
    rollout::fold(dialect, &String::from_utf8_lossy(input.line()))
}

/// As the engine does it: written down by one process, read and folded by another.
fn hooks(input: &mut Input, first: Timestamp, step: SignedDuration, spooled: u8) -> Turn {
    let mut turn = Turn::default();
    let mut at = first;
    for number in 0.. {
        if input.is_empty() {
            break;
        }
        let (event, kept) = payload::digest(&String::from_utf8_lossy(input.line()));
        assert!(event.len() < 500, "{} bytes of an event's name", event.len());
        assert!(kept.len() < 500_000, "{} bytes of a payload", kept.len());
        let kept = serde_json::from_str(&kept).expect("what is kept is JSON");
        // Some came by way of the spool.
        if spooled.rotate_right(number % 8) & 1 == 1 {
            hooks::fold_late(&mut turn, &event, &kept, at);
        } else {
            hooks::fold(&mut turn, &event, &kept, at);
            assert_eq!(turn.last, Some(at));
        }
        at = at.checked_add(step).unwrap_or(at);
    }
    turn
}

/// Every source is named once, and one decided.
fn is_explained(verdict: &Verdict) {
    let mut sources: Vec<_> = verdict.reasons.iter().map(|reason| reason.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    assert_eq!((sources.len(), verdict.reasons.len()), (7, 7), "{verdict:#?}");
    let decided = verdict.reasons.iter().filter(|reason| reason.role == Role::Decided).count();
    assert_eq!(decided, 1, "{verdict:#?}");
    let told = serde_json::to_value(verdict).expect("a verdict is data");
    each_text(&told, &|text| assert!(text.len() <= MOST_TEXT, "{} bytes", text.len()));
}

fn is_honest(evidence: &Evidence, verdict: &Verdict) {
    let over = verdict.status.is_over();
    assert_eq!(over, evidence.life.state.is_over(), "{verdict:#?}");
    if let Status::Stuck { silent_since } = verdict.status {
        let silent = evidence.now.duration_since(silent_since);
        assert!(silent.unsigned_abs() >= evidence.window && !silent.is_negative(), "{verdict:#?}");
        assert!(evidence.movement.is_some(), "nobody watched: {verdict:#?}");
    }
}
