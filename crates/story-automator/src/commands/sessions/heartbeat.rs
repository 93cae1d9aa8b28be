use crate::session::heartbeat::{self, Heartbeat, Prompt};

use super::here;
use crate::call::Call;
use crate::reply::Reply;

pub(super) fn answer(call: &Call<'_>) -> Reply {
    let Some(name) = call.word(0).filter(|name| !name.is_empty()) else {
        return reply(&Heartbeat::error("no_session"));
    };
    if let Some(refusal) = here::refuse_bad_name(call, name) {
        return refusal;
    }
    let agent = call.option("--agent").filter(|agent| matches!(*agent, "claude" | "codex"));
    let runtime = here::place(call).runtime;
    let checked =
        here::context().and_then(|context| heartbeat::check(&context, name, agent, runtime));
    match checked {
        Ok(heartbeat) => reply(&heartbeat),
        Err(error) => {
            let reply = reply(&Heartbeat::error(error.code()));
            Reply { stderr: here::in_words(&error), ..reply }
        }
    }
}

fn reply(heartbeat: &Heartbeat) -> Reply {
    let Heartbeat { status, cpu, pid, prompt } = heartbeat;
    let pid = pid.map(|pid| pid.to_string()).unwrap_or_default();
    let prompt = match prompt {
        Prompt::Shown(shown) => shown.to_string(),
        Prompt::Error(why) => (*why).to_owned(),
    };
    Reply::line(format_args!("{status},{cpu:.1},{pid},{prompt}"))
}
