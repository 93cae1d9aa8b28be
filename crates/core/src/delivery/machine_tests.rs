use jiff::Timestamp;

use super::{Agent, Delivery, Input, Kind, Outcome, Phase, Proof, Seen, Sight, Step, Taken, When};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(1_794_700_000_000 + millis).unwrap()
}

fn sight(agent: Agent, input: Input) -> Sight {
    Sight { agent, input, proof: None, taken: Taken::Alone, is_shown: false, is_unread: false }
}

fn ready(input: Input) -> Sight {
    sight(Agent::Ready, input)
}

fn dialog() -> Agent {
    Agent::Dialog("May I?".into())
}

fn other() -> Input {
    Input::Other("half a though".into())
}

/// Plays observations at their times and returns the steps in words; repeated looks are merged.
fn play(when: When, until: Option<i64>, sights: &[(i64, Sight)]) -> Vec<String> {
    let mut delivery = Delivery::new(when, until.map(at), at(0));
    let mut steps: Vec<String> = Vec::new();
    for (time, sight) in sights {
        let word = match delivery.next(sight, at(*time)) {
            Step::Look(_) => "look".to_owned(),
            Step::Paste => "paste".to_owned(),
            Step::Submit => "submit".to_owned(),
            Step::Done(outcome) => match outcome.because() {
                Some(because) => format!("{}: {because}", outcome.as_str()),
                None => format!("{outcome:?}"),
            },
        };
        if steps.last() != Some(&word) {
            steps.push(word);
        }
    }
    steps
}

fn proven(proof: Proof) -> Sight {
    Sight { proof: Some(proof), ..ready(Input::Empty) }
}

#[test]
fn a_message_is_pasted_submitted_and_proven() {
    let steps = play(
        When::Idle,
        None,
        &[
            (0, ready(Input::Empty)),
            (10, ready(Input::Empty)),
            (50, ready(Input::Ours)),
            (100, ready(Input::Ours)),
            (200, proven(Proof::Hook)),
        ],
    );
    let end = "Delivered { proof: Hook, while_working: false }";
    assert_eq!(steps, ["paste", "look", "submit", "look", end]);
}

#[test]
fn a_message_waits_until_the_agent_is_ready() {
    let held = [
        sight(Agent::Starting, Input::Unseen),
        sight(Agent::Working, Input::Empty),
        sight(dialog(), Input::Unseen),
        sight(dialog(), Input::Empty),
        ready(other()),
        ready(Input::Unseen),
        sight(Agent::Unclear("?".into()), Input::Empty),
    ];
    for sight in held {
        let steps = play(When::Idle, None, &[(0, sight), (900_000, ready(Input::Empty))]);
        assert_eq!(steps, ["look", "paste"]);
    }
    let now = play(When::Now, None, &[(0, sight(Agent::Working, Input::Empty))]);
    assert_eq!(now, ["paste"]);
}

#[test]
fn the_outcome_when_time_is_over() {
    let table = [
        (sight(dialog(), Input::Unseen), "refused: a dialog is open: May I?"),
        (ready(other()), "refused: draft: the input box contains other text"),
        (ready(Input::Ours), "refused: draft: the input box already contains the same text"),
        (sight(Agent::Working, Input::Empty), "queued: the agent is working"),
        (sight(Agent::Starting, Input::Empty), "queued: the agent is still starting"),
        (
            sight(Agent::Unclear("x".into()), Input::Empty),
            "queued: the agent's state is unknown: x",
        ),
        (
            sight(Agent::Over("exit code 1".into()), Input::Unseen),
            "failed: the session has ended: exit code 1",
        ),
    ];
    for (sight, end) in table {
        let steps = play(When::Idle, Some(100), &[(100, sight)]);
        assert_eq!(steps, [end]);
    }
}

#[test]
fn a_lasting_message_stays_queued() {
    for held in [sight(dialog(), Input::Unseen), ready(other()), sight(Agent::Working, other())] {
        let mut delivery = Delivery::new(When::Idle, Some(at(100)), at(0)).lasting(true);
        assert!(matches!(delivery.next(&held, at(50)), Step::Look(_)));
        let step = delivery.next(&held, at(100));
        assert!(matches!(step, Step::Done(Outcome::Queued { .. })), "{step:?}");
    }
}

#[test]
fn a_lost_enter_is_repeated_a_few_times() {
    let pasted = [(0, ready(Input::Empty)), (50, ready(Input::Ours))];
    let again = [(1600, ready(Input::Ours)), (1700, proven(Proof::Transcript))];
    let steps = play(When::Idle, None, &[pasted.as_slice(), &again].concat());
    let end = "Delivered { proof: Transcript, while_working: false }";
    assert_eq!(steps, ["paste", "submit", end], "the second submit follows the first");
    let never: Vec<(i64, Sight)> = (1..8).map(|n| (50 + n * 1600, ready(Input::Ours))).collect();
    let steps = play(When::Idle, None, &[pasted.as_slice(), &never].concat());
    let end = "typed_not_submitted: Enter had no effect, 3 times";
    assert_eq!(steps, ["paste", "submit", "look", "submit", "look", end], "ever more patiently");
}

#[test]
fn a_late_echo_is_awaited_and_nothing_is_pasted_twice() {
    let late = [(0, ready(Input::Empty)), (9000, ready(Input::Empty)), (9500, ready(Input::Ours))];
    assert_eq!(play(When::Idle, None, &late), ["paste", "look", "submit"]);
    let never =
        [(0, ready(Input::Empty)), (9000, ready(Input::Empty)), (11_000, ready(Input::Empty))];
    let end = "failed: the text was pasted but did not appear in the input box";
    assert_eq!(play(When::Idle, None, &never), ["paste", "look", end]);
}

#[test]
fn a_dialog_is_never_answered() {
    let pasted = (0, sight(Agent::Working, Input::Empty));
    // It opened between the observation and the paste, or after the paste.
    let then = [(20, sight(dialog(), Input::Ours)), (11_000, sight(dialog(), Input::Ours))];
    let steps = play(When::Now, None, &[std::slice::from_ref(&pasted), &then].concat());
    assert_eq!(steps, ["paste", "look", "typed_not_submitted: a dialog opened: May I?"]);
    // It opened after the Enter, which had no effect.
    let then = [
        (20, sight(Agent::Working, Input::Ours)),
        (2000, sight(dialog(), Input::Ours)),
        (3000, sight(Agent::Working, Input::Ours)),
    ];
    let steps = play(When::Now, None, &[std::slice::from_ref(&pasted), &then].concat());
    assert_eq!(steps, ["paste", "submit", "look", "submit"]);
}

/// opencode on a busy machine, and codex without hooks.
#[test]
fn a_turn_that_has_begun_is_proof_whatever_the_screen_shows() {
    let pasted = [(0, ready(Input::Empty)), (50, ready(Input::Ours))];
    let play = |then: &[(i64, Sight)]| play(When::Idle, None, &[&pasted, then].concat());
    let end = "Delivered { proof: State, while_working: false }";
    let lags =
        [(5000, sight(Agent::Working, Input::Ours)), (9000, sight(Agent::Working, Input::Empty))];
    assert_eq!(play(&lags), ["paste", "submit", "look", end], "no second Enter");
    let asks = [(2000, sight(dialog(), Input::Unseen)), (7000, sight(dialog(), Input::Unseen))];
    assert_eq!(play(&asks), ["paste", "submit", "look", end]);
    let covered = [(7000, sight(dialog(), Input::Ours)), (22_000, sight(dialog(), Input::Ours))];
    let end = "typed_not_submitted: a dialog opened: May I?";
    assert_eq!(play(&covered), ["paste", "submit", "look", end]);
}

#[test]
fn text_that_is_not_ours_is_not_submitted() {
    let sights = [(0, ready(Input::Empty)), (20, ready(other())), (11_000, ready(other()))];
    let end = "typed_not_submitted: the input box contains other text than the message";
    assert_eq!(play(When::Idle, None, &sights), ["paste", "look", end]);
}

#[test]
fn a_weaker_proof_is_accepted_when_no_better_one_comes() {
    let pasted = [(0, ready(Input::Empty)), (50, ready(Input::Ours))];
    let working = |ms| (ms, sight(Agent::Working, Input::Empty));
    let steps =
        play(When::Idle, None, &[pasted.as_slice(), &[working(1000), working(4000)]].concat());
    let end = "Delivered { proof: State, while_working: false }";
    assert_eq!(steps, ["paste", "submit", "look", end]);
    let shown = |ms| (ms, Sight { is_shown: true, ..ready(Input::Empty) });
    let steps = play(When::Idle, None, &[pasted.as_slice(), &[shown(4000), shown(7000)]].concat());
    let end = "Delivered { proof: Screen, while_working: false }";
    assert_eq!(steps, ["paste", "submit", "look", end]);
    let nothing = |ms| (ms, ready(Input::Empty));
    let steps =
        play(When::Idle, None, &[pasted.as_slice(), &[nothing(4000), nothing(21_000)]].concat());
    assert!(steps[3].starts_with("failed: submitted, but nothing confirms"), "{steps:?}");
}

#[test]
fn an_agent_that_worked_before_proves_nothing_by_working() {
    let working = |ms, input| (ms, sight(Agent::Working, input));
    let sights = [working(0, Input::Empty), working(50, Input::Ours), working(5000, Input::Empty)];
    assert_eq!(play(When::Now, None, &sights), ["paste", "submit", "look"]);
}

#[test]
fn an_end_during_delivery_is_reported() {
    let over = || sight(Agent::Over("signal 9 (KILL)".into()), Input::Unseen);
    let steps = play(When::Idle, None, &[(0, ready(Input::Empty)), (20, over())]);
    let end = "failed: the session ended before the message was submitted: signal 9 (KILL)";
    assert_eq!(steps, ["paste", end]);
    let sights = [(0, ready(Input::Empty)), (20, ready(Input::Ours)), (30, over())];
    let steps = play(When::Idle, None, &sights);
    assert_eq!(
        steps[2],
        "failed: the session ended before the agent confirmed the message: signal 9 (KILL)"
    );
}

#[test]
fn a_delivery_is_taken_over_from_a_killed_sender() {
    let seen = seen(false);
    let resumed = |phase| Delivery::resumed(phase, Some(&seen), When::Idle, None, at(0));
    assert_eq!(resumed(Phase::Staged).next(&ready(Input::Ours), at(10)), Step::Submit);
    let unproven = resumed(Phase::Staged).next(&ready(Input::Empty), at(11_000));
    assert!(matches!(unproven, Step::Done(Outcome::Failed { .. })), "never pasted again");
    let proven = resumed(Phase::Staged).next(&proven(Proof::Hook), at(10));
    assert!(matches!(proven, Step::Done(Outcome::Delivered { .. })));
}

#[test]
fn a_clock_that_is_set_back_does_not_delay_it() {
    let hour = 3_600_000;
    let never_shown = ready(Input::Unseen);
    let sights = [
        (hour, ready(Input::Empty)),
        (0, never_shown.clone()),
        (9_000, never_shown.clone()),
        (11_000, never_shown),
    ];
    let steps = play(When::Idle, None, &sights);
    assert_eq!(steps[2], "failed: the text was pasted but did not appear in the input box");
}

#[test]
fn a_dialog_that_a_command_opens_proves_it() {
    let play = |kind| {
        let mut delivery = Delivery::new(When::Idle, None, at(0)).of_kind(kind);
        let sights = [ready(Input::Empty), ready(Input::Ours), sight(dialog(), Input::Unseen)];
        sights.map(|sight| delivery.next(&sight, at(10)))
    };
    let delivered = Outcome::Delivered { proof: Proof::Screen, while_working: false };
    assert_eq!(play(Kind::Command), [Step::Paste, Step::Submit, Step::Done(delivered)]);
    assert!(matches!(play(Kind::Message)[2], Step::Look(_)), "a message brings up nothing");
}

#[test]
fn the_end_proves_a_command_that_ends_the_agent() {
    let exited = || sight(Agent::Exited("exit code 0".into()), Input::Unseen);
    let crashed = || sight(Agent::Over("exit code 1".into()), Input::Unseen);
    let play = |text: &str, is_slash, exit, end: Sight| {
        let kind = Kind::of(text, is_slash, exit);
        let mut delivery = Delivery::new(When::Idle, None, at(0)).of_kind(kind);
        let sights = [ready(Input::Empty), ready(Input::Ours), end];
        let [.., last] = sights.map(|sight| delivery.next(&sight, at(10)));
        last
    };
    let delivered = Outcome::Delivered { proof: Proof::Exit, while_working: false };
    for text in ["/exit", "/quit", "/q", "/exit now", "/logout"] {
        assert_eq!(play(text, true, None, exited()), Step::Done(delivered.clone()), "{text}");
    }
    assert_eq!(play("/bye", true, Some("/bye"), exited()), Step::Done(delivered), "its profile");
    let failed = |step| matches!(step, Step::Done(Outcome::Failed { .. }));
    assert!(failed(play("/exit", true, None, crashed())), "it crashed");
    assert!(failed(play("/clear", true, None, exited())), "another command ends nothing");
    assert!(failed(play("/exit", false, None, exited())), "no command");
    let mut early = Delivery::new(When::Idle, None, at(0)).of_kind(Kind::Quit);
    assert_eq!(early.next(&ready(Input::Empty), at(0)), Step::Paste);
    assert!(failed(early.next(&exited(), at(10))), "it ended before Enter was pressed");
}

#[test]
fn an_agent_that_has_not_read_its_terminal_is_waited_for() {
    let unread = |input| Sight { is_unread: true, ..ready(input) };
    let steps = play(
        When::Idle,
        None,
        &[
            (0, ready(Input::Empty)),
            (30_000, unread(Input::Empty)),
            (60_000, unread(Input::Unseen)),
            (69_000, ready(Input::Empty)),
            (69_500, ready(Input::Ours)),
            (75_000, unread(Input::Ours)),
            (95_000, unread(Input::Ours)),
            (96_000, ready(Input::Ours)),
            (96_100, proven(Proof::Hook)),
        ],
    );
    let delivered = "Delivered { proof: Hook, while_working: false }";
    assert_eq!(steps, ["paste", "look", "submit", "look", delivered], "one Enter");
    let never = [
        (0, ready(Input::Empty)),
        (119_000, unread(Input::Empty)),
        (140_000, unread(Input::Empty)),
    ];
    let because = "failed: the text was pasted, but the agent does not read its terminal";
    assert_eq!(play(When::Idle, None, &never), ["paste", "look", because]);
}

fn seen(was_working: bool) -> Seen {
    Seen { state: "idle".into(), is_asserted: true, was_working, is_noted: true }
}

/// An agent that works proves nothing if it worked before, whoever saw that.
#[test]
fn what_the_one_before_saw_counts() {
    for (seen, expected) in [
        (Some(seen(false)), "delivered"),
        (Some(seen(true)), "failed"),
        // A message of an older version of ours.
        (None, "failed"),
    ] {
        let mut delivery =
            Delivery::resumed(Phase::Submitted, seen.as_ref(), When::Now, None, at(0));
        let works = sight(Agent::Working, Input::Empty);
        assert!(matches!(delivery.next(&works, at(10)), Step::Look(_)));
        let mut step = delivery.next(&works, at(3_100));
        if matches!(step, Step::Look(_)) {
            step = delivery.next(&works, at(20_100));
        }
        let Step::Done(outcome) = step else { panic!("{step:?}") };
        assert_eq!(outcome.as_str(), expected, "{seen:?}: {outcome:?}");
    }
}

/// What comes at the end of a turn may join it, or be written down without asking the model.
#[test]
fn a_message_that_an_old_turn_took_is_not_plainly_delivered() {
    let taken = |taken| Sight { taken, ..proven(Proof::Hook) };
    let steps = |looks: &[(i64, Sight)]| {
        let begin = [(0, ready(Input::Empty)), (50, ready(Input::Ours))];
        let all: Vec<_> = begin.into_iter().chain(looks.iter().cloned()).collect();
        play(When::Idle, None, &all).split_off(2)
    };
    let shared = "Delivered { proof: Hook, while_working: true }";
    assert_eq!(steps(&[(100, taken(Taken::Shared))]), [shared]);
    let open = [(100, taken(Taken::Open)), (200, taken(Taken::Shared))];
    assert_eq!(steps(&open), ["look", shared]);
    let long = [(100, taken(Taken::Open)), (20_100, taken(Taken::Open))];
    assert_eq!(steps(&long), ["look", shared]);
    let unheard = Taken::Unheard(at(90));
    let ends = steps(&[(100, taken(unheard)), (3_100, taken(unheard))]);
    assert_eq!(ends[0], "look");
    assert!(ends[1].starts_with("failed: the agent took the text at the very end"), "{ends:?}");
    let own = steps(&[(100, taken(unheard)), (300, taken(Taken::Alone))]);
    assert_eq!(own, ["look", "Delivered { proof: Hook, while_working: false }"]);
}
