use super::*;

const MINUTE: i64 = 60;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_000 + second).unwrap()
}

/// Limited at second 0.
fn limited(until: Option<i64>) -> Seen {
    Seen::Limited { since: at(0), until: until.map(at), told: true, draft: false, queued: false }
}

fn armed(due: i64) -> Known {
    Known { began: at(0), due: at(due), settled: None, resumed: None, told: true, until: None }
}

fn settled(second: i64) -> Known {
    let at = Some(at(second));
    Known { settled: at, resumed: at, ..armed(0) }
}

/// Settled without a message.
fn left(second: i64) -> Known {
    Known { resumed: None, ..settled(second) }
}

fn facts(policy: &WhenLimited, now: i64, seen: Seen, known: impl Into<Option<Known>>) -> Facts<'_> {
    Facts {
        now: at(now),
        policy,
        seen,
        known: known.into(),
        paused: false,
        account_until: None,
        retry_after: SignedDuration::from_mins(5),
        in_a_row: 0,
    }
}

fn arm(due: i64, guessed: bool) -> Decision {
    Decision::Arm { due: at(due), guessed }
}

fn wait(until: i64) -> Decision {
    Decision::Wait { until: at(until) }
}

#[test]
fn a_limit_is_armed_waited_for_and_continued_once() {
    let policy = &WhenLimited::Wait;
    let hour = 60 * MINUTE;
    let week = 7 * 24 * hour;
    let table = [
        ("it gave a time", 1, limited(Some(hour)), None, arm(hour + 5, false)),
        ("no time", 1, limited(None), None, arm(5 * MINUTE, true)),
        ("a time of yesterday", 1, limited(Some(-24 * hour)), None, arm(5 * MINUTE, true)),
        ("a time of next year", 1, limited(Some(52 * week)), None, arm(5 * MINUTE, true)),
        ("in a week", 1, limited(Some(week)), None, arm(week + 5, false)),
        ("too early", 10, limited(None), Some(armed(300)), wait(300)),
        ("the moment", 300, limited(None), Some(armed(300)), Decision::Continue),
        ("the machine slept", 9 * hour, limited(None), Some(armed(300)), Decision::Continue),
        ("the clock was set back", -hour, limited(None), Some(armed(300)), wait(300)),
        ("done before", 400, limited(None), Some(settled(300)), Decision::Nothing),
        ("not limited", 10, Seen::Other, None, Decision::Nothing),
        ("not limited any more", 10, Seen::Other, Some(settled(5)), Decision::Nothing),
        ("cannot be seen", 10, Seen::Unclear, Some(armed(300)), wait(70)),
    ];
    for (what, now, seen, known, expected) in table {
        assert_eq!(decide(&facts(policy, now, seen, known)), expected, "{what}");
    }
}

#[test]
fn whatever_a_person_does_meanwhile_leaves_it_to_the_person() {
    let policy = &WhenLimited::Wait;
    let Seen::Limited { since, until, told, .. } = limited(None) else { unreachable!() };
    let with = |draft, queued| Seen::Limited { since, until, told, draft, queued };
    for now in [10, 300] {
        let decision = |seen| decide(&facts(policy, now, seen, armed(300)));
        assert!(matches!(decision(Seen::Other), Decision::Leave { .. }));
        assert!(matches!(decision(Seen::Over), Decision::Leave { .. }));
        assert!(matches!(decision(with(true, false)), Decision::Leave { .. }));
    }
    let queued = decide(&facts(policy, 300, with(false, true), armed(300)));
    assert!(matches!(queued, Decision::Leave { because } if because.contains("queued")));
}

#[test]
fn one_limit_and_the_next() {
    let policy = &WhenLimited::Wait;
    let again = |since, told| Seen::Limited {
        since: at(since),
        until: None,
        told,
        draft: false,
        queued: false,
    };
    let table = [
        // Hook and transcript date it differently.
        (armed(300), again(2, true), 300, "continue"),
        (settled(300), again(2, true), 302, "nothing"),
        // The continuation met a limit as well.
        (settled(300), again(301, true), 302, "arm"),
        (settled(3), again(4, true), 5, "arm"),
        (left(1), again(2, true), 5, "nothing"),
        (left(1), again(60, true), 61, "arm"),
        // A person tried again, and met it again: the newest turn is what is continued.
        (armed(300), again(100, true), 101, "arm"),
        // Only the screen says so, and says it still.
        (settled(300), again(301, false), 302, "nothing"),
        (armed(300), again(100, false), 101, "wait"),
    ];
    for (known, seen, now, expected) in table {
        let shown = format!("{known:?} {seen:?}");
        let word = match decide(&facts(policy, now, seen, known)) {
            Decision::Continue => "continue",
            Decision::Nothing => "nothing",
            Decision::Arm { .. } => "arm",
            Decision::Wait { .. } => "wait",
            _ => "other",
        };
        assert_eq!(word, expected, "{shown}");
    }
    let other_end = Seen::Limited {
        since: at(301),
        until: Some(at(900)),
        told: false,
        draft: false,
        queued: false,
    };
    let decision = decide(&facts(policy, 302, other_end, settled(300)));
    assert_eq!(decision, arm(905, false), "the screen names another end");
}

#[test]
fn waits_grow_and_end_with_a_question() {
    let policy = &WhenLimited::Wait;
    for (in_a_row, minutes) in [(0, 5), (1, 10), (3, 40), (4, 60), (11, 60)] {
        let facts = Facts { in_a_row, ..facts(policy, 1, limited(None), None) };
        assert_eq!(decide(&facts), arm(minutes * MINUTE, true), "{in_a_row}");
    }
    let facts = Facts { in_a_row: MOST_IN_A_ROW, ..facts(policy, 1, limited(None), None) };
    assert!(matches!(decide(&facts), Decision::Ask { .. }));
}

#[test]
fn the_limit_of_the_account_holds_for_all_its_sessions() {
    static WAIT: WhenLimited = WhenLimited::Wait;
    let policy = &WhenLimited::Wait;
    let of_account =
        |facts: Facts<'static>, until| Facts { account_until: Some(at(until)), ..facts };
    let new = of_account(facts(&WAIT, 1, limited(None), None), 900);
    assert_eq!(decide(&new), arm(905, false), "another session knows the end");
    let due = of_account(facts(&WAIT, 300, limited(None), armed(300)), 900);
    assert_eq!(decide(&due), wait(905));
    let hold = |policy: &WhenLimited, now| {
        held_until(policy, Some(at(900)), at(now)).map(|until| until == at(905))
    };
    assert_eq!(hold(policy, 10), Some(true));
    assert_eq!(hold(policy, 905), None);
    assert_eq!(hold(&WhenLimited::Switch("small".into()), 10), Some(true));
    assert_eq!(hold(&WhenLimited::Fallback("codex".into()), 10), Some(true));
    assert_eq!(hold(&WhenLimited::Notify, 10), None, "nothing is automatic");
}

#[test]
fn a_continuation_that_was_posted_is_refused_if_it_is_too_late_or_paused() {
    let limited = Status::Limited { text: String::new(), until: None };
    let idle = Status::Idle { after_turn: true, interrupted: false, background: 0, draft: None };
    let turn = Some("a turn began since the limit");
    let paused = Some("automatic continuation is paused");
    let table = [
        (&limited, 1, None, false, None),
        (&limited, 9, None, false, turn),
        (&idle, 1, None, false, turn),
        (&idle, 1, Some(true), false, None),
        (&limited, 1, Some(true), false, None),
        (&limited, 1, Some(false), false, Some("the model was not switched")),
        (&limited, 1, None, true, paused),
        (&idle, 1, Some(true), true, paused),
    ];
    for (status, since, has_switched, is_paused, want) in table {
        let found = refusal(status, Some(at(since)), at(5), has_switched, is_paused);
        assert_eq!(found, want, "{status:?} {since} {has_switched:?} {is_paused}");
    }
}

#[test]
fn paused_off_and_the_other_policies() {
    let wait_policy = &WhenLimited::Wait;
    let paused = Facts { paused: true, ..facts(wait_policy, 300, limited(None), armed(300)) };
    assert_eq!(decide(&paused), wait(360));
    let off = facts(&WhenLimited::Notify, 300, limited(None), armed(300));
    assert_eq!(decide(&off), Decision::Nothing);
    let switch = WhenLimited::Switch("small".into());
    assert_eq!(decide(&facts(&switch, 1, limited(Some(3600)), None)), arm(1, false), "at once");
    let decision = decide(&facts(&switch, 1, limited(Some(3600)), armed(1)));
    assert_eq!(decision, Decision::Switch("small".into()));
    let fallback = WhenLimited::Fallback("codex".into());
    let decision = decide(&facts(&fallback, 1, limited(None), armed(1)));
    assert_eq!(decision, Decision::Fallback("codex".into()));
    assert_eq!(decide(&facts(&fallback, 9, limited(None), settled(2))), Decision::Nothing);
}

#[test]
fn another_status_is_news_if_it_came_later_or_stays() {
    for (since, now, want) in
        [(3, 3, true), (1, 2, false), (1, 7, true), (0, 60, false), (-1, 60, false), (2, 7, false)]
    {
        assert_eq!(is_news(at(0), at(since), at(now)), want, "{since} {now}");
    }
}
