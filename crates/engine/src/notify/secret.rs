//! Values that the configuration names and does not contain.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use dogwatch_core::notify::Secret;

/// The value, without blanks around it. `folder` is that of the configuration file.
pub(super) fn read(secret: &Secret, folder: Option<&Path>) -> Result<String, String> {
    let value = match secret {
        Secret::Plain(value) => value.clone(),
        Secret::Env(name) => {
            std::env::var(name).map_err(|_| format!("environment variable {name} is not set"))?
        }
        Secret::File(file) => {
            let beside = folder.map_or_else(|| file.into(), |folder| folder.join(file));
            read_secret(&beside)?
        }
    };
    let value = value.trim();
    if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the token contains characters that are not allowed in a header".to_owned());
    }
    Ok(value.to_owned())
}

fn read_secret(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let mode = std::fs::metadata(path).map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!(
            "{shown} is readable by other users (mode {mode:03o}); chmod 600 {shown}"
        ));
    }
    let bytes = dogwatch_store::read_regular(path, 64 * 1024).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8"))
}
