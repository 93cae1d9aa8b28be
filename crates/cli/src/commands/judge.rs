use std::fs::File;
use std::io::Read;
use std::path::Path;

use dogwatch_core::exit_code;
use dogwatch_core::screen::{self, Screen};
use dogwatch_engine::Error;
use serde_json::json;

use crate::args::Judge;
use crate::ui;

/// Far more than any capture has; a device has no end.
const MAX_SCREEN: u64 = 64 * 1024 * 1024;

pub(crate) fn judge(args: &Judge) -> Result<u8, Error> {
    if screen::markers(&args.agent).is_none() {
        let problem = format!("no screen markers are known for the agent {:?}", args.agent);
        return Err(Error::BadArgument { problem });
    }
    let bytes = read(&args.screen)?;
    let reading = screen::read(
        &args.agent,
        &Screen {
            bytes: &bytes,
            width: args.width,
            height: args.height,
            title: args.title.as_deref(),
            cursor: None,
            alternate: None,
        },
    );
    let mut answer = serde_json::to_value(&reading).unwrap_or_else(|_| json!({}));
    // One screen alone is never the agent's own word.
    answer["basis"] = "inferred".into();
    if args.json {
        ui::json(&answer);
        return Ok(exit_code::OK);
    }
    let need = answer["for"].as_str().map(|need| format!(" for {need}")).unwrap_or_default();
    ui::line(format_args!("{}{need} (inferred)", reading.state.word()));
    for reason in answer["reasons"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let word = |key: &str| reason[key].as_str().unwrap_or_default().to_owned();
        ui::line(format_args!("  {} in {}: {}", word("rule"), word("region"), word("text")));
    }
    if answer["reasons"].as_array().is_none_or(Vec::is_empty) {
        ui::line("  no rule matched");
    }
    Ok(exit_code::OK)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_SCREEN + 1).read_to_end(&mut bytes))
        .map_err(Error::io(format!("read {}", path.display())))?;
    if bytes.len() as u64 > MAX_SCREEN {
        let problem =
            format!("{} has more than {} MB: that is no screen", path.display(), MAX_SCREEN >> 20);
        return Err(Error::BadArgument { problem });
    }
    Ok(bytes)
}
