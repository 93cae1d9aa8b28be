//! Pseudo-random numbers that are the same for the same seed (SplitMix64).

#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The dice of one round: independent of what earlier rounds drew.
    pub(crate) fn of_round(seed: u64, round: u32) -> Self {
        let mut dice = Self(seed ^ u64::from(round).wrapping_mul(0xd134_2543_de82_ef95));
        dice.next();
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is at least 1.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of the choices, by weight. `choices` is not empty and has a weight above 0.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let total: u64 = choices.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(total);
        for (weight, choice) in choices {
            if at < *weight {
                return *choice;
            }
            at -= weight;
        }
        choices[choices.len() - 1].1
    }
}
