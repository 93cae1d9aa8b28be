//! Addresses of webhooks.

use http::Uri;

/// Reads `http://host[:port][/path]` or the same with `https`. Names and passwords are not taken here: they belong into a
/// header, and would be shown.
pub fn parse(text: &str) -> Result<Uri, String> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return Err("must begin with http:// or https://".to_owned());
    }
    // A fragment would be cut off without a word.
    if text.contains('#') {
        return Err("contains characters that are not allowed in a URL".to_owned());
    }
    let uri: Uri = text.parse().map_err(|error| format!("invalid address: {error}"))?;
    let Some(authority) = uri.authority().filter(|authority| !authority.host().is_empty()) else {
        return Err("the host is missing".to_owned());
    };
    if authority.as_str().contains('@') {
        return Err("must not contain a password; use token_env or token_file".to_owned());
    }
    // What is behind the host begins with a colon, and then comes a port.
    if authority.as_str().len() > authority.host().len() && authority.port_u16().is_none() {
        return Err("the port is not a number".to_owned());
    }
    Ok(uri)
}

/// The host, without the brackets of an IPv6 address.
pub fn host(uri: &Uri) -> &str {
    uri.host().unwrap_or_default().trim_matches(['[', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, bare, port) in [
            ("http://a.b/c?d=e", "a.b", None),
            ("https://a.b", "a.b", None),
            ("http://[::1]:8080?x", "::1", Some(8080)),
            ("http://127.0.0.1:1/", "127.0.0.1", Some(1)),
        ] {
            let uri = parse(text).unwrap();
            assert_eq!((host(&uri), uri.port_u16()), (bare, port), "{text}");
        }
        for bad in [
            "a.b",
            "ftp://a",
            "http://",
            "http:///x",
            "http://:80",
            "http://a:x",
            "http://a:99999",
            "http://u:p@a",
            "http://a/ b",
            "http://a/#b",
            "http://a/\r\nX: y",
            "http://ä.b",
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
