//! Work on a session that takes longer than a look: each on a thread of its own, so that no other session waits for it.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use dogwatch_protocol::id::SessionId;

/// One errand for a session at a time.
#[derive(Debug, Default)]
pub(super) struct Errands {
    running: Arc<Mutex<BTreeSet<SessionId>>>,
}

impl Errands {
    /// Whether one is under way for the session.
    pub(super) fn has(&self, session: &SessionId) -> bool {
        lock(&self.running).contains(session)
    }

    pub(super) fn has_any(&self) -> bool {
        !lock(&self.running).is_empty()
    }

    /// Starts one, and tells when it is done.
    pub(super) fn start(
        &mut self,
        session: &SessionId,
        work: impl FnOnce() + Send + 'static,
        tell: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let done = Done { running: Arc::clone(&self.running), session: session.clone() };
        lock(&self.running).insert(session.clone());
        // Should no thread start, dropping the closure says that it is done.
        thread::Builder::new().name("errand".to_owned()).spawn(move || {
            work();
            // Before it is told: whoever hears of it may start the next one.
            drop(done);
            tell();
        })?;
        Ok(())
    }
}

/// Says at its end that the errand is done, however that came.
struct Done {
    running: Arc<Mutex<BTreeSet<SessionId>>>,
    session: SessionId,
}

impl Drop for Done {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.session);
    }
}

fn lock(running: &Mutex<BTreeSet<SessionId>>) -> MutexGuard<'_, BTreeSet<SessionId>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn whoever_is_told_finds_it_done() {
        let mut errands = Errands::default();
        let (go, wait) = mpsc::channel::<()>();
        let (told, done) = mpsc::channel::<()>();
        let (a, b) = (SessionId::from("a"), SessionId::from("b"));
        let work = move || wait.recv().unwrap();
        errands.start(&a, work, move || told.send(()).unwrap()).unwrap();
        assert!(errands.has(&a) && errands.has_any() && !errands.has(&b));
        go.send(()).unwrap();
        done.recv().unwrap();
        assert!(!errands.has(&a) && !errands.has_any());
    }
}
