//! Sends notifications, each channel's on a thread of its own: one that hangs until its time limit delays no other channel.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use dogwatch_base::log::Logged as _;

use super::notifier::News;
use crate::Context;
use crate::actions::follow;

/// Channels on which is being sent, and whether more has been written down for them since.
#[derive(Debug, Clone, Default)]
pub(super) struct Couriers(Arc<Mutex<HashMap<String, bool>>>);

impl Couriers {
    pub(super) fn are_idle(&self) -> bool {
        self.lock().is_empty()
    }

    /// Has a thread send what is due on a channel, or look once more if one does already. It tells when it is done.
    pub(super) fn send(&self, context: &Context, channel: &str, done: &Sender<News>) {
        if let Some(more) = self.lock().get_mut(channel) {
            *more = true;
            return;
        }
        self.lock().insert(channel.to_owned(), false);
        let work = {
            let (couriers, context) = (self.clone(), context.clone());
            let (channel, done) = (channel.to_owned(), done.clone());
            move || couriers.work(&context, &channel, &done)
        };
        let thread = thread::Builder::new().name("courier".to_owned()).spawn(work);
        if thread.logged("start a thread or a program").is_none() {
            // What was not sent is due again in a moment.
            self.lock().remove(channel);
        }
    }

    fn work(&self, context: &Context, channel: &str, done: &Sender<News>) {
        loop {
            follow::send_on(context, channel).logged("notify");
            let mut in_hand = self.lock();
            match in_hand.get_mut(channel) {
                Some(more) if *more => *more = false,
                _ => {
                    in_hand.remove(channel);
                    break;
                }
            }
        }
        // Who is told lives as long as the process.
        let _ = done.send(News::Sent);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
