//! Ending many sessions at a time, by one thread. Each goes through the steps of its own plan; what is bounded is how many are set
//! in motion at once, because each agent's end starts processes: 500 at a time made tmux too slow to answer.

use std::collections::{HashSet, VecDeque};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::profile::Press;
use dogwatch_core::record::ProcessIdent;
use dogwatch_core::shutdown::{self, How, Step};
use dogwatch_protocol::stream::{Ask, Leaving, Left};
use dogwatch_tmux::{Input, PaneId};
use rustix::process::Signal;

use crate::Context;
use crate::actions::kill::By;
use crate::observe::process_table::Census;
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::{agents, processes};
use crate::socket::client;

/// Sessions that are set in motion at once.
const MOST_FRESH: usize = 24;
/// How long one counts as such. An agent that takes longer waits for something, and costs nothing.
const FRESH: Duration = Duration::from_millis(500);
/// The longest wait without a look at whether others may begin, or at processes that cannot be waited for.
const BLIND_WAIT: Duration = Duration::from_millis(50);
/// How long the supervisor gets to press keys.
const KEYS: Duration = Duration::from_secs(1);
/// How long leftovers get after each signal.
const SWEEP_GRACE: Duration = Duration::from_millis(800);

/// A session on its way out.
struct Ending<'s> {
    place: usize,
    seen: &'s SessionSnapshot,
    runner: ProcessIdent,
    handle: Option<OwnedFd>,
    steps: VecDeque<Step>,
    by: By,
    /// When the last step was taken, and how long to wait for its effect.
    taken: Instant,
    until: Instant,
}

/// Ends the runners of these sessions, and with them the agents; says which step did it. `begin` is called before the first step of each.
pub(super) fn end_all(
    context: &Context,
    seen: &[SessionSnapshot],
    at_once: bool,
    begin: impl Fn(&SessionSnapshot),
) -> Vec<By> {
    let mut by = vec![By::AlreadyEnded; seen.len()];
    let mut queue = VecDeque::new();
    let mut left = Vec::new();
    for (place, one) in seen.iter().enumerate() {
        match one.living_runner() {
            Some(runner) => queue.push_back(Ending::new(context, place, one, runner, at_once)),
            None => left.push(place),
        }
    }
    if !left.is_empty() {
        // Without a runner there is nobody to tell: what it left behind is swept up.
        let census = Census::take();
        for place in left {
            begin(&seen[place]);
            if !census.family_of(&seen[place].session.id, None).is_empty() {
                by[place] = By::Kill;
            }
        }
    }
    let mut open: Vec<Ending<'_>> = Vec::new();
    while !(queue.is_empty() && open.is_empty()) {
        let now = Instant::now();
        let fresh = open.iter().filter(|one| one.taken + FRESH > now).count();
        let next = queue.drain(..MOST_FRESH.saturating_sub(fresh).min(queue.len()));
        open.extend(next.inspect(|one| begin(one.seen)));
        take_steps(context, &mut open, now);
        wait(&open, !queue.is_empty());
        let now = Instant::now();
        open.retain(|one| {
            let is_over = !processes::is_alive(one.runner);
            if is_over {
                by[one.place] = one.by;
            } else if one.steps.is_empty() && one.until <= now {
                by[one.place] = By::Kill;
                return false;
            }
            !is_over
        });
    }
    by
}

impl<'s> Ending<'s> {
    fn new(
        context: &Context,
        place: usize,
        seen: &'s SessionSnapshot,
        runner: ProcessIdent,
        at_once: bool,
    ) -> Self {
        let has_ended = seen.session.ended().is_some();
        let own_exit = if has_ended { vec![] } else { own_exit(context, &seen.session.agent) };
        let steps = shutdown::plan(&own_exit, at_once).into();
        let now = Instant::now();
        let handle = processes::handle(runner);
        Self { place, seen, runner, handle, steps, by: By::AlreadyEnded, taken: now, until: now }
    }
}

/// Those whose time has come take their next step.
fn take_steps(context: &Context, open: &mut [Ending<'_>], now: Instant) {
    let mut keys: Vec<Leaving> = Vec::new();
    let mut census = None;
    for one in open.iter_mut().filter(|one| one.until <= now) {
        while let Some(Step { how, wait }) = one.steps.pop_front() {
            one.by = match how {
                How::Keys(words) => {
                    let Some(pane) = one.seen.pane_id() else { continue };
                    keys.push(leaving(pane, &one.seen.session.agent, &words));
                    By::OwnExit
                }
                How::TellRunner => {
                    processes::signal(one.runner.pid, Signal::TERM);
                    By::Term
                }
                How::TellRunnerNow => {
                    processes::signal(one.runner.pid, Signal::QUIT);
                    By::Kill
                }
                How::KillFamily => {
                    let census = census.get_or_insert_with(Census::take);
                    let (id, runner) = (&one.seen.session.id, one.runner.pid);
                    processes::signal_all(&census.family_of(id, Some(runner)), Signal::KILL);
                    processes::signal(runner, Signal::KILL);
                    By::Kill
                }
            };
            (one.taken, one.until) = (now, now + wait);
            break;
        }
    }
    let missed = press_all(context, &keys);
    for one in open.iter_mut() {
        // A pane that takes no keys: on to the next step.
        if one.taken == now && one.seen.pane_id().is_some_and(|pane| missed.contains(&pane)) {
            one.until = now;
        }
    }
}

/// Has the supervisor press keys; returns the panes that did not take them. Where none answers, there is none that could type meanwhile.
fn press_all(context: &Context, agents: &[Leaving]) -> HashSet<PaneId> {
    if agents.is_empty() {
        return HashSet::new();
    }
    let ask = Ask::Leave { agents: agents.to_vec() };
    let left = client::ask_within(context, ask, KEYS).unwrap_or_else(|| leave(context, agents));
    left.missed.iter().filter_map(|pane| pane.parse().ok()).collect()
}

/// Presses the keys by which these agents end, by one tmux process.
pub(crate) fn leave(context: &Context, agents: &[Leaving]) -> Left {
    let inputs: Vec<Option<Input>> = agents.iter().map(|one| input(context, one)).collect();
    let typed: Vec<Input> = inputs.iter().flatten().cloned().collect();
    // Should tmux fail, keys may be pressed once more: they only say "leave" again.
    let mut outcomes = context.tmux.type_all(&typed).into_iter();
    let mut missed = Vec::new();
    for (one, input) in agents.iter().zip(inputs) {
        let outcome = input.and_then(|_| outcomes.next());
        if !outcome.is_some_and(is_typed) {
            missed.push(one.pane.clone());
        }
    }
    Left { missed }
}

/// Keys that the agent's profile has for it: nothing else is pressed at somebody's word.
fn input(context: &Context, one: &Leaving) -> Option<Input> {
    let pane: PaneId = one.pane.parse().ok()?;
    let is_known = own_exit(context, &one.agent).iter().any(|press| press.keys == one.keys);
    is_known.then(|| Input::keys(pane, &one.keys))
}

/// A pane whose process is gone takes no keys, which is no failure: it is what they are for.
fn is_typed(outcome: Result<(), dogwatch_tmux::Error>) -> bool {
    match outcome {
        Err(dogwatch_tmux::Error::PaneEnded { .. }) => false,
        outcome => outcome.logged("press keys").is_some(),
    }
}

/// Presses keys in an agent's pane.
pub(super) fn press(context: &Context, pane: PaneId, agent: &str, keys: &[String]) -> bool {
    press_all(context, &[leaving(pane, agent, keys)]).is_empty()
}

fn leaving(pane: PaneId, agent: &str, keys: &[String]) -> Leaving {
    Leaving { pane: pane.to_string(), agent: agent.to_owned(), keys: keys.to_vec() }
}

/// The agent's own way out. A profile that was removed since must not stand in the way of an end.
pub(super) fn own_exit(context: &Context, agent: &str) -> Vec<Press> {
    agents::profile(context, agent)
        .map(|profile| profile.ending)
        .logged("read an agent's profile")
        .unwrap_or_default()
}

/// Waits until one of them is gone, or has waited long enough.
fn wait(open: &[Ending<'_>], others_wait: bool) {
    let Some(until) = open.iter().map(|one| one.until).min() else { return };
    let left = until.saturating_duration_since(Instant::now());
    let is_blind = others_wait || open.iter().any(|one| one.handle.is_none());
    let at_most = if is_blind { left.min(BLIND_WAIT) } else { left };
    processes::wait_any(open.iter().filter_map(|one| one.handle.as_ref()), at_most);
}

/// Ends what carries the tag of these sessions and is still there, by TERM and then KILL; returns for each what did not go.
pub(super) fn sweep_all(sessions: &[&str]) -> Vec<Vec<i32>> {
    for signal in [Signal::TERM, Signal::KILL, Signal::KILL] {
        let census = Census::take();
        let family = sessions.iter().flat_map(|session| census.family_of(session, None));
        // With their start times, so that a pid that is given out again meanwhile is left alone.
        let family: Vec<_> = family.filter_map(processes::identify).collect();
        if family.is_empty() {
            return vec![Vec::new(); sessions.len()];
        }
        for process in family.iter().filter(|process| processes::is_alive(**process)) {
            processes::signal(process.pid, signal);
        }
        let deadline = Instant::now() + SWEEP_GRACE;
        for process in family {
            processes::wait_gone(process, deadline.saturating_duration_since(Instant::now()));
        }
    }
    let census = Census::take();
    sessions.iter().map(|session| census.family_of(session, None)).collect()
}
