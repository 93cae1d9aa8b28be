use crate::session::list::{self, Listed};
use dogwatch_engine::Error;

use super::here;
use crate::answers::{Nothing, SessionNames, failure, success};
use crate::call::Call;
use crate::reply::Reply;

pub(super) fn answer(call: &Call<'_>) -> Reply {
    if call.asks_for_help() {
        return Reply::line("Usage: list-sessions --slug SLUG");
    }
    let Some(slug) = call.option("--slug").filter(|slug| !slug.is_empty()) else {
        return Reply::json(&failure("missing_slug", Nothing {})).failed();
    };
    let listed = here::context().and_then(|context| list::of_slug(&context, slug));
    match listed {
        Ok(listed) => {
            let names: Vec<String> = listed.into_iter().map(|Listed { name, .. }| name).collect();
            let count = names.len();
            Reply::json(&success(SessionNames { sessions: names, count }))
        }
        Err(error) => {
            let word = match &error {
                Error::Tmux(dogwatch_tmux::Error::NotInstalled { .. }) => "tmux_not_found",
                other => other.code(),
            };
            Reply::json(&failure(word, SessionNames { sessions: Vec::new(), count: 0 }))
        }
    }
}
