//! Interrupts an agent that goes round in circles, if the user has said so (`on_loop = "interrupt"`).

use dogwatch_base::log::Logged as _;
use dogwatch_core::config::OnLoop;
use dogwatch_core::notice::Occasion;
use dogwatch_core::status::{Basis, Status};
use dogwatch_protocol::event_data::LoopInterrupted;
use dogwatch_protocol::keys::Interrupted;
use jiff::Timestamp;

use crate::actions::interrupt;
use crate::notify::{channels, outbox};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error, config};

/// Looks at a session, and interrupts it if it is in a loop: once for each loop, and never while automatic actions are paused. Returns
/// whether it is to be looked at again.
pub(crate) fn step(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    now: Timestamp,
) -> Result<bool, Error> {
    // A mistake in the file stops the automatism; other commands name it.
    let config = config::read(context).logged("read the configuration");
    if config.is_none_or(|config| config.on_loop != OnLoop::Interrupt)
        || judged.verdict.status.is_over()
    {
        return Ok(false);
    }
    let Status::Working { looping: Some(looping), .. } = &judged.verdict.status else {
        return Ok(true);
    };
    if judged.verdict.basis != Basis::Asserted || reader.store.limits_paused()?.is_some() {
        return Ok(true);
    }
    let session = &judged.seen.session;
    let data =
        LoopInterrupted { what: looping.what.clone(), times: looping.times, since: looping.since };
    // Of one that a killed supervisor left behind it is not known whether keys were pressed: the loop goes on, so they had no effect.
    if !reader.store.interrupt_loop(&session.id, looping.since, now)? {
        return Ok(true);
    }
    let done = interrupt::press(context, reader, &session.id)?;
    let has_pressed = done == Interrupted::Pressed;
    reader.store.loop_is_interrupted(&session.id, &data, has_pressed, Timestamp::now())?;
    let done = match done {
        Interrupted::Pressed => "was interrupted",
        Interrupted::NotWorking => "had stopped by itself",
        Interrupted::Dialog => "was not interrupted, because it waits for an answer",
        Interrupted::NoKeys => "was not interrupted, because dogwatch does not know how",
    };
    let title = format!("{}: {looping}; it {done}", session.name);
    let mut notice = channels::notice(Occasion::Looping, title, String::new(), &data);
    notice.session = Some(session.id.to_string());
    let key = format!("loop/{}/{}", session.id, looping.since.as_millisecond());
    // The supervisor's own loop must not wait for a channel.
    if !outbox::write_down(context, &mut reader.store, &key, &notice) {
        outbox::tell(context, &key, notice);
    }
    Ok(true)
}
