use std::io::{self, IsTerminal};
use std::path::PathBuf;

use dogwatch_core::exit_code;
use dogwatch_engine::act::{hook, statusline};
use jiff::Timestamp;

use crate::args::Hook;
use crate::{environment, ui};

/// Never fails and never prints an error: an agent must not suffer from being watched.
pub(crate) fn hook(args: &Hook, state_dir: Option<PathBuf>) -> u8 {
    let payload = match &args.payload {
        Some(payload) => payload.clone(),
        None if io::stdin().is_terminal() => String::new(),
        None => hook::read_payload(io::stdin().lock()),
    };
    let keep = || {
        let session = environment::own_session()?;
        let state = environment::state_dir(state_dir).ok()?;
        let now = Timestamp::now();
        if args.statusline {
            hook::keep_heartbeat(&state, &session, &payload, now).ok()
        } else {
            hook::keep_signal(&state, &session, &args.agent, &payload, now).ok()
        }
    };
    let _: Option<()> = keep();
    if args.statusline {
        let config = environment::claude_config();
        ui::raw(&statusline::line(config.as_deref(), &payload, &environment::local_time()));
    }
    exit_code::OK
}
