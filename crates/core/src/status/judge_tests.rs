use super::*;
use crate::liveness::Life;
use crate::record::Exit;
use crate::screen::Hands;
use crate::status::evidence::{Asked, Before, Screen, Turn};
use crate::status::{Role, agrees};

#[path = "turn_end_tests.rs"]
mod turn_ends;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_000 + second).unwrap()
}

/// A living agent of which nothing is known but that it started a minute ago.
fn living() -> Evidence {
    Evidence {
        now: at(60),
        life: Life {
            state: State::Running,
            since: Some(at(0)),
            reason: "its pane is alive".into(),
            server_died: None,
        },
        exit: None,
        cause: None,
        by: None,
        is_plain: false,
        prompted: false,
        stopped: false,
        own_word: OwnWord::Mute,
        hooks: Turn::default(),
        transcript: Turn::default(),
        knows_conversation: true,
        clock: None,
        screen: None,
        movement: None,
        window: STUCK_WINDOW,
        before: None,
    }
}

fn edge(second: i64, what: EdgeKind) -> Turn {
    let edge = Some(Edge { at: at(second), what, told: true });
    Turn { edge, last: Some(at(second)), ..Turn::default() }
}

fn failure(kind: &str) -> EdgeKind {
    EdgeKind::Failed(Failure { kind: kind.into(), text: "text".into(), until: None })
}

#[expect(clippy::unnecessary_wraps, reason = "as the evidence has it")]
fn shows(shows: Shows) -> Option<Screen> {
    Some(Screen {
        is_live: matches!(shows, Shows::Working(_)),
        shows,
        title: None,
        because: "line".into(),
        draft: None,
        background: 0,
        options: Vec::new(),
        todos: None,
        hands: Hands::default(),
    })
}

fn says(word: Word) -> OwnWord {
    OwnWord::Says(word, Some(at(50)))
}

fn asked(second: i64) -> Turn {
    let waiting = Some(Asked {
        at: at(second),
        r#for: WaitFor::Permission,
        question: Some("Bash rm".into()),
    });
    Turn { waiting, ..edge(second - 1, EdgeKind::Began) }
}

fn check(name: &str, evidence: Evidence, word: &str, by: Source, basis: Basis) {
    let verdict = judge(&evidence);
    assert_eq!(verdict.status.as_str(), word, "{name}: {verdict:#?}");
    assert_eq!(verdict.decided_by(), Some(by), "{name}: {verdict:#?}");
    assert_eq!(verdict.basis, basis, "{name}");
}

fn prompt() -> Option<Screen> {
    shows(Shows::Prompt { after_turn: true })
}

fn working() -> Option<Screen> {
    shows(Shows::Working(None))
}

fn dialog_shown() -> Option<Screen> {
    shows(Shows::Dialog(WaitFor::Permission, None))
}

#[test]
fn life_and_death_come_first() {
    use Basis::{Asserted, Inferred};
    let over = |state| Life { state, since: Some(at(9)), reason: "r".into(), server_died: None };
    let busy = || Evidence { own_word: says(Word::Busy), screen: working(), ..living() };
    check(
        "exited",
        Evidence { life: over(State::Exited), ..busy() },
        "exited",
        Source::Exit,
        Asserted,
    );
    let crashed = Evidence { life: over(State::Crashed), exit: Some(Exit::Signal(9)), ..busy() };
    check("crashed", crashed, "crashed", Source::Exit, Asserted);
    let stopped = Evidence { life: over(State::Stopped), by: Some("ann".into()), ..busy() };
    check("stopped", stopped, "stopped", Source::Exit, Asserted);
    check("lost", Evidence { life: over(State::Lost), ..busy() }, "lost", Source::Exit, Asserted);
    let unreachable = Evidence { life: over(State::Unknown), ..busy() };
    check("no tmux", unreachable, "unknown", Source::Exit, Inferred);
    let starting = Evidence { life: over(State::Starting), ..living() };
    check("starting", starting, "starting", Source::Process, Asserted);
    let plain = Evidence { is_plain: true, screen: prompt(), ..living() };
    check("plain", plain, "working", Source::Process, Inferred);
    let asks = |secs| Evidence {
        is_plain: true,
        screen: shows(Shows::Dialog(WaitFor::Question, None)),
        movement: Some(at(secs)),
        ..living()
    };
    check("plain, a question just now", asks(58), "working", Source::Process, Inferred);
    check("plain, a question that stays", asks(50), "waiting", Source::Screen, Inferred);
    let waiting = Turn { edge: None, ..asked(50) };
    let asks = Evidence { is_plain: true, hooks: waiting, ..living() };
    check("plain, but asks by a hook", asks, "waiting", Source::Hook, Asserted);
    let stopped = Evidence { stopped: true, ..busy() };
    check("stopped", stopped, "waiting", Source::Process, Asserted);
}

#[test]
fn the_agents_own_word() {
    use Basis::{Asserted, Inferred};
    let says = |word, e: Evidence| Evidence { own_word: says(word), ..e };
    check("busy", says(Word::Busy, living()), "working", Source::OwnWord, Asserted);
    check("idle", says(Word::Idle, living()), "idle", Source::OwnWord, Asserted);
    check("shell", says(Word::Shell, living()), "idle", Source::OwnWord, Asserted);
    let waits = says(Word::Waiting(WaitFor::Other, None), living());
    check("waiting", waits, "waiting", Source::OwnWord, Asserted);
    let busy = says(Word::Busy, Evidence { screen: dialog_shown(), ..living() });
    check("a visible dialog outranks busy", busy, "waiting", Source::Screen, Inferred);
    let busy = says(Word::Busy, Evidence { screen: prompt(), ..living() });
    check("an idle-looking screen does not", busy, "working", Source::OwnWord, Asserted);
    let idle = says(Word::Idle, Evidence { hooks: edge(40, failure("rate_limit")), ..living() });
    check("a limit ends as idle", idle, "limited", Source::Hook, Asserted);
    let idle =
        says(Word::Idle, Evidence { transcript: edge(40, failure("invalid_request")), ..living() });
    check("an error ends as idle", idle, "error", Source::Transcript, Asserted);
    let idle = says(Word::Idle, Evidence { hooks: edge(40, EdgeKind::Began), ..living() });
    check("Esc fires no hook", idle, "idle", Source::OwnWord, Asserted);
    let open = || Evidence { hooks: edge(40, EdgeKind::Began), now: at(50), ..living() };
    check(
        "no source says yet how it ended",
        says(Word::Idle, open()),
        "working",
        Source::Hook,
        Asserted,
    );
    let failed = Evidence { hooks: edge(51, failure("rate_limit")), ..open() };
    check("now it is", says(Word::Idle, failed), "limited", Source::Hook, Asserted);
    let queue = |now| Evidence {
        transcript: Turn { queued: 1, ..edge(50, EdgeKind::Done) },
        now: at(now),
        ..living()
    };
    check("next in line", says(Word::Idle, queue(50)), "working", Source::Transcript, Asserted);
    check("it never came", says(Word::Idle, queue(52)), "idle", Source::OwnWord, Asserted);
    let busy = says(Word::Busy, Evidence { hooks: asked(40), ..living() });
    check("answered, no other source says so", busy, "working", Source::OwnWord, Asserted);
}

#[test]
fn the_first_turn_of_an_agent_with_a_prompt() {
    use Basis::{Asserted, Inferred};
    let fresh = || Evidence { prompted: true, own_word: says(Word::Idle), now: at(5), ..living() };
    check("not begun", fresh(), "starting", Source::Process, Inferred);
    let began = Evidence { hooks: edge(52, EdgeKind::Began), now: at(53), ..fresh() };
    check("begun after its word", began, "working", Source::Hook, Asserted);
    let ended = Evidence { hooks: edge(40, EdgeKind::Done), now: at(60), ..fresh() };
    check("ended", ended, "idle", Source::OwnWord, Asserted);
    let at_work = Evidence { screen: working(), ..fresh() };
    check("seen at work", at_work, "working", Source::Screen, Inferred);
    check("it never came", Evidence { now: at(600), ..fresh() }, "idle", Source::OwnWord, Asserted);
}

#[test]
fn hooks_and_transcript() {
    use Basis::{Asserted, Inferred};
    let hooks = |hooks| Evidence { hooks, ..living() };
    check("began", hooks(edge(10, EdgeKind::Began)), "working", Source::Hook, Asserted);
    check("done", hooks(edge(10, EdgeKind::Done)), "idle", Source::Hook, Asserted);
    check("interrupted", hooks(edge(10, EdgeKind::Interrupted)), "idle", Source::Hook, Asserted);
    check("limit", hooks(edge(10, failure("overloaded"))), "limited", Source::Hook, Asserted);
    check("asked", hooks(asked(50)), "waiting", Source::Hook, Asserted);
    let answered = Evidence { screen: working(), ..hooks(asked(50)) };
    check("asked, and works again", answered, "working", Source::Hook, Asserted);
    let later =
        Evidence { transcript: edge(20, EdgeKind::Done), ..hooks(edge(10, EdgeKind::Began)) };
    check("the transcript is newer", later, "idle", Source::Transcript, Asserted);
    let error = Evidence { transcript: edge(20, failure("x")), ..hooks(edge(10, EdgeKind::Began)) };
    check("codex fires no hook after an error", error, "error", Source::Transcript, Asserted);
    let mut same = hooks(edge(20, failure("rate_limit")));
    same.transcript = edge(21, EdgeKind::Done);
    check("the turn's end does not hide its failure", same, "limited", Source::Hook, Asserted);
    let mut older = hooks(edge(20, EdgeKind::Done));
    older.transcript = edge(19, failure("rate_limit"));
    check("a hook that knows no failures", older, "limited", Source::Transcript, Asserted);
    let mut both = hooks(edge(20, failure("server_error")));
    both.transcript = edge(19, failure("overloaded"));
    check("the transcript knows the status", both, "limited", Source::Transcript, Asserted);
    let mut earlier = hooks(edge(50, failure("server_error")));
    earlier.transcript = edge(19, failure("overloaded"));
    check("an earlier failure is another", earlier, "error", Source::Hook, Asserted);
    let esc = Evidence { screen: prompt(), ..hooks(edge(10, EdgeKind::Began)) };
    check("a prompt that stands for long is an end", esc, "idle", Source::Screen, Inferred);
    let early = Evidence { screen: prompt(), ..hooks(edge(59, EdgeKind::Began)) };
    check("the screen may lag", early, "working", Source::Hook, Asserted);
    let back = Screen { draft: Some("x".into()), ..prompt().unwrap() };
    let back = Evidence { screen: Some(back), ..hooks(edge(59, EdgeKind::Began)) };
    check("the message is back in the box", back, "working", Source::Hook, Inferred);
    let again = Evidence { screen: working(), ..hooks(edge(10, EdgeKind::Done)) };
    check("set to work again, unheard", again, "working", Source::Screen, Inferred);
    let fresh = Evidence { screen: prompt(), ..hooks(edge(1, EdgeKind::Ready)) };
    check("fresh", fresh, "idle", Source::Screen, Inferred);
}

/// Of an idle agent: whether it was interrupted, and what runs in the background.
fn rest(evidence: &Evidence) -> (bool, u32) {
    match judge(evidence).status {
        Status::Idle { interrupted, background, .. } => (interrupted, background),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_idle_agent_in_detail() {
    let left = |count| Turn { background: count, ..edge(40, EdgeKind::Done) };
    let idle = |word, hooks| Evidence { own_word: says(word), hooks, ..living() };
    assert_eq!(rest(&idle(Word::Idle, edge(40, EdgeKind::Done))), (false, 0));
    assert_eq!(rest(&idle(Word::Idle, edge(40, EdgeKind::Interrupted))), (true, 0));
    assert_eq!(
        rest(&idle(Word::Idle, edge(40, EdgeKind::Began))),
        (true, 0),
        "no source reports it"
    );
    assert_eq!(rest(&idle(Word::Shell, left(2))), (false, 2));
    assert_eq!(rest(&idle(Word::Shell, left(0))), (false, 1), "it says that there is one");
    assert_eq!(rest(&idle(Word::Idle, left(1))), (false, 0), "it has ended since");
    let monitor = Screen { background: 1, ..prompt().unwrap() };
    assert_eq!(rest(&Evidence { screen: Some(monitor), ..idle(Word::Idle, left(1)) }), (false, 1));
}

#[test]
fn a_limit_ends_when_the_screen_says() {
    let limit = Shows::Limit("text".into(), Some("3:15 PM".into()));
    let transcript = edge(20, failure("usage_limit_exceeded"));
    let verdict = judge(&Evidence { transcript, screen: shows(limit), ..living() });
    let until = Some("3:15 PM".to_owned());
    assert_eq!(verdict.status, Status::Limited { until, text: "text".into() });
}

#[test]
fn the_screen_alone_and_nothing_at_all() {
    use Basis::Inferred;
    let screen = |shows_what| Evidence { screen: shows(shows_what), ..living() };
    let of = Source::Screen;
    check("prompt", screen(Shows::Prompt { after_turn: false }), "idle", of, Inferred);
    check("working", screen(Shows::Working(None)), "working", of, Inferred);
    check("dialog", screen(Shows::Dialog(WaitFor::Trust, None)), "waiting", of, Inferred);
    check("limit", screen(Shows::Limit("t".into(), None)), "limited", of, Inferred);
    check("failure", screen(Shows::Failure("k".into(), "t".into())), "error", of, Inferred);
    check("unreadable", screen(Shows::Unreadable), "unknown", Source::Process, Inferred);
    check("a shell", screen(Shows::Shell), "unknown", Source::Process, Inferred);
    check("nothing", living(), "unknown", Source::Process, Inferred);
    let young = Evidence { now: at(5), ..screen(Shows::Unreadable) };
    check("young", young, "starting", Source::Process, Inferred);
    let forged = Evidence { own_word: OwnWord::Forged("x".into()), ..screen(Shows::Unreadable) };
    check("a stale state file", forged, "unknown", Source::Process, Inferred);
}

#[test]
fn stuck_needs_silence_from_every_source() {
    let hour = 3600;
    let silent = || Evidence {
        now: at(hour),
        hooks: edge(10, EdgeKind::Began),
        movement: Some(at(20)),
        screen: working(),
        ..living()
    };
    check("silent", silent(), "stuck", Source::Clock, Basis::Inferred);
    let moving_clock = Evidence { clock: Some(at(hour - 1)), ..silent() };
    check("the clock moves", moving_clock, "working", Source::Hook, Basis::Asserted);
    let moving = Evidence { movement: Some(at(hour - 100)), ..silent() };
    check("something moves", moving, "working", Source::Hook, Basis::Asserted);
    let first_sight = Evidence { movement: None, ..silent() };
    check("no record of movement", first_sight, "working", Source::Hook, Basis::Asserted);
    let mut writing = silent();
    writing.transcript.last = Some(at(hour - 2));
    check("the transcript grows", writing, "working", Source::Hook, Basis::Asserted);
    let waiting = Evidence { hooks: asked(10), screen: dialog_shown(), ..silent() };
    check("who waits is not stuck", waiting, "waiting", Source::Screen, Basis::Inferred);
}

#[test]
fn an_unreachable_session_is_what_it_was_or_unknown() {
    let unreachable = || {
        let reason = "tmux did not answer".to_owned();
        let life = Life { state: State::Unknown, since: None, reason, server_died: None };
        Evidence { life, own_word: says(Word::Busy), ..living() }
    };
    check("never seen", unreachable(), "unknown", Source::Exit, Basis::Inferred);
    let before = |status| Some(Before { status, since: at(10) });
    let seen = Evidence { before: before(Status::working(None)), ..unreachable() };
    assert_eq!(judge(&seen).since, Some(at(10)));
    check("seen at work", seen, "working", Source::Exit, Basis::Stale);
    let hour_later = Evidence {
        now: at(3600),
        movement: Some(at(10)),
        before: before(Status::working(None)),
        ..unreachable()
    };
    check("for an hour", hour_later, "working", Source::Exit, Basis::Stale);
    let ended = Evidence { before: before(Status::Exited), ..unreachable() };
    check("an end that is no longer recorded", ended, "unknown", Source::Exit, Basis::Inferred);
}

#[test]
fn what_is_lost_was_last_seen_sometime() {
    let life = Life { state: State::Lost, since: None, reason: "gone".into(), server_died: None };
    let lost = Evidence { life, hooks: edge(10, EdgeKind::Began), clock: Some(at(30)), ..living() };
    assert_eq!(judge(&lost).status, Status::Lost { last_seen: Some(at(30)), server_died: None });
}

#[test]
fn a_clock_that_was_set_back() {
    use Basis::{Asserted, Inferred};
    let back = |e: Evidence| Evidence { now: at(-100_000), ..e };
    let began = || Evidence {
        hooks: edge(10, EdgeKind::Began),
        movement: Some(at(5)),
        clock: Some(at(9)),
        ..back(living())
    };
    check("all evidence is of before", began(), "working", Source::Hook, Asserted);
    let shown = Evidence { screen: prompt(), ..began() };
    check("a prompt is no late screen for a day", shown, "idle", Source::Screen, Inferred);
    let nothing = Evidence { screen: shows(Shows::Unreadable), ..back(living()) };
    check("it is not young for a day", nothing, "unknown", Source::Process, Inferred);
    let given = Evidence { prompted: true, own_word: says(Word::Idle), ..back(living()) };
    check("nor before its first turn", given, "idle", Source::OwnWord, Asserted);
    let answered = Evidence { hooks: asked(10), screen: working(), ..back(living()) };
    check("an answer is seen", answered, "working", Source::Hook, Asserted);
    let word = says(Word::Idle);
    let ended = Evidence { own_word: word.clone(), ..began() };
    check("a word of before is not of this moment", ended, "idle", Source::OwnWord, Asserted);
    let transcript = Turn { queued: 1, ..edge(10, EdgeKind::Done) };
    let queued = Evidence { own_word: word, transcript, ..back(living()) };
    check("nor is the end of a turn", queued, "idle", Source::OwnWord, Asserted);
    let asks = Evidence { hooks: asked(10), ..back(living()) };
    check("a question stays open", asks, "waiting", Source::Hook, Asserted);
}

#[test]
fn reports_since_a_clock_was_set_back() {
    use Basis::{Asserted, Inferred};
    // Reports come at 1000 and 1010, the clock goes back to 0, and now it is 60.
    let since = |e: Evidence| Evidence { now: at(60), ..e };
    let hooks = edge(1000, EdgeKind::Done);
    let again = since(Evidence { hooks, transcript: edge(50, EdgeKind::Began), ..living() });
    check("a turn that began since", again, "working", Source::Transcript, Asserted);
    let own_word = OwnWord::Says(Word::Idle, Some(at(50)));
    let idle = since(Evidence { hooks: edge(1000, EdgeKind::Began), own_word, ..living() });
    check("idle since", idle, "idle", Source::OwnWord, Asserted);
    let transcript = edge(50, EdgeKind::Done);
    let answered = since(Evidence { hooks: asked(1000), transcript, ..living() });
    check("answered since", answered, "idle", Source::Transcript, Asserted);
    let silent = || Evidence {
        now: at(600),
        hooks: edge(1000, EdgeKind::Began),
        movement: Some(at(0)),
        ..living()
    };
    check("silent since", silent(), "stuck", Source::Clock, Inferred);
    let moves = Evidence { movement: Some(at(590)), ..silent() };
    check("and moving since", moves, "working", Source::Hook, Asserted);
}

#[test]
fn disagreement_is_reported() {
    let evidence = Evidence { own_word: says(Word::Busy), screen: prompt(), ..living() };
    let verdict = judge(&evidence);
    let screen = verdict.reasons.iter().find(|r| r.source == Source::Screen).unwrap();
    assert_eq!(screen.role, Role::Disagrees);
    assert_eq!(verdict.reasons.len(), 7, "every source is named");
}

#[test]
fn sources_that_agree_are_reported() {
    let word = says(Word::Waiting(WaitFor::Permission, None));
    for (evidence, want) in [
        (
            Evidence { own_word: word, hooks: asked(50), screen: dialog_shown(), ..living() },
            &[Source::Hook, Source::Screen][..],
        ),
        (Evidence { own_word: says(Word::Busy), screen: prompt(), ..living() }, &[]),
        (
            Evidence {
                hooks: edge(50, EdgeKind::Began),
                transcript: edge(50, EdgeKind::Began),
                screen: working(),
                ..living()
            },
            &[Source::Transcript, Source::Screen],
        ),
        (
            Evidence { hooks: edge(50, EdgeKind::Done), screen: prompt(), ..living() },
            &[Source::Screen],
        ),
    ] {
        let verdict = judge(&evidence);
        let same = verdict.reasons.iter().filter(|reason| agrees(&verdict.status, reason));
        let same: Vec<Source> = same.map(|reason| reason.source).collect();
        assert_eq!(same, want, "{verdict:#?}");
    }
}

/// opencode: a word of this moment, no hooks, no transcript.
#[test]
fn a_word_of_this_moment() {
    use Basis::{Asserted, Inferred};
    let now = |word| OwnWord::Says(word, None);
    let living = || Evidence { prompted: true, now: at(20), ..living() };
    let fresh = || shows(Shows::Prompt { after_turn: false });
    let failed = || shows(Shows::Failure("authentication".into(), "Incorrect API key".into()));
    let question = Word::Waiting(WaitFor::Question, Some("Which?".into()));
    let table = [
        ("busy", Word::Busy, None, "working", Source::OwnWord, Asserted),
        ("before its first turn", Word::Idle, fresh(), "starting", Source::Process, Inferred),
        ("after it", Word::Idle, prompt(), "idle", Source::OwnWord, Asserted),
        ("after one that failed", Word::Idle, failed(), "error", Source::Screen, Inferred),
        ("asks, unseen", question, None, "waiting", Source::OwnWord, Asserted),
        (
            "a dialog that it says nothing of",
            Word::Busy,
            dialog_shown(),
            "waiting",
            Source::Screen,
            Inferred,
        ),
    ];
    for (name, word, screen, state, by, basis) in table {
        check(name, Evidence { own_word: now(word), screen, ..living() }, state, by, basis);
    }
    let asks = Word::Waiting(WaitFor::Question, Some("Which?".into()));
    let verdict = judge(&Evidence { own_word: now(asks), ..living() });
    let Status::Waiting { question, .. } = &verdict.status else { panic!("{verdict:?}") };
    assert_eq!(question.as_deref(), Some("Which?"));
    assert_eq!(verdict.since, None, "it does not say since when");
    // A turn that ended within the first minute is not a start.
    let done = Evidence { screen: prompt(), ..living() };
    check("done, by the screen alone", done, "idle", Source::Screen, Inferred);
    // One that answers is not stuck, however long nothing moves.
    let still = Evidence { now: at(9000), movement: Some(at(10)), ..living() };
    let still = Evidence { own_word: now(Word::Busy), screen: working(), ..still };
    check("answers", still, "working", Source::OwnWord, Asserted);
}

#[test]
fn the_later_report_counts() {
    use Basis::{Asserted, Inferred};
    // claude 2.1.120 says busy as long as a shell runs in the background.
    let busy = |at_second| OwnWord::Says(Word::Busy, Some(at(at_second)));
    let over = || Evidence { hooks: edge(50, EdgeKind::Done), ..living() };
    let rests = Evidence { own_word: busy(40), screen: prompt(), ..over() };
    check("a turn ended since", rests, "idle", Source::Hook, Inferred);
    let unseen = Evidence { own_word: busy(40), ..over() };
    check("the screen does not say so", unseen, "working", Source::OwnWord, Asserted);
    let queued = || Turn { queued: 1, ..edge(50, EdgeKind::Done) };
    let next = Evidence { own_word: busy(40), transcript: queued(), screen: prompt(), ..living() };
    check("a message is queued", next, "working", Source::OwnWord, Asserted);
    let again = Evidence { own_word: busy(55), screen: prompt(), ..over() };
    check("it said so since", again, "working", Source::OwnWord, Asserted);
    // codex 0.101 leaves no mark of an end on its screen.
    let missing = Screen { is_live: false, ..working().unwrap() };
    let ended = Evidence { screen: Some(missing), ..over() };
    check("no end on the screen, but reported", ended, "idle", Source::Hook, Asserted);
    let failed = Evidence { screen: shows(Shows::Limit("t".into(), None)), ..over() };
    check("done, and a limit in sight", failed, "idle", Source::Hook, Inferred);
    let hooks = edge(20, failure("rate_limit"));
    let prompt = Evidence { hooks, screen: prompt(), ..living() };
    check("failed, and no sign of it", prompt, "limited", Source::Hook, Inferred);
    let asked = Evidence {
        hooks: asked(40),
        transcript: Turn { last: Some(at(45)), ..Turn::default() },
        screen: shows(Shows::Prompt { after_turn: false }),
        ..living()
    };
    check("answered by Esc, no source reports it", asked, "idle", Source::Screen, Inferred);
}

#[test]
fn a_title_contradicts_no_other_source() {
    use Basis::{Asserted, Inferred};
    let claims = |title: Shows, seen: Shows| {
        Some(Screen {
            is_live: matches!(seen, Shows::Working(_)),
            title: Some(title),
            ..shows(seen).unwrap()
        })
    };
    let works = || Shows::Working(None);
    let asks = || Shows::Dialog(WaitFor::Other, None);
    let rests = || Shows::Prompt { after_turn: true };
    let told = |what, screen| Evidence { hooks: edge(50, what), screen, ..living() };
    let of = Source::Hook;
    let done = EdgeKind::Done;
    check("works", told(done.clone(), claims(works(), rests())), "idle", of, Asserted);
    check("asks", told(done, claims(asks(), rests())), "idle", of, Asserted);
    let open = told(EdgeKind::Began, claims(asks(), works()));
    check("asks, but works in sight", open, "working", of, Asserted);
    let small = told(EdgeKind::Began, claims(asks(), Shows::Unreadable));
    check("asks in a pane too small for it", small, "waiting", Source::Screen, Inferred);
    let alone = Evidence { screen: claims(works(), rests()), ..living() };
    check("no other source", alone, "working", Source::Screen, Inferred);
    let idle = Evidence { own_word: says(Word::Idle), screen: claims(asks(), rests()), ..living() };
    check("the agent says otherwise", idle, "idle", Source::OwnWord, Asserted);
}

#[test]
fn fresh_is_asserted_only_by_who_can_know() {
    use Basis::{Asserted, Inferred};
    let idle = || Evidence { own_word: says(Word::Idle), ..living() };
    let of = Source::OwnWord;
    check("its conversation is known", idle(), "idle", of, Asserted);
    check("not known", Evidence { knows_conversation: false, ..idle() }, "idle", of, Inferred);
    let hooks = edge(1, EdgeKind::Ready);
    let hooked = Evidence { knows_conversation: false, hooks, ..idle() };
    check("hooks tell", hooked, "idle", of, Asserted);
    let hands = Hands { asked: Some("x".into()), answered: true, ..Hands::default() };
    let shown = Screen { hands, ..shows(Shows::Prompt { after_turn: false }).unwrap() };
    let verdict = judge(&Evidence { screen: Some(shown.clone()), ..living() });
    assert!(matches!(verdict.status, Status::Idle { after_turn: true, .. }), "{verdict:#?}");
    let hands = Hands { answered: false, ..shown.hands.clone() };
    let verdict = judge(&Evidence { screen: Some(Screen { hands, ..shown }), ..idle() });
    let is_fresh = matches!(verdict.status, Status::Idle { after_turn: false, .. });
    assert!(is_fresh, "the message has just been given: {verdict:#?}");
    let seen = |second| Some(Before { status: Status::working(None), since: at(second) });
    for (own_word, expected) in
        [(OwnWord::Says(Word::Idle, None), true), (OwnWord::Says(Word::Idle, Some(at(6))), false)]
    {
        let verdict =
            judge(&Evidence { before: seen(5), own_word, knows_conversation: false, ..living() });
        let after = matches!(verdict.status, Status::Idle { after_turn: true, .. });
        assert_eq!(after, expected, "a shell that starts an agent works too: {verdict:#?}");
    }
    for (second, expected) in [(5, false), (20, true)] {
        let screen = shows(Shows::Prompt { after_turn: false });
        let verdict = judge(&Evidence { before: seen(second), screen, ..living() });
        let after = matches!(verdict.status, Status::Idle { after_turn: true, .. });
        assert_eq!(after, expected, "seen at work {second} s after its start");
    }
}
