//! Whole runs: the order of attempts, the questions, and that a crash changes nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::world::{End, Play, World};
use crate::escalation::Action;
use crate::escalation::Trigger;
use crate::workflow::definition::Failure;
use crate::workflow::plan::{AgentChoice, Budget, Item, Plan};
use crate::workflow::state::{Outcome, Standing};
use crate::workflow::{Dated, Decision, Fact, Job, Run, bmad};

fn item(id: &str) -> Item {
    let group = id.split_once('.').map(|(epic, _)| epic.to_owned());
    let crew = AgentChoice {
        primary: "codex".into(),
        fallback: Some("claude".into()),
        model: Some("m".into()),
    };
    let agents =
        ["create", "dev", "auto", "review"].map(|step| (step.to_owned(), crew.clone())).into();
    Item { id: id.into(), group, agents, ..Item::default() }
}

fn plan(ids: &[&str]) -> Plan {
    Plan { items: ids.iter().map(|id| item(id)).collect(), side_by_side: 1, ..Plan::default() }
}

fn play(ids: &[&str], world: &mut World) -> (Run, Play) {
    let mut play = Play::new(bmad().unwrap(), plan(ids));
    let run = play.play_out(world, || false);
    (run, play)
}

fn sessions(world: &World) -> Vec<String> {
    world.made.iter().map(|(job, n)| format!("{job}#{n}")).collect()
}

/// The agents of a step's attempts.
fn agents(play: &Play, step: &str) -> Vec<String> {
    let agent = |fact: &Fact| match fact {
        Fact::Attempted { job, agent, .. } if job.step == step => Some(agent.clone()),
        _ => None,
    };
    play.journal.iter().filter_map(|dated| agent(&dated.fact)).collect()
}

#[test]
fn a_run_without_failures() {
    let mut world = World::new(|_, _| End::Good);
    let (run, _) = play(&["1.1", "1.2", "2.1"], &mut world);
    assert_eq!(run.standing, Standing::Complete);
    assert_eq!(
        sessions(&world),
        [
            "1.1/create#1",
            "1.1/dev#1",
            "1.1/auto#1",
            "1.1/review#1",
            "1.1/commit#1",
            "1.2/create#1",
            "1.2/dev#1",
            "1.2/auto#1",
            "1.2/review#1",
            "1.2/commit#1",
            "epic 1/retro#1",
            "epic 1/retro-commit#1",
            "2.1/create#1",
            "2.1/dev#1",
            "2.1/auto#1",
            "2.1/review#1",
            "2.1/commit#1",
            "epic 2/retro#1",
            "epic 2/retro-commit#1",
        ]
    );
    assert!(world.asked.is_empty());
}

#[test]
fn steps_that_are_done_or_skipped_are_not_executed() {
    let mut world = World::new(|_, _| End::Good);
    world.done.insert(Job::of_item("1.1", "create"));
    world.epics_are_complete = false;
    let plan = Plan { skip: vec!["auto".into()], ..plan(&["1.1"]) };
    let run = Play::new(bmad().unwrap(), plan).play_out(&mut world, || false);
    assert_eq!(sessions(&world), ["1.1/dev#1", "1.1/review#1", "1.1/commit#1"]);
    assert_eq!(run.standing, Standing::Complete);
}

#[test]
fn retries_then_the_fallback_then_a_person() {
    for (failure, attempts, want_agents, want) in [
        (Failure::Crash, 5, "codex codex codex claude claude", Trigger::DevFailed),
        (Failure::Failed, 4, "codex codex claude claude", Trigger::DevFailed),
        (Failure::Unverified, 4, "codex codex claude claude", Trigger::DevFailed),
        (Failure::Unclear, 4, "codex codex claude claude", Trigger::OutputUnclear),
        (Failure::Spawn, 5, "codex codex codex claude claude", Trigger::SpawnFailed),
    ] {
        let mut world = World::new(move |job, n| {
            if job.step == "dev" && n <= attempts { End::Bad(failure) } else { End::Good }
        });
        let (run, play) = play(&["1.1"], &mut world);
        let tried = agents(&play, "dev");
        assert_eq!(tried[..tried.len() - 1].join(" "), want_agents, "{failure:?}");
        assert_eq!(world.asked, [(want, want == Trigger::SpawnFailed)], "{failure:?}");
        assert_eq!(run.standing, Standing::Complete);
    }
}

#[test]
fn a_limit_is_waited_out_with_the_same_agent() {
    let mut world =
        World::new(
            |job, n| {
                if job.step == "dev" && n <= 7 { End::Bad(Failure::Limit) } else { End::Good }
            },
        );
    let (run, play) = play(&["1.1"], &mut world);
    assert_eq!(agents(&play, "dev"), ["codex"; 8]);
    assert!(world.asked.is_empty());
    let waited = run.last.unwrap().as_second();
    assert!(waited > 7 * 300, "{waited}");
}

#[test]
fn reviews_are_repeated_by_the_same_agent() {
    for (end, want) in [
        (End::Findings, Trigger::ReviewLoop),
        (End::Bad(Failure::Unverified), Trigger::SessionIncomplete),
        (End::Bad(Failure::Crash), Trigger::ReviewLoop),
    ] {
        let script = end.clone();
        let mut world =
            World::new(
                move |job, n| {
                    if job.step == "review" && n <= 5 { script.clone() } else { End::Good }
                },
            );
        let (_, play) = play(&["1.1"], &mut world);
        assert_eq!(agents(&play, "review"), ["codex"; 6], "{end:?}");
        assert_eq!(world.asked, [(want, true)], "{end:?}");
    }
}

#[test]
fn each_failure_has_its_trigger() {
    for (step, failure, trigger, critical) in [
        ("create", Failure::Unverified, Trigger::SessionIncomplete, true),
        ("create", Failure::Crash, Trigger::Unexpected, true),
        ("commit", Failure::Failed, Trigger::CommitFailed, true),
        ("dev", Failure::Failed, Trigger::DevFailed, true),
    ] {
        let mut world =
            World::new(
                move |job, n| {
                    if job.step == step && n <= 9 { End::Bad(failure) } else { End::Good }
                },
            );
        world.answers = Box::new(|_, _| Action::Retry);
        let mut plan = plan(&["1.1"]);
        plan.items[0].blocking = true;
        let run = Play::new(bmad().unwrap(), plan).play_out(&mut world, || false);
        assert_eq!(world.asked[0], (trigger, critical), "{step} {failure:?}");
        assert_eq!(run.standing, Standing::Complete);
    }
}

#[test]
fn each_answer_has_its_effect() {
    for (action, end, sessions_of_next) in [
        (Action::Accept, "done", true),
        (Action::SkipStep, "done", true),
        (Action::SkipStory, "dropped", true),
        (Action::AbortStory, "dropped", true),
        (Action::AbortRun, "aborted", false),
        (Action::Retry, "done", true),
        (Action::OtherAgent, "done", true),
        (Action::FixByHand, "done", true),
        (Action::Pause, "done", true),
    ] {
        let mut world = World::new(|job, n| {
            if job.step == "dev" && n <= 4 { End::Bad(Failure::Failed) } else { End::Good }
        });
        world.answers =
            Box::new(move |_, number| if number == 1 { action } else { Action::Accept });
        let (run, _) = play(&["1.1", "1.2"], &mut world);
        let first = &run.items["1.1"];
        let found = match (&run.standing, &first.dropped) {
            (Standing::Aborted { .. }, _) => "aborted",
            (_, Some(_)) => "dropped",
            (Standing::Complete, None) => "done",
            other => panic!("{other:?}"),
        };
        assert_eq!(found, end, "{action:?}");
        assert_eq!(
            sessions(&world).contains(&"1.2/commit#1".to_owned()),
            sessions_of_next,
            "{action:?}"
        );
    }
}

/// A commit, a merge, or a step that only its session's end verifies cannot be checked again: it is repeated.
#[test]
fn a_pause_verifies_nothing() {
    for (side_by_side, step, trigger) in [
        (1, "commit", Trigger::CommitFailed),
        (2, "merge", Trigger::DependencyConflict),
        (1, "auto", Trigger::Budget),
    ] {
        let mut world = World::new(move |job, n| {
            if job.step == step && step != "auto" && n <= 5 {
                End::Bad(Failure::Failed)
            } else {
                End::Good
            }
        });
        world.tokens = if step == "auto" { 600 } else { 0 };
        let choose = |trigger, n| match (trigger, n) {
            (_, 1) => Action::Pause,
            (Trigger::Budget, _) => Action::RaiseBudget,
            _ => Action::Retry,
        };
        world.answers = Box::new(choose);
        let budget = Budget { tokens: Some(1000), micro_usd: None };
        let plan = Plan { side_by_side, budget, ..plan(&["1.1"]) };
        let mut play = Play::new(bmad().unwrap(), plan);
        let run = play.play_out(&mut world, || false);
        assert_eq!(world.asked[0].0, trigger);
        assert_eq!(run.standing, Standing::Complete);
        let job = Job::of_item("1.1", step);
        let verified = play.journal.iter().find_map(|dated| match &dated.fact {
            Fact::Verified { job: of, n, .. } if *of == job => Some(*n),
            _ => None,
        });
        assert_eq!(verified, Some(run.job(&job).attempts), "{step}");
        assert!(world.made.contains(&(job, verified.unwrap())), "{step}");
    }
}

#[test]
fn a_story_without_progress_is_deferred() {
    let mut world =
        World::new(|job, _| if job.step == "dev" { End::Halfway(3) } else { End::Good });
    let (run, _) = play(&["1.1"], &mut world);
    assert!(run.items["1.1"].deferred && world.asked.is_empty());
    assert_eq!(run.standing, Standing::Complete);
}

#[test]
fn a_failed_optional_step_does_not_stop_the_story() {
    let mut world = World::new(|job, _| match job.step.as_str() {
        "auto" | "retro" => End::Bad(Failure::Crash),
        _ => End::Good,
    });
    let (run, _) = play(&["1.1", "2.1"], &mut world);
    assert_eq!(run.standing, Standing::Complete);
    assert!(world.asked.is_empty());
    let auto = run.job(&Job::of_item("1.1", "auto"));
    assert!(matches!(auto.outcome(), Some(Outcome::Skipped { .. })));
    assert_eq!(run.job(&Job::of_group("1", "retro")).attempts, 2);
}

#[test]
fn a_budget_is_asked_about_once_per_story() {
    let mut world = World::new(|_, _| End::Good);
    world.tokens = 600;
    world.answers = Box::new(|_, _| Action::RaiseBudget);
    let plan =
        Plan { budget: Budget { tokens: Some(1000), micro_usd: None }, ..plan(&["1.1", "1.2"]) };
    let run = Play::new(bmad().unwrap(), plan).play_out(&mut world, || false);
    assert_eq!(world.asked, [(Trigger::Budget, true); 2]);
    assert_eq!(run.standing, Standing::Complete);
}

#[test]
fn parallel_items_are_merged_in_order() {
    let mut world = World::new(|job, n| match (job.step.as_str(), job.item()) {
        ("merge", Some("1.2")) if n == 1 => End::Bad(Failure::Failed),
        _ => End::Good,
    });
    world.answers = Box::new(|_, _| Action::OneByOne);
    let plan = Plan { side_by_side: 2, ..plan(&["1.1", "1.2", "1.3"]) };
    let mut play = Play::new(bmad().unwrap(), plan);
    let begun = play.run().next(jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(begun.len(), 2, "{begun:?}");
    let run = play.play_out(&mut world, || false);
    assert_eq!(run.standing, Standing::Complete);
    assert_eq!(world.asked, [(Trigger::DependencyConflict, false)]);
    let merges: Vec<_> = sessions(&world).into_iter().filter(|s| s.contains("merge")).collect();
    assert_eq!(merges, ["1.1/merge#1", "1.2/merge#2", "1.3/merge#1"]);
}

/// Another question comes in while ours is being raised: ours keeps its id.
#[test]
fn questions_of_stories_side_by_side_are_their_own() {
    let ids = ["1.1", "1.2"];
    let plan = Plan { side_by_side: 2, ..plan(&ids) };
    let mut run = Run::new(bmad().unwrap(), plan);
    let take = |run: &mut Run, fact: Fact| {
        run.take(&Dated { at: jiff::Timestamp::UNIX_EPOCH, fact });
    };
    for id in ids {
        take(
            &mut run,
            Fact::Begun { item: id.into(), base: None, worktree: None, before: BTreeMap::new() },
        );
        let job = Job::of_item(id, "create");
        for n in 1..=5 {
            let (agent, model, name) = ("codex".into(), None, None);
            let attempted =
                Fact::Attempted { job: job.clone(), n, agent, model, name, held: false };
            take(&mut run, attempted);
            let (failure, why) = (Failure::Failed, "x".into());
            let (until, progress, not_clean) = (None, None, false);
            take(
                &mut run,
                Fact::Failed { job: job.clone(), n, failure, why, until, progress, not_clean },
            );
        }
    }
    let asks = |run: &Run| -> Vec<Decision> {
        let all = run.next(jiff::Timestamp::UNIX_EPOCH);
        all.into_iter().filter(|d| matches!(d, Decision::Escalate { .. })).collect()
    };
    let both = asks(&run);
    let Decision::Escalate { id, job, trigger, why, .. } = both[0].clone() else { panic!() };
    // Not critical, so that the other item continues.
    take(&mut run, Fact::Escalated { id: id.clone(), job, trigger, critical: false, why });
    assert_eq!(asks(&run), both[1..]);
    assert!(run.has_asked(&id) && !run.has_asked("1.2/create?1") && !run.has_asked("1.1/create?2"));
}

#[test]
fn an_unrecorded_session_is_ended_with_its_run() {
    let mut run = Run::new(bmad().unwrap(), plan(&["1.1"]));
    let job = Job::of_item("1.1", "create");
    let attempted = Fact::Attempted {
        job: job.clone(),
        n: 1,
        agent: "codex".into(),
        model: None,
        name: Some("sa-x".into()),
        held: false,
    };
    let close = |session: &str| {
        let (job, session) = (job.clone(), session.to_owned());
        vec![Decision::Close { job, n: 1, session }]
    };
    let now = jiff::Timestamp::UNIX_EPOCH;
    let aborted = Fact::Aborted { by: "me".into(), why: "so".into() };
    for fact in [attempted, aborted] {
        run.take(&Dated { at: now, fact });
    }
    assert_eq!(run.next(now), close("sa-x"));
    run.take(&Dated { at: now, fact: Fact::Closed { job: job.clone(), n: 1 } });
    assert_eq!(run.next(now), []);
    let spawned = Fact::Spawned { job: job.clone(), n: 1, session: "id".into() };
    run.take(&Dated { at: now, fact: spawned });
    assert_eq!(run.next(now), close("id"), "it came up all the same");
}

#[test]
fn dependencies_between_items_are_respected() {
    let mut world = World::new(|_, _| End::Good);
    let mut plan = Plan { side_by_side: 3, ..plan(&["1.1", "1.2", "1.3"]) };
    plan.items[1].after = vec!["1.1".into()];
    let mut play = Play::new(bmad().unwrap(), plan);
    let first: Vec<String> =
        play.run().next(jiff::Timestamp::UNIX_EPOCH).iter().map(Decision::key).collect();
    assert_eq!(first, ["begin 1.1", "begin 1.3"]);
    play.play_out(&mut world, || false);
    let at = |name: &str| sessions(&world).iter().position(|s| s == name).unwrap();
    assert!(at("1.1/merge#1") < at("1.2/create#1"));
}

fn an_end() -> impl Strategy<Value = End> {
    prop_oneof![
        6 => Just(End::Good),
        1 => prop::sample::select(Failure::ALL.to_vec()).prop_map(End::Bad),
        1 => Just(End::Findings),
        1 => (0..3u32).prop_map(End::Halfway),
    ]
}

fn an_action() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![
        Action::Retry,
        Action::OtherAgent,
        Action::Accept,
        Action::FixByHand,
        Action::SkipStep,
        Action::SkipStory,
        Action::Pause,
        Action::OneByOne,
        Action::RaiseBudget,
        Action::GoOn,
    ])
}

/// Ends of attempts, drawn at random; the others succeed.
fn a_world(ends: BTreeMap<(u32, u32), End>, choices: Vec<Action>, tokens: u64) -> World {
    let mut world = World::new(move |job, n| {
        let key =
            format!("{job}").bytes().fold(0u32, |sum, byte| (sum * 31 + u32::from(byte)) % 37);
        ends.get(&(key, n)).cloned().unwrap_or(End::Good)
    });
    world.tokens = tokens;
    // Without an accepting answer the run would ask for ever.
    world.answers = Box::new(move |_, number| {
        choices.get(number as usize).copied().unwrap_or(Action::SkipStory)
    });
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_crash_changes_nothing(
        ends in prop::collection::btree_map((0..37u32, 1..6u32), an_end(), 0..80),
        choices in prop::collection::vec(an_action(), 0..8),
        side_by_side in 1..4u32,
        tokens in prop::sample::select(vec![0u64, 300]),
        deaths in prop::collection::vec(any::<bool>(), 0..400),
    ) {
        let plan = Plan {
            side_by_side,
            budget: Budget { tokens: Some(2000), micro_usd: None },
            ..plan(&["1.1", "1.2", "2.1"])
        };
        let mut calm = a_world(ends.clone(), choices.clone(), tokens);
        let mut undisturbed = Play::new(bmad().unwrap(), plan.clone());
        let wanted = undisturbed.play_out(&mut calm, || false);
        let mut rough = a_world(ends, choices, tokens);
        let mut disturbed = Play::new(bmad().unwrap(), plan);
        let mut deaths = deaths.into_iter();
        let found = disturbed.play_out(&mut rough, || deaths.next().unwrap_or(false));
        prop_assert_eq!(&found.standing, &wanted.standing);
        let settled = |run: &Run| -> Vec<(Job, Option<Outcome>)> {
            run.jobs.iter().map(|(job, state)| (job.clone(), state.outcome().cloned())).collect()
        };
        prop_assert_eq!(settled(&found), settled(&wanted));
        prop_assert_eq!(&rough.made, &calm.made);
        prop_assert_eq!(&rough.asked, &calm.asked);
        let facts = |play: &Play| play.journal.iter().map(|d| d.fact.clone()).collect::<Vec<_>>();
        prop_assert_eq!(facts(&disturbed), facts(&undisturbed));
    }

    #[test]
    fn verified_steps_are_not_repeated_and_attempts_are_bounded(
        ends in prop::collection::btree_map((0..37u32, 1..6u32), an_end(), 0..80),
        side_by_side in 1..4u32,
    ) {
        let plan = Plan { side_by_side, ..plan(&["1.1", "1.2", "2.1"]) };
        let mut world = a_world(ends, vec![], 0);
        let mut play = Play::new(bmad().unwrap(), plan);
        let run = play.play_out(&mut world, || false);
        prop_assert_eq!(&run.standing, &Standing::Complete);
        let mut verified = std::collections::BTreeSet::new();
        for dated in &play.journal {
            match &dated.fact {
                Fact::Verified { job, .. } => {
                    prop_assert!(verified.insert(job.clone()), "{} twice", job);
                }
                Fact::Attempted { job, n, .. } => {
                    prop_assert!(!verified.contains(job), "{} again", job);
                    prop_assert!(*n <= 30, "{} #{}", job, n);
                }
                _ => {}
            }
        }
        // Any prefix of the journal plus the rest gives the same state as the whole.
        let whole = format!("{:?}", play.run().jobs);
        for cut in [0, play.journal.len() / 3, play.journal.len() / 2] {
            let (head, tail) = play.journal.split_at(cut);
            let mut run = Run::replay(play.workflow.clone(), play.plan.clone(), head);
            for dated in tail {
                run.take(dated);
            }
            prop_assert_eq!(&format!("{:?}", run.jobs), &whole);
        }
        // Serialised and read again, it is the same.
        for dated in &play.journal {
            let text = serde_json::to_string(&dated.fact).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Fact>(&text).unwrap(), &dated.fact);
        }
    }
}
