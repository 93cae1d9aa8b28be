//! Where events need `unsafe` code (a kqueue): everything may have changed ten times a second.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::Interest;

const PACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Kernel {
    bell: Waker,
}

/// Wakes a wait from another thread.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<(Mutex<bool>, Condvar)>);

impl Waker {
    pub fn wake(&self) {
        let (rung, bell) = &*self.0;
        *rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        bell.notify_all();
    }
}

#[derive(Debug)]
pub(super) struct Stirred;

impl Stirred {
    pub(super) fn has(&self, interest: &Interest) -> bool {
        // A terminal that is written to is left to the caller's own pace: a look at it is dear.
        !matches!(interest, Interest::Terminal(_))
    }
}

impl Kernel {
    pub(super) fn new() -> Self {
        Self { bell: Waker::default() }
    }

    pub(super) fn deaf() -> Self {
        Self::new()
    }

    pub(super) fn set_waker(&mut self, waker: Waker) {
        self.bell = waker;
    }

    pub(super) fn waker(&self) -> Waker {
        self.bell.clone()
    }

    pub(super) fn is_told(&self) -> bool {
        false
    }

    pub(super) fn is_complete(&self) -> bool {
        true
    }

    pub(super) fn watch<'a>(&mut self, _: impl Iterator<Item = &'a Interest>) {}

    pub(super) fn wait(&mut self, at_most: Duration) -> Stirred {
        let (rung, bell) = &*self.bell.0;
        let rung = rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = bell.wait_timeout_while(rung, at_most.min(PACE), |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        Stirred
    }
}
