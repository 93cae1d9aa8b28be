use dogwatch_core::exit_code;
use dogwatch_engine::work::{self, planner};
use dogwatch_engine::{Context, Error};
use serde_json::json;

use crate::args::StoryValidate;
use crate::{environment, ui};

pub(super) fn validate(context: &Context, args: &StoryValidate) -> Result<u8, Error> {
    let issues = if let Some(file) = &args.workflow {
        let text =
            std::fs::read_to_string(file).map_err(Error::io(format!("read {}", file.display())))?;
        dogwatch_core::workflow::read(&file.display().to_string(), &text)?;
        vec![]
    } else {
        let kept = planner::find(context, &environment::project()?, args.run.as_deref())?;
        work::validate(context, &kept)?
    };
    if args.json {
        ui::json(&json!({ "ok": issues.is_empty(), "issues": issues }));
    } else if issues.is_empty() {
        ui::line("all is as it should be");
    } else {
        issues.iter().for_each(ui::line);
    }
    Ok(if issues.is_empty() { exit_code::OK } else { exit_code::FAILED })
}
