use crate::session::list::{self, Listed};
use dogwatch_engine::Error;
use serde_json::json;

use super::here;
use crate::call::Call;
use crate::reply::Reply;

pub(super) fn answer(call: &Call<'_>) -> Reply {
    if call.asks_for_help() {
        return Reply::line("Usage: list-sessions --slug SLUG");
    }
    let Some(slug) = call.option("--slug").filter(|slug| !slug.is_empty()) else {
        return Reply::json(&json!({"ok": false, "error": "missing_slug"})).failed();
    };
    let listed = here::context().and_then(|context| list::of_slug(&context, slug));
    match listed {
        Ok(listed) => {
            let names: Vec<String> = listed.into_iter().map(|Listed { name, .. }| name).collect();
            Reply::json(&json!({"ok": true, "sessions": names, "count": names.len()}))
        }
        Err(error) => {
            let word = match &error {
                Error::Tmux(dogwatch_tmux::Error::NotInstalled { .. }) => "tmux_not_found",
                other => other.code(),
            };
            Reply::json(&json!({"ok": false, "error": word, "sessions": [], "count": 0}))
        }
    }
}
