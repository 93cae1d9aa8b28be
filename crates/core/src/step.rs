//! What the supervisor does for a session after a look at it: who goes first when several things are open.
//!
//! One table for all that is open, so that nothing starves anything else. How each effect is done is decided by a table of its own:
//! [`crate::delivery`] for a message, [`crate::job`] for a job, [`crate::limits`] for a limit, [`crate::callback`] for a callback,
//! [`crate::notify`] for a notification.

/// What is seen of a session, as far as it decides who goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// The session has ended.
    pub is_over: bool,
    /// A dialog is open: a key may answer it.
    pub is_asking: bool,
}

/// What is open for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Open {
    /// Keys are being pressed, or another agent is being started in its place.
    pub errand: bool,
    /// A request for keys was posted.
    pub keys: bool,
    /// A message is in the agent's input box, or on its way there.
    pub in_box: bool,
    /// A message waits for the agent.
    pub message: bool,
}

/// What is done next. Each effect is one that the one before may have made unnecessary: the caller steps again after one that pressed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Press the keys that were asked for.
    PressKeys,
    /// Tell whoever asked for keys that the session is over.
    RefuseKeys,
    /// Bring the message one step further, or settle it.
    Deliver,
    /// Look at the limit, and do what is due.
    FollowLimit,
    /// Interrupt a loop, if the user has said so.
    InterruptLoop,
}

/// What is done now, in this order.
#[must_use = "what is not done now is not done before something stirs"]
pub fn step(seen: Seen, open: Open) -> &'static [Effect] {
    use Effect::{Deliver, FollowLimit, InterruptLoop, PressKeys, RefuseKeys};
    match (seen, open) {
        // Whoever types has the session; its outcome stirs it again.
        (_, Open { errand: true, .. }) => &[],
        (Seen { is_over: true, .. }, Open { keys: true, .. }) => {
            &[RefuseKeys, Deliver, FollowLimit]
        }
        (Seen { is_over: true, .. }, _) => &[Deliver, FollowLimit],
        // Text in the box is ours, and other keys would go into it. A dialog that came up over it is not: it may have to be answered
        // before the text can go.
        (Seen { is_asking: false, .. }, Open { in_box: true, .. }) => &[Deliver],
        // A person waits for it. A message would come between.
        (_, Open { keys: true, .. }) => &[PressKeys],
        (Seen { is_asking: true, .. }, Open { in_box: true, .. }) => &[Deliver],
        _ => &[Deliver, FollowLimit, InterruptLoop],
    }
}

#[cfg(test)]
mod tests {
    use super::Effect::{Deliver, FollowLimit, InterruptLoop, PressKeys, RefuseKeys};
    use super::*;

    const IDLE: Seen = Seen { is_over: false, is_asking: false };
    const ASKS: Seen = Seen { is_over: false, is_asking: true };
    const OVER: Seen = Seen { is_over: true, is_asking: false };
    const NOTHING: Open = Open { errand: false, keys: false, in_box: false, message: false };
    const KEYS: Open = Open { keys: true, ..NOTHING };
    const WAITS: Open = Open { message: true, ..NOTHING };
    const IN_BOX: Open = Open { message: true, in_box: true, ..NOTHING };

    #[test]
    fn who_goes_first() {
        let table: [(&str, Seen, Open, &[Effect]); 12] = [
            ("nothing", IDLE, NOTHING, &[Deliver, FollowLimit, InterruptLoop]),
            ("a message waits", IDLE, WAITS, &[Deliver, FollowLimit, InterruptLoop]),
            ("it waits at a dialog", ASKS, WAITS, &[Deliver, FollowLimit, InterruptLoop]),
            ("text in the box", IDLE, IN_BOX, &[Deliver]),
            ("a dialog over it", ASKS, IN_BOX, &[Deliver]),
            ("keys", IDLE, KEYS, &[PressKeys]),
            ("keys before a message that waits", ASKS, Open { keys: true, ..WAITS }, &[PressKeys]),
            ("text in the box before keys", IDLE, Open { keys: true, ..IN_BOX }, &[Deliver]),
            ("a dialog over it is answered", ASKS, Open { keys: true, ..IN_BOX }, &[PressKeys]),
            ("an errand", ASKS, Open { errand: true, keys: true, ..IN_BOX }, &[]),
            ("over", OVER, WAITS, &[Deliver, FollowLimit]),
            ("over, keys", OVER, KEYS, &[RefuseKeys, Deliver, FollowLimit]),
        ];
        for (what, seen, open, expected) in table {
            assert_eq!(step(seen, open), expected, "{what}");
        }
    }

    /// Whatever is open, at most one of those that press keys is first, and nothing waits for ever behind another: without text in the
    /// box and an errand, which both end, each gets its turn.
    #[test]
    fn nothing_starves() {
        for bits in 0..64_u8 {
            let bit = |at: u8| bits & (1 << at) != 0;
            let seen = Seen { is_over: bit(0), is_asking: bit(1) };
            let open = Open { errand: bit(2), keys: bit(3), in_box: bit(4), message: bit(5) };
            let effects = step(seen, open);
            assert_eq!(effects.is_empty(), open.errand, "{seen:?} {open:?}");
            let presses = effects.contains(&PressKeys);
            assert!(!presses || effects.len() == 1, "{seen:?} {open:?}");
            assert!(!presses || !seen.is_over, "{seen:?} {open:?}");
            if !open.errand && !open.in_box && !open.keys && !seen.is_over {
                assert_eq!(effects, [Deliver, FollowLimit, InterruptLoop]);
            }
        }
    }
}
