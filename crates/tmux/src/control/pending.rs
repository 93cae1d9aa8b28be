use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use crate::Reply;

/// How one command of a request ended.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) ok: bool,
    pub(super) body: Reply,
}

/// Requests in progress. tmux replies in the order of the lines, so the first one waiting owns
/// the next replies; one whose caller gave up keeps its place.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queue: VecDeque<Batch>,
}

#[derive(Debug)]
struct Batch {
    missing: usize,
    answers: Vec<Answer>,
    caller: Option<Sender<Vec<Answer>>>,
}

impl Pending {
    /// Expects that many replies; without a caller they are dropped.
    pub(super) fn expect(&mut self, count: usize, caller: Option<Sender<Vec<Answer>>>) {
        let answers = Vec::with_capacity(count);
        self.queue.push_back(Batch { missing: count, answers, caller });
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        let Some(batch) = self.queue.front_mut() else {
            return;
        };
        batch.answers.push(answer);
        batch.missing -= 1;
        if batch.missing == 0
            && let Some(Batch { answers, caller: Some(caller), .. }) = self.queue.pop_front()
        {
            // A caller past its deadline is gone.
            let _ = caller.send(answers);
        }
    }

    /// The connection is lost: dropping the senders notifies every caller.
    pub(super) fn abandon(&mut self) {
        self.queue.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{TryRecvError, channel};

    use super::*;

    fn answer(text: &str) -> Answer {
        Answer { ok: true, body: Reply(text.into()) }
    }

    #[test]
    fn answers_go_to_the_requests_in_order() {
        let mut pending = Pending::default();
        let (first, first_rx) = channel();
        let (second, second_rx) = channel();
        pending.expect(2, Some(first));
        pending.expect(1, None);
        pending.expect(1, Some(second));
        pending.answer(answer("a"));
        assert_eq!(first_rx.try_recv().unwrap_err(), TryRecvError::Empty);
        for text in ["b", "thrown away", "c", "unexpected"] {
            pending.answer(answer(text));
        }
        let texts = |answers: Vec<Answer>| -> Vec<String> {
            answers.iter().map(|answer| answer.body.text().into_owned()).collect()
        };
        assert_eq!(texts(first_rx.try_recv().unwrap()), ["a", "b"]);
        assert_eq!(texts(second_rx.try_recv().unwrap()), ["c"]);
    }

    #[test]
    fn a_lost_connection_is_reported_to_callers() {
        let mut pending = Pending::default();
        let (caller, answers) = channel();
        pending.expect(1, Some(caller));
        pending.abandon();
        assert_eq!(answers.try_recv().unwrap_err(), TryRecvError::Disconnected);
    }

    #[test]
    fn a_caller_that_gave_up_keeps_its_place() {
        let mut pending = Pending::default();
        let (gone, _) = channel();
        let (caller, answers) = channel();
        pending.expect(1, Some(gone));
        pending.expect(1, Some(caller));
        pending.answer(answer("late"));
        pending.answer(answer("mine"));
        assert_eq!(answers.try_recv().unwrap()[0].body.text(), "mine");
    }
}
