//! The configuration file. None is as good as an empty one.

use std::io;
use std::path::Path;

use dogwatch_core::config::{Config, parse};
use dogwatch_store::read_regular;

use crate::error::ConfigurationError;
use crate::{Context, Error};

const MOST_BYTES: u64 = 1024 * 1024;

/// What the user has set up.
pub fn read(context: &Context) -> Result<Config, Error> {
    context.config.as_deref().map_or_else(|| Ok(Config::default()), read_file)
}

/// What this file says.
pub(crate) fn read_file(path: &Path) -> Result<Config, Error> {
    let bytes = match read_regular(path, MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(error) => return Err(Error::io(format!("read {}", path.display()))(error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    parse(&text).map_err(|problem| {
        Error::Configuration(ConfigurationError::BadConfig { path: path.to_owned(), problem })
    })
}
