//! When a channel that failed is tried again.

use std::time::Duration;

/// The pauses between tries. The last one is the longest; after it the notification is given up.
const PAUSES: [u64; 9] = [5, 15, 60, 300, 900, 1800, 3600, 7200, 14400];

/// The pause after so many failed tries, `None` if that was the last one.
pub fn pause(attempts: u32) -> Option<Duration> {
    let index = usize::try_from(attempts).unwrap_or(usize::MAX).checked_sub(1)?;
    PAUSES.get(index).copied().map(Duration::from_secs)
}

/// How often a notification is tried at most.
pub const MOST_ATTEMPTS: usize = PAUSES.len() + 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Vec<_> = (1..).map_while(pause).collect();
        assert_eq!(pauses.len() + 1, MOST_ATTEMPTS);
        assert!(pauses.is_sorted());
        assert_eq!(pauses[0], Duration::from_secs(5));
        assert_eq!(pause(0), None);
        assert!(pauses.iter().sum::<Duration>() > Duration::from_hours(7));
    }
}
