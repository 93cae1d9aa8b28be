//! Texts that a command gets: as an argument, in a file, or on standard input.

use std::io::Read;
use std::path::Path;

use crate::usage::UsageError;
use dogwatch_engine::Error;
use dogwatch_store::{open_given, read_up_to};

/// Bytes that are read beyond the limit: at most one character, to detect a text that is too long.
const MORE: u64 = 4;

/// A text of at most so many bytes plus [`MORE`], so that the caller notices one that is too long. `-` is standard input.
pub(super) fn text(
    word: Option<&str>,
    file: Option<&Path>,
    most: usize,
) -> Result<Option<String>, Error> {
    let bytes = match (word, file) {
        (Some(word), _) if word != "-" => return Ok(Some(word.to_owned())),
        (None, None) => return Ok(None),
        (None, Some(file)) if file != Path::new("-") => {
            let action = format!("read {}", file.display());
            open_given(file).and_then(|file| read(file, most)).map_err(Error::io(action))?
        }
        _ => read(std::io::stdin(), most).map_err(Error::io("read standard input"))?,
    };
    let text = String::from_utf8(bytes);
    let text = text.map_err(|e| UsageError::NotUtf8 { at: e.utf8_error().valid_up_to() })?;
    Ok(Some(text))
}

fn read(from: impl Read, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = read_up_to(from, most as u64 + MORE)?;
    // A character that was cut in two is not an error in the text.
    let cut = str::from_utf8(&bytes).err().filter(|error| error.error_len().is_none());
    if let Some(cut) = cut.filter(|_| bytes.len() > most) {
        bytes.truncate(cut.valid_up_to());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_noticed_wherever_it_is_cut() {
        for start in ["", "a", "aa", "aaa"] {
            let long = format!("{start}{}", "☃".repeat(20));
            let read = read(long.as_bytes(), 10).unwrap();
            assert!(read.len() > 10 && str::from_utf8(&read).is_ok(), "{start}");
        }
        assert_eq!(
            read(&b"a\xe2"[..], 10).unwrap(),
            b"a\xe2",
            "a fault is one where nothing was cut"
        );
    }
}
