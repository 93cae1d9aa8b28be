//! When a turn is over, and when that is only likely.

use super::*;

#[test]
fn a_turn_without_an_answer() {
    use Basis::{Asserted, Inferred};
    let mute = |screen| Evidence {
        transcript: edge(50, EdgeKind::Unanswered),
        hooks: edge(49, EdgeKind::Began),
        screen,
        ..living()
    };
    let of = Source::Transcript;
    check("no source says why", mute(prompt()), "error", of, Inferred);
    let limit = mute(shows(Shows::Limit("t".into(), None)));
    assert_eq!(judge(&limit).since, Some(at(50)));
    check("the screen does", limit, "limited", Source::Screen, Inferred);
    let fine = Evidence { hooks: edge(49, EdgeKind::Done), ..mute(prompt()) };
    check("its hook says that all went well", fine, "idle", Source::Hook, Asserted);
}

#[test]
fn what_follows_from_messages_is_inferred() {
    use Basis::Inferred;
    let likely = |what| {
        let edge = Some(Edge { at: at(50), what, told: false });
        let transcript = Turn { edge, last: Some(at(50)), ..Turn::default() };
        Evidence { transcript, ..living() }
    };
    let of = Source::Transcript;
    check("began", likely(EdgeKind::Began), "working", of, Inferred);
    check("done", likely(EdgeKind::Done), "idle", of, Inferred);
    let mut spoke = Evidence { screen: prompt(), ..likely(EdgeKind::Began) };
    spoke.transcript.course.spoke_last = true;
    assert_eq!(rest(&spoke), (false, 0), "it had its say");
}

/// codex: its transcript writes down each beginning and each end.
fn written(second: i64, what: EdgeKind) -> Turn {
    Turn { tells_ends: true, began: Some(at(second)), ..edge(second, what) }
}

/// codex calls its hook for the end of a turn within the turn, and may go on with it.
#[test]
fn a_hook_does_not_end_a_turn_whose_end_will_be_written() {
    use Basis::{Asserted, Inferred};
    let stopped = |hook, screen| Evidence {
        hooks: Turn { began: Some(at(41)), ..edge(hook, EdgeKind::Done) },
        transcript: written(40, EdgeKind::Began),
        screen,
        ..living()
    };
    let of = Source::Transcript;
    check("a moment ago", stopped(60, working()), "working", of, Asserted);
    check("the user's own hook takes long", stopped(45, working()), "working", of, Asserted);
    check("nothing moves on the screen", stopped(45, prompt()), "working", of, Inferred);
    check("the screen is not read", stopped(45, None), "working", of, Asserted);
    let over = |end| Evidence {
        transcript: Turn { tells_ends: true, ..edge(end, EdgeKind::Done) },
        ..stopped(58, prompt())
    };
    check("now it is written", over(59), "idle", of, Asserted);
    check("the end of the turn before", over(30), "working", Source::Hook, Inferred);
    let late = Evidence { now: at(70), ..over(30) };
    check("nothing more is written", late, "idle", Source::Hook, Asserted);
    let cut_short = Evidence {
        hooks: edge(58, EdgeKind::Interrupted),
        transcript: written(40, EdgeKind::Began),
        screen: working(),
        ..living()
    };
    check("interrupted, two say otherwise", cut_short, "idle", Source::Hook, Inferred);
}

/// Agents whose transcript does not tell ends, or is not found.
#[test]
fn a_hook_ends_a_turn_if_the_screen_shows_no_work() {
    use Basis::{Asserted, Inferred};
    let stopped = |screen| Evidence { hooks: edge(60, EdgeKind::Done), screen, ..living() };
    check("at its prompt", stopped(prompt()), "idle", Source::Hook, Asserted);
    check("not read", stopped(None), "idle", Source::Hook, Asserted);
    check("its hooks run", stopped(working()), "working", Source::Screen, Inferred);
    let missing = Screen { is_live: false, ..working().unwrap() };
    check("no end on the screen", stopped(Some(missing)), "idle", Source::Hook, Asserted);
}

/// codex 0.101 to 0.116, and later ones whose title is switched off, show nothing between two paragraphs.
#[test]
fn a_quiet_screen_is_no_end_of_a_turn_whose_end_will_be_written() {
    use Basis::{Asserted, Inferred};
    let quiet = |now| Evidence {
        now: at(now),
        transcript: written(40, EdgeKind::Began),
        movement: Some(at(44)),
        screen: prompt(),
        ..living()
    };
    check("for three seconds", quiet(48), "working", Source::Transcript, Asserted);
    check("for two minutes", quiet(164), "working", Source::Transcript, Asserted);
    check("for five", quiet(360), "stuck", Source::Clock, Inferred);
    let hooks = Turn { began: Some(at(41)), ..edge(41, EdgeKind::Began) };
    let hooked = Evidence { hooks, ..quiet(48) };
    check("with hooks", hooked, "working", Source::Hook, Asserted);
    let esc = Evidence { transcript: written(47, EdgeKind::Interrupted), ..quiet(48) };
    check("Esc is written", esc, "idle", Source::Transcript, Asserted);
    let likely = Turn { edge: edge(40, EdgeKind::Began).edge, ..Turn::default() };
    let other = Evidence { transcript: likely, ..quiet(48) };
    check("one that does not tell ends", other, "idle", Source::Screen, Inferred);
}
