//! Which step comes next. No time passes here and nothing is touched.

use std::collections::BTreeMap;

use crate::scenario::{Label, Scenario, Step};

/// So many jumps with no step between them that waits for anything are taken for an endless loop.
const MAX_IDLE_JUMPS: u32 = 100_000;

/// How the last step ended, as far as the flow is concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn<'a> {
    On,
    To(&'a Label),
}

/// What to do now.
#[derive(Debug)]
#[must_use]
pub(crate) enum Next<'a> {
    /// A step that does something; never a label, a goto or a repeat.
    Play {
        line: usize,
        step: &'a Step,
    },
    End,
    /// The scenario jumps in circles without ever waiting.
    Runaway {
        line: usize,
    },
}

/// The cursor in a scenario.
#[derive(Debug)]
pub(crate) struct Flow<'a> {
    scenario: &'a Scenario,
    at: usize,
    /// How often each repeat step, by its index, has gone back since it was last done.
    laps: BTreeMap<usize, u32>,
    idle_jumps: u32,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, at: 0, laps: BTreeMap::new(), idle_jumps: 0 }
    }

    /// Moves to the next step that does something.
    pub(crate) fn advance(&mut self, turn: Turn<'_>) -> Next<'a> {
        if let Turn::To(label) = turn {
            self.jump(label);
        }
        while let Some(step) = self.scenario.steps.get(self.at) {
            let index = self.at;
            let line = self.scenario.lines[index];
            if self.idle_jumps > MAX_IDLE_JUMPS {
                return Next::Runaway { line };
            }
            self.at += 1;
            match step {
                Step::Label(_) => {}
                Step::Goto(label) => self.jump(label),
                Step::Repeat(repeat) => {
                    let laps = self.laps.entry(index).or_insert(0);
                    *laps += 1;
                    if *laps < repeat.times {
                        self.jump(&repeat.from);
                    } else {
                        *laps = 0;
                    }
                }
                _ => {
                    if waits(step) {
                        self.idle_jumps = 0;
                    }
                    return Next::Play { line, step };
                }
            }
        }
        Next::End
    }

    /// Labels were checked when the scenario was parsed, so the index exists.
    fn jump(&mut self, label: &Label) {
        self.at = self.scenario.labels[label.get_ref()];
        self.idle_jumps += 1;
    }
}

fn waits(step: &Step) -> bool {
    matches!(
        step,
        Step::Input(_)
            | Step::Stall(_)
            | Step::Hang(_)
            | Step::AwaitFile(_)
            | Step::Stream(_)
            | Step::Hook(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a scenario of prints and inputs; each input takes the next of `jumps`.
    fn printed(toml: &str, jumps: &[Option<&str>]) -> String {
        let scenario = Scenario::parse(toml, "").expect("a scenario");
        let mut flow = Flow::new(&scenario);
        let mut jumps = jumps.iter();
        let mut printed = String::new();
        let mut turn = Turn::On;
        for _ in 0..200_000 {
            let next = flow.advance(turn);
            turn = Turn::On;
            match next {
                Next::Play { step, .. } => match step {
                    Step::Print(text) => printed.push_str(text),
                    Step::Input(input) => {
                        let wanted = jumps.next().copied().flatten();
                        let reply =
                            input.on.iter().find(|reply| Some(reply.input.as_str()) == wanted);
                        turn = reply.map_or(Turn::On, |reply| Turn::To(&reply.goto));
                    }
                    other => panic!("{other:?}"),
                },
                Next::End => return printed,
                Next::Runaway { line } => return format!("runaway at {line}"),
            }
        }
        panic!("no end");
    }

    const PRINT_A: &str = "[[step]]\nprint = \"a\"\n";
    const PRINT_B: &str = "[[step]]\nprint = \"b\"\n";

    #[test]
    fn straight_on() {
        assert_eq!(printed(&format!("{PRINT_A}{PRINT_B}"), &[]), "ab");
    }

    #[test]
    fn goto_skips() {
        let toml = format!("[[step]]\ngoto = \"x\"\n{PRINT_A}[[step]]\nlabel = \"x\"\n{PRINT_B}");
        assert_eq!(printed(&toml, &[]), "b");
    }

    #[test]
    fn repeat_counts_the_first_time_too() {
        for (times, expected) in [(0, "ab"), (1, "ab"), (2, "aab"), (3, "aaab")] {
            let toml = format!(
                "[[step]]\nlabel = \"x\"\n{PRINT_A}[[step]]\nrepeat = {{ from = \"x\", times = {times} }}\n{PRINT_B}"
            );
            assert_eq!(printed(&toml, &[]), expected, "{times} times");
        }
    }

    #[test]
    fn an_inner_repeat_starts_afresh() {
        let toml = format!(
            "[[step]]\nlabel = \"out\"\n[[step]]\nlabel = \"in\"\n{PRINT_A}\
             [[step]]\nrepeat = {{ from = \"in\", times = 2 }}\n{PRINT_B}\
             [[step]]\nrepeat = {{ from = \"out\", times = 2 }}\n"
        );
        assert_eq!(printed(&toml, &[]), "aabaab");
    }

    #[test]
    fn answers_branch() {
        let toml = format!(
            "[[step]]\nlabel = \"ask\"\n[[step]]\n[step.input]\nwant = \"key\"\n\
             on = [{{ input = \"r\", goto = \"ask\" }}, {{ input = \"b\", goto = \"b\" }}]\n\
             {PRINT_A}[[step]]\nlabel = \"b\"\n{PRINT_B}"
        );
        assert_eq!(printed(&toml, &[None]), "ab");
        assert_eq!(printed(&toml, &[Some("r"), Some("r"), Some("b")]), "b");
    }

    #[test]
    fn circles_without_a_wait_are_found_out() {
        let toml = "[[step]]\nlabel = \"x\"\n[[step]]\ngoto = \"x\"\n";
        assert_eq!(printed(toml, &[]), "runaway at 1");
    }
}
