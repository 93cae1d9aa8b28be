use dogwatch_core::exit_code;
use dogwatch_core::screen::{self, Screen};
use dogwatch_engine::Error;
use serde_json::json;

use crate::args::Judge;
use crate::ui;

pub(crate) fn judge(args: &Judge) -> Result<u8, Error> {
    if screen::markers(&args.agent).is_none() {
        let problem = format!("no screen markers are known for the agent {:?}", args.agent);
        return Err(Error::BadArgument { problem });
    }
    let action = format!("read {}", args.screen.display());
    let bytes = std::fs::read(&args.screen).map_err(Error::io(action))?;
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
