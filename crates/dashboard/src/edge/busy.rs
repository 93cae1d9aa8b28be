//! What is being done on other threads: the dashboard does not quit in the middle of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dogwatch_base::program::Stop;

/// Actions that must not be cut short.
#[derive(Debug, Clone, Default)]
pub(super) struct Busy {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    doing: Mutex<BTreeMap<u64, String>>,
    ended: Condvar,
}

/// An action that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Doing {
    busy: Busy,
    number: u64,
}

impl Busy {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, String>> {
        self.shared.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, what: String) -> Doing {
        let mut doing = self.lock();
        let number = doing.last_key_value().map_or(0, |(number, _)| number + 1);
        doing.insert(number, what);
        Doing { busy: self.clone(), number }
    }

    /// What is being done, in words; `None` if nothing is.
    pub(super) fn words(&self) -> Option<String> {
        let doing = self.lock();
        let all: Vec<&str> = doing.values().map(String::as_str).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Waits until nothing is being done.
    pub(super) fn wait(&self, at_most: Duration) {
        let is_busy = |doing: &mut BTreeMap<u64, String>| !doing.is_empty();
        drop(self.shared.ended.wait_timeout_while(self.lock(), at_most, is_busy));
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        self.busy.lock().remove(&self.number);
        self.busy.shared.ended.notify_all();
    }
}

/// Commands of the palette that run, however long they take.
#[derive(Debug, Clone, Default)]
pub(super) struct Commands {
    running: Arc<Mutex<BTreeMap<u64, Shown>>>,
}

#[derive(Debug)]
struct Shown {
    title: String,
    stop: Option<Stop>,
    is_cancelled: bool,
}

impl Commands {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Shown>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, number: u64, title: String) {
        self.lock().insert(number, Shown { title, stop: None, is_cancelled: false });
    }

    /// It was started, and can be stopped from now on.
    pub(super) fn started(&self, number: u64, stop: Stop) {
        if let Some(shown) = self.lock().get_mut(&number) {
            if shown.is_cancelled {
                stop.term();
            }
            shown.stop = Some(stop);
        }
    }

    /// Asks it to end.
    pub(super) fn cancel(&self, number: u64) {
        if let Some(shown) = self.lock().get_mut(&number) {
            shown.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        self.lock().values_mut().for_each(Shown::cancel);
    }

    /// It has ended; whether it was cancelled.
    pub(super) fn remove(&self, number: u64) -> bool {
        self.lock().remove(&number).is_some_and(|shown| shown.is_cancelled)
    }

    /// The command lines that run.
    pub(super) fn titles(&self) -> Vec<String> {
        self.lock().values().map(|shown| shown.title.clone()).collect()
    }
}

impl Shown {
    fn cancel(&mut self) {
        self.is_cancelled = true;
        if let Some(stop) = &self.stop {
            stop.term();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_known_until_it_has_ended() {
        let busy = Busy::default();
        assert_eq!(busy.words(), None);
        let first = busy.begin("killing a".to_owned());
        let second = busy.begin("sending to b".to_owned());
        assert_eq!(busy.words().as_deref(), Some("killing a, sending to b"));
        drop(first);
        let third = busy.begin("resuming c".to_owned());
        assert_eq!(busy.words().as_deref(), Some("sending to b, resuming c"));
        drop(second);
        let other = busy.clone();
        let ends = std::thread::spawn(move || drop(third));
        other.wait(Duration::from_mins(1));
        assert_eq!(other.words(), None);
        ends.join().unwrap();
    }
}
