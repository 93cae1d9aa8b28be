//! Streams: sends the beats of a reply at their time.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;

use super::Stage;
use crate::log::{EndNote, Outcome};
use crate::reply::Beat;

/// The response that plays beats as server-sent events.
pub(super) fn events(stage: Arc<Stage>, beats: Vec<Beat>, note: EndNote) -> Response {
    let player = Player { stage, beats: beats.into_iter(), note };
    let frames = stream::unfold(player, async |mut player| {
        let frame = player.next().await?;
        Some((frame, player))
    });
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// A response that breaks off at once.
pub(super) fn cut(mut note: EndNote) -> Response {
    note.ended(Outcome::Cut);
    Response::new(Body::from_stream(stream::iter([Err::<String, _>(broken())])))
}

struct Player {
    stage: Arc<Stage>,
    beats: std::vec::IntoIter<Beat>,
    note: EndNote,
}

impl Player {
    async fn next(&mut self) -> Option<io::Result<String>> {
        loop {
            match self.beats.next() {
                Some(Beat::Frame(frame)) => return Some(Ok(frame)),
                Some(Beat::Pause(pause)) => self.stage.pause(&pause).await,
                Some(Beat::Cut) => {
                    self.note.ended(Outcome::Cut);
                    // The server throws away what it has not sent when a body fails: let it send.
                    tokio::task::yield_now().await;
                    return Some(Err(broken()));
                }
                None => {
                    self.note.ended(Outcome::Sent);
                    return None;
                }
            }
        }
    }
}

/// The HTTP server closes the connection when a body fails.
fn broken() -> io::Error {
    io::Error::other("the scenario cuts the connection here")
}
