//! The content of a round, determined by the seed and the number of the round.

use crate::dice::Dice;

/// What a spawned actor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Ends with a code after a while.
    Exits { code: u8, after_ms: u32 },
    /// Ends by its own signal after a while.
    Crashes { signal: u8, after_ms: u32 },
    /// Stays until it is ended.
    Stays,
    /// Stays, and ignores HUP, INT and TERM.
    Stubborn,
    /// Leaves a daemon behind that ignores HUP, and exits.
    LeavesDaemon { after_ms: u32 },
    /// Prints bytes that no terminal program should print, and exits with a code.
    Noisy { code: u8 },
    /// Shows one dialog after the other, and waits for a key at each.
    Asker,
    /// Shows an input box, takes messages, and reports each by a hook.
    Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    Spawn(Role),
    Kill { pick: u64, now: bool },
    Send { pick: u64, now: bool },
    Job { pick: u64 },
    Hook { pick: u64, size: u32 },
    Read { pick: u64, command: Reading },
    Wait { pick: u64 },
    Gc,
    Reconcile,
}

/// Commands that only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reading {
    Ls,
    Status,
    Why,
    Capture,
    Events,
    Messages,
    Doctor,
    Exists,
    Record,
}

impl Deed {
    /// Its row in the table.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Spawn(_) => "spawn",
            Self::Kill { .. } => "kill",
            Self::Send { .. } => "send",
            Self::Job { .. } => "job",
            Self::Hook { .. } => "hook",
            Self::Wait { .. } => "wait",
            Self::Gc => "gc",
            Self::Reconcile => "reconcile",
            Self::Read { command, .. } => command.as_str(),
        }
    }
}

impl Reading {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ls => "ls",
            Self::Status => "status",
            Self::Why => "why",
            Self::Capture => "capture",
            Self::Events => "events",
            Self::Messages => "messages",
            Self::Doctor => "doctor",
            Self::Exists => "exists",
            Self::Record => "record",
        }
    }
}

/// An operation, started after a while, and perhaps killed halfway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) deed: Deed,
    pub(crate) after_ms: u64,
    /// Killed with -9 so many microseconds after its start.
    pub(crate) cut_us: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fault {
    None,
    /// Many of them, one after the other, while much is open.
    KillSupervisors,
    StopSupervisor,
    /// The disk has no byte left while it has much to do.
    FullSupervisor,
    /// An upgrade: another file under its program's name.
    ReplaceSupervisor,
    KillRunner,
    KillAgent,
    /// Messages are typed into agents that are killed meanwhile.
    DyingAgents,
    KillServer,
    EndServer,
    KillControlClient,
    KillTmuxCommand,
    KillService(Service),
    StopRunner,
    StopAgent,
    StopServer,
    StopService(Service),
    StopCommands,
    DiskFull,
    DiskReadOnly,
    DeletedLog,
    DatabaseLocked,
    HookStorm,
    BrokerStopped,
    BrokerKilled,
    HostileFiles,
}

/// Long-running dogwatch processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Service {
    Watch,
    Relay,
    Monitor,
    Story,
}

impl Service {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Relay => "relay",
            Self::Monitor => "monitor",
            Self::Story => "story",
        }
    }
}

impl Fault {
    pub(crate) fn label(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::KillSupervisors => "kill -9 supervisors".to_owned(),
            Self::StopSupervisor => "stop supervisor".to_owned(),
            Self::FullSupervisor => "disk full under the supervisor".to_owned(),
            Self::ReplaceSupervisor => "replace the supervisor's program".to_owned(),
            Self::KillRunner => "kill -9 runner".to_owned(),
            Self::KillAgent => "kill -9 agent".to_owned(),
            Self::DyingAgents => "dying".to_owned(),
            Self::KillServer => "kill -9 tmux server".to_owned(),
            Self::EndServer => "tmux kill-server".to_owned(),
            Self::KillControlClient => "kill -9 tmux control client".to_owned(),
            Self::KillTmuxCommand => "kill -9 tmux under a command".to_owned(),
            Self::KillService(service) => format!("kill -9 {}", service.as_str()),
            Self::StopRunner => "stop runner".to_owned(),
            Self::StopAgent => "stop agent".to_owned(),
            Self::StopServer => "stop tmux server".to_owned(),
            Self::StopService(service) => format!("stop {}", service.as_str()),
            Self::StopCommands => "stop commands".to_owned(),
            Self::DiskFull => "disk full".to_owned(),
            Self::DiskReadOnly => "disk read-only".to_owned(),
            Self::DeletedLog => "database log deleted".to_owned(),
            Self::DatabaseLocked => "database locked".to_owned(),
            Self::HookStorm => "hook storm".to_owned(),
            Self::BrokerStopped => "broker stopped".to_owned(),
            Self::BrokerKilled => "kill -9 broker".to_owned(),
            Self::HostileFiles => "hostile files".to_owned(),
        }
    }

    /// Aimed at the supervisor, beside agents that must get every message.
    fn is_of_supervisor(self) -> bool {
        matches!(
            self,
            Self::KillSupervisors
                | Self::StopSupervisor
                | Self::FullSupervisor
                | Self::ReplaceSupervisor
        )
    }

    /// Needs a private disk, which only root can mount.
    pub(crate) fn needs_disk(self) -> bool {
        matches!(self, Self::DiskFull | Self::DiskReadOnly | Self::FullSupervisor)
    }
}

const FAULTS: &[(u64, Fault)] = &[
    (6, Fault::None),
    (14, Fault::KillSupervisors),
    (4, Fault::StopSupervisor),
    (4, Fault::FullSupervisor),
    (4, Fault::ReplaceSupervisor),
    (8, Fault::KillRunner),
    (8, Fault::KillAgent),
    (6, Fault::DyingAgents),
    (4, Fault::KillServer),
    (3, Fault::EndServer),
    (4, Fault::KillControlClient),
    (5, Fault::KillTmuxCommand),
    (3, Fault::KillService(Service::Watch)),
    (3, Fault::KillService(Service::Relay)),
    (3, Fault::KillService(Service::Monitor)),
    (8, Fault::KillService(Service::Story)),
    (4, Fault::StopRunner),
    (4, Fault::StopAgent),
    (4, Fault::StopServer),
    (2, Fault::StopService(Service::Watch)),
    (2, Fault::StopService(Service::Relay)),
    (2, Fault::StopService(Service::Monitor)),
    (3, Fault::StopService(Service::Story)),
    (5, Fault::StopCommands),
    (6, Fault::DiskFull),
    (4, Fault::DiskReadOnly),
    (2, Fault::DeletedLog),
    (4, Fault::DatabaseLocked),
    (5, Fault::HookStorm),
    (5, Fault::BrokerStopped),
    (2, Fault::BrokerKilled),
    (5, Fault::HostileFiles),
];

/// One round of so many kills supervisors, whatever is drawn: they are what everything else relies on.
const OF_SUPERVISORS: u32 = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) fault: Fault,
    pub(crate) fault_after_ms: u64,
    pub(crate) fault_for_ms: u64,
    /// Selects among the targets that exist when the fault comes.
    pub(crate) fault_pick: u64,
    pub(crate) acts: Vec<Act>,
}

impl Round {
    pub(crate) fn draw(seed: u64, number: u32) -> Self {
        let mut dice = Dice::of_round(seed, number);
        let drawn = dice.weighted(FAULTS);
        let fault = if number % OF_SUPERVISORS == 2 { Fault::KillSupervisors } else { drawn };
        let mut acts: Vec<Act> = (0..dice.between(5, 9)).map(|_| draw_act(&mut dice)).collect();
        if fault == Fault::DyingAgents || fault.is_of_supervisor() {
            // A command that is killed may end an old tmux server (tmux/tmux#4980); here nothing else may.
            for act in &mut acts {
                act.cut_us = None;
            }
        }
        Self {
            fault,
            fault_after_ms: dice.below(350),
            fault_for_ms: dice.between(100, 1500),
            fault_pick: dice.next(),
            acts,
        }
    }
}

impl Round {
    /// Whether a process is killed that may have held the lock against tmux/tmux#4980.
    pub(crate) fn may_crash_tmux(&self) -> bool {
        let is_service = matches!(
            self.fault,
            Fault::KillService(_)
                | Fault::KillSupervisors
                | Fault::KillControlClient
                | Fault::KillTmuxCommand
        );
        is_service || self.acts.iter().any(|act| act.cut_us.is_some())
    }
}

fn draw_act(dice: &mut Dice) -> Act {
    let deed = draw_deed(dice);
    let after_ms = dice.below(250);
    // A spawn takes 30 ms on a quiet machine and ten times that on a busy one; the kills are spread over both.
    let cut_us = dice.percent(16).then(|| {
        let spread = dice.weighted(&[(3, 8_000), (4, 60_000), (2, 400_000)]);
        dice.below(spread)
    });
    Act { deed, after_ms, cut_us }
}

fn draw_deed(dice: &mut Dice) -> Deed {
    let pick = dice.next();
    match dice.below(100) {
        0..46 => Deed::Spawn(draw_role(dice)),
        46..58 => Deed::Kill { pick, now: dice.percent(40) },
        58..67 => Deed::Send { pick, now: dice.percent(30) },
        67..70 => Deed::Job { pick },
        70..78 => {
            Deed::Hook { pick, size: dice.weighted(&[(5, 200), (2, 20_000), (1, 3_000_000)]) }
        }
        78..92 => {
            let command = dice.weighted(&[
                (3, Reading::Ls),
                (4, Reading::Status),
                (2, Reading::Why),
                (3, Reading::Capture),
                (2, Reading::Events),
                (1, Reading::Messages),
                (1, Reading::Doctor),
                (1, Reading::Exists),
                (1, Reading::Record),
            ]);
            Deed::Read { pick, command }
        }
        92..95 => Deed::Wait { pick },
        95..98 => Deed::Gc,
        _ => Deed::Reconcile,
    }
}

fn draw_role(dice: &mut Dice) -> Role {
    let after_ms = u32::try_from(dice.below(900)).unwrap_or(0);
    let code = u8::try_from(dice.below(120)).unwrap_or(0);
    match dice.below(100) {
        0..38 => Role::Exits { code: if code < 40 { 0 } else { code }, after_ms },
        38..54 => {
            Role::Crashes { signal: dice.weighted(&[(1, 11), (1, 6), (1, 9), (1, 15)]), after_ms }
        }
        54..68 => Role::Stays,
        68..73 => Role::Stubborn,
        73..80 => Role::LeavesDaemon { after_ms },
        80..88 => Role::Noisy { code },
        _ => Role::Agent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_every_round() {
        for round in 0..200 {
            assert_eq!(Round::draw(7, round), Round::draw(7, round));
        }
        let differ = (0..200).filter(|&n| Round::draw(7, n) != Round::draw(8, n)).count();
        assert_eq!(differ, 200);
    }

    #[test]
    fn nothing_excuses_a_lost_server_while_agents_die() {
        let rounds = (0..600).map(|number| Round::draw(1, number));
        let mut dying = rounds.filter(|round| round.fault == Fault::DyingAgents).peekable();
        assert!(dying.peek().is_some());
        assert!(dying.all(|round| !round.may_crash_tmux()));
        let kill = Round { fault: Fault::KillTmuxCommand, ..Round::draw(1, 0) };
        assert!(kill.may_crash_tmux());
    }

    #[test]
    fn every_fault_and_every_operation_is_drawn() {
        let mut faults = std::collections::BTreeSet::new();
        let mut deeds = std::collections::BTreeSet::new();
        for number in 0..600 {
            let round = Round::draw(1, number);
            faults.insert(round.fault);
            deeds.extend(round.acts.iter().map(|act| act.deed.kind()));
        }
        assert_eq!(faults.len(), FAULTS.len());
        assert_eq!(deeds.len(), 17);
    }
}
