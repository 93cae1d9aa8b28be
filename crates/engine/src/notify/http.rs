//! Requests to webhooks.

use std::net::IpAddr;
use std::time::Duration;

use dogwatch_base::program::ensure_thread_available;
use dogwatch_core::web_address;
use ureq::Agent;
use ureq::http::Uri;
use ureq::http::uri::Scheme;

use super::tls;

/// Limit on the response that is read; only its status counts.
const ANSWER: usize = 64 * 1024;

/// Posts a body; returns the status of the answer.
pub(super) fn post(
    url: &Uri,
    token: Option<&str>,
    body: &str,
    content_type: &str,
    limit: Duration,
) -> Result<u16, String> {
    let mut request = agent(url, limit)?.post(url).content_type(content_type);
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    // The response's body is not read.
    request.send(body).map(|answer| answer.status().as_u16()).map_err(explain)
}

/// Asks for a page; returns the status of the answer.
pub(super) fn get(url: &Uri, limit: Duration) -> Result<u16, String> {
    agent(url, limit)?.get(url).call().map(|answer| answer.status().as_u16()).map_err(explain)
}

fn agent(url: &Uri, limit: Duration) -> Result<Agent, String> {
    let is_secure = url.scheme() == Some(&Scheme::HTTPS);
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(limit))
        .max_response_header_size(ANSWER)
        .user_agent("dogwatch");
    if is_secure {
        config = config.tls_config(tls::for_http()?);
    } else {
        // Plain HTTP does not go through a proxy.
        config = config.proxy(None);
    }
    let host = web_address::host(url);
    if host.parse::<IpAddr>().is_err() {
        // ureq starts a thread for the name lookup and panics if it cannot.
        ensure_thread_available()
            .map_err(|error| format!("cannot start a thread to look up {host}: {error}"))?;
    }
    Ok(config.build().new_agent())
}

fn explain(error: ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "timeout".to_owned(),
        ureq::Error::Protocol(_) => "the server does not speak HTTP".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}
