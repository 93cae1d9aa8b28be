use super::*;

fn at(text: &str) -> Timestamp {
    format!("2026-11-16T{text}Z").parse().unwrap()
}

fn rule(on: &[On]) -> Rule {
    Rule {
        name: None,
        channel: Channel::Desktop,
        on: on.to_vec(),
        filter: Filter::default(),
        after: Duration::ZERO,
        quiet: Quiet::default(),
        unless_attached: None,
        batch: Duration::ZERO,
        limit: Duration::from_secs(5),
    }
}

fn facts(occasion: Occasion, dialog: Option<WaitFor>) -> Facts {
    let about = About {
        id: "0197".into(),
        name: "fix-parser".into(),
        agent: "claude".into(),
        project: "/home/me/src/shop".into(),
        tags: vec!["urgent".into(), "backend".into()],
    };
    Facts { occasion, about: Some(about), dialog, hold: Duration::ZERO }
}

#[test]
fn what_a_word_of_the_configuration_is_for() {
    use On::*;
    let table: [(On, &[Occasion]); 16] = [
        (Waiting, &[Occasion::Waiting]),
        (Done, &[Occasion::Done]),
        (Error, &[Occasion::Error]),
        (Limited, &[Occasion::Limited]),
        (Crashed, &[Occasion::Crashed]),
        (Stuck, &[Occasion::Stuck]),
        (Looping, &[Occasion::Looping]),
        (Collision, &[Occasion::Collision]),
        (Budget, &[Occasion::Budget]),
        (Question, &[Occasion::EscalationRaised]),
        (Job, &[Occasion::JobDone, Occasion::JobFailed]),
        (Drift, &[Occasion::Drift]),
        (EscalationRaised, &[Occasion::EscalationRaised]),
        (EscalationAnswered, &[Occasion::EscalationAnswered]),
        (JobDone, &[Occasion::JobDone]),
        (JobFailed, &[Occasion::JobFailed]),
    ];
    for (on, want) in table {
        for occasion in Occasion::ALL {
            let wants = rule(&[on]).wants(&facts(occasion, None));
            assert_eq!(wants, want.contains(&occasion), "{on:?} {occasion:?}");
        }
    }
    let asks = facts(Occasion::Waiting, Some(WaitFor::Question));
    let permission = facts(Occasion::Waiting, Some(WaitFor::Permission));
    assert!(rule(&[Question]).wants(&asks));
    assert!(!rule(&[Question]).wants(&permission));
}

type Set = fn(&mut Filter, Vec<String>);

#[test]
fn filters() {
    let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let project: Set = |filter, words| filter.project = words;
    let tag: Set = |filter, words| filter.tag = words;
    let agent: Set = |filter, words| filter.agent = words;
    let session: Set = |filter, words| filter.session = words;
    let table: [(Set, &[&str], bool); 16] = [
        (project, &["shop"], true),
        (project, &["/home/me/src/shop"], true),
        (project, &["/home/me/src/shop/"], true),
        (project, &["/home/me/*"], true),
        (project, &["sho"], false),
        (project, &["other", "shop"], true),
        (tag, &["urgent"], true),
        (tag, &["back*"], true),
        (tag, &["frontend"], false),
        (agent, &["claude"], true),
        (agent, &["codex"], false),
        (session, &["fix-*"], true),
        (session, &["0197"], true),
        (session, &["parser"], false),
        (session, &["[a"], false),
        (session, &[], true),
    ];
    for (set, words, want) in table {
        let mut rule = rule(&[On::Waiting]);
        set(&mut rule.filter, strings(words));
        let wants = rule.wants(&facts(Occasion::Waiting, Some(WaitFor::Permission)));
        assert_eq!(wants, want, "{words:?}");
        let bare = Facts { about: None, ..facts(Occasion::Waiting, None) };
        assert_eq!(rule.wants(&bare), words.is_empty(), "{words:?} without a session");
    }
    let dialog = Filter { dialog: vec![WaitFor::Permission], ..Filter::default() };
    let rule = Rule { filter: dialog, ..rule(&[On::Waiting, On::Done]) };
    assert!(rule.wants(&facts(Occasion::Waiting, Some(WaitFor::Permission))));
    assert!(!rule.wants(&facts(Occasion::Waiting, Some(WaitFor::Plan))));
    assert!(rule.wants(&facts(Occasion::Done, None)), "no dialog");
}

#[test]
fn when_it_is_due() {
    let waiting = facts(Occasion::Waiting, None);
    let held = Facts { hold: Duration::from_secs(3), ..waiting.clone() };
    let quiet = || Quiet::parse(["22:00-07:00"]).unwrap();
    let table = [
        (0, false, &waiting, "12:00:00", "12:00:00"),
        (30, false, &waiting, "12:00:00", "12:00:30"),
        (0, false, &held, "12:00:00", "12:00:03"),
        (30, false, &held, "12:00:00", "12:00:30"),
        (0, true, &waiting, "06:00:00", "07:00:00"),
        (30, true, &waiting, "06:59:45", "07:00:15"),
        (0, true, &waiting, "12:00:00", "12:00:00"),
    ];
    for (after, is_quiet, facts, now, due) in table {
        let mut rule = rule(&[On::Waiting]);
        rule.after = Duration::from_secs(after);
        if is_quiet {
            rule.quiet = quiet();
        }
        let planned = plan(&[rule], facts, at(now), &TimeZone::UTC);
        assert_eq!((planned.len(), planned[0].due), (1, at(due)), "{after} {now}");
        assert_eq!(planned[0].is_deferred, now != due);
    }
}

#[test]
fn each_channel_gets_an_event_once() {
    let later = Rule { after: Duration::from_mins(1), ..rule(&[On::Waiting]) };
    let unless = Some(UnlessAttached::Session);
    let if_alone = Rule { unless_attached: unless, ..rule(&[On::Waiting]) };
    let other = Rule { channel: Channel::Bell, ..rule(&[On::Waiting]) };
    let named = Rule { name: Some("mine".into()), ..rule(&[On::Waiting]) };
    let rules = [later.clone(), if_alone, rule(&[On::Done]), other, named];
    let planned = plan(&rules, &facts(Occasion::Waiting, None), at("12:00:00"), &TimeZone::UTC);
    let channels: Vec<_> = planned.iter().map(|one| one.channel.as_str()).collect();
    assert_eq!(channels, ["desktop", "bell", "mine"]);
    assert_eq!((planned[0].due, planned[0].unless_attached), (at("12:00:00"), unless));
    let waiting = facts(Occasion::Waiting, None);
    let regardless = |rules: &[Rule], facts: &Facts| {
        due_regardless(rules, "desktop", facts, at("12:00:00"), &TimeZone::UTC)
    };
    assert_eq!(regardless(&rules, &waiting), Some(at("12:01:00")), "when a client is attached");
    assert_eq!(regardless(&rules[1..2], &waiting), None);
    assert_eq!(regardless(&rules, &facts(Occasion::Crashed, None)), None);
    let asks = rule(&[On::Question]);
    assert_eq!(regardless(&[asks], &waiting), Some(at("12:00:00")), "the dialog is not known");
    let rules = [later, rule(&[On::Waiting])];
    let planned = plan(&rules, &facts(Occasion::Waiting, None), at("12:00:00"), &TimeZone::UTC);
    assert_eq!(planned.iter().map(|one| one.due).collect::<Vec<_>>(), [at("12:00:00")]);
}

/// A channel of two tables is not held back by the quiet hours of the one that has nothing to do with the event.
#[test]
fn when_a_shared_channel_is_tried_again() {
    let quiet = Quiet::parse(["22:00-07:00"]).unwrap();
    let by_night = Rule { quiet, ..rule(&[On::Waiting]) };
    let always = rule(&[On::Crashed]);
    let rules = [by_night, always];
    let table = [
        (Occasion::Crashed, "23:00:00", "23:00:00"),
        (Occasion::Waiting, "06:00:00", "07:00:00"),
        (Occasion::Waiting, "12:00:00", "12:00:00"),
        // No table wants it any more.
        (Occasion::Done, "23:00:00", "23:00:00"),
    ];
    for (occasion, now, due) in table {
        let next = next_try(&rules, "desktop", occasion, at(now), &TimeZone::UTC);
        assert_eq!(next, at(due), "{occasion:?} {now}");
    }
}
