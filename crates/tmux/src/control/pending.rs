use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use crate::input::is_outcome;
use crate::{Command, Reply};

/// How one command of a request ended.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) ok: bool,
    pub(super) body: Reply,
}

/// How many replies one command causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    /// tmux replies to each of the commands inside as well; the last of them prints the outcome, or one of them fails.
    Guarded,
}

impl Shape {
    pub(super) fn of(command: &Command) -> Self {
        if command.is_guard() { Self::Guarded } else { Self::One }
    }

    fn ends_with(self, answer: &Answer) -> bool {
        self == Self::One || !answer.ok || is_outcome(&answer.body)
    }
}

/// Requests in progress. tmux replies in the order of the lines, so the first one waiting owns
/// the next replies; one whose caller gave up keeps its place.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queue: VecDeque<Batch>,
}

#[derive(Debug)]
struct Batch {
    missing: VecDeque<Shape>,
    answers: Vec<Answer>,
    caller: Option<Sender<Vec<Answer>>>,
}

impl Pending {
    /// Expects the replies to so many commands; without a caller they are dropped.
    pub(super) fn expect(&mut self, shapes: Vec<Shape>, caller: Option<Sender<Vec<Answer>>>) {
        let answers = Vec::with_capacity(shapes.len());
        self.queue.push_back(Batch { missing: shapes.into(), answers, caller });
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        let Some(batch) = self.queue.front_mut() else {
            return;
        };
        if !batch.missing.front().is_none_or(|shape| shape.ends_with(&answer)) {
            return;
        }
        batch.missing.pop_front();
        batch.answers.push(answer);
        if batch.missing.is_empty()
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
        pending.expect(vec![Shape::One; 2], Some(first));
        pending.expect(vec![Shape::One], None);
        pending.expect(vec![Shape::One], Some(second));
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
    fn a_guarded_command_has_the_replies_of_those_inside() {
        let mut pending = Pending::default();
        let (caller, answers) = channel();
        pending.expect(vec![Shape::Guarded, Shape::Guarded, Shape::One], Some(caller));
        for text in ["", "", "typed\n", ""] {
            pending.answer(answer(text));
        }
        pending.answer(Answer { ok: false, body: Reply("target pane has exited\n".into()) });
        pending.answer(answer("next"));
        let texts: Vec<_> = answers
            .try_recv()
            .unwrap()
            .iter()
            .map(|answer| (answer.ok, answer.body.text().into_owned()))
            .collect();
        let text = |ok, text: &str| (ok, text.to_owned());
        let expected =
            [text(true, "typed\n"), text(false, "target pane has exited\n"), text(true, "next")];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_lost_connection_is_reported_to_callers() {
        let mut pending = Pending::default();
        let (caller, answers) = channel();
        pending.expect(vec![Shape::One], Some(caller));
        pending.abandon();
        assert_eq!(answers.try_recv().unwrap_err(), TryRecvError::Disconnected);
    }

    #[test]
    fn a_caller_that_gave_up_keeps_its_place() {
        let mut pending = Pending::default();
        let (gone, _) = channel();
        let (caller, answers) = channel();
        pending.expect(vec![Shape::One], Some(gone));
        pending.expect(vec![Shape::One], Some(caller));
        pending.answer(answer("late"));
        pending.answer(answer("mine"));
        assert_eq!(answers.try_recv().unwrap()[0].body.text(), "mine");
    }
}
