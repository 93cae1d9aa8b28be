//! Texts that a command is given: as an argument, in a file, or on standard input.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dogwatch_engine::Error;

/// A text, of at most so many bytes and a little more, so that too long is noticed. `-` is standard input.
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
            File::open(file).and_then(|file| read(file, most)).map_err(Error::io(action))?
        }
        _ => read(std::io::stdin(), most).map_err(Error::io("read standard input"))?,
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::BadArgument { problem: format!("the text is not UTF-8 (byte {at})") }
    })
}

fn read(from: impl Read, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
