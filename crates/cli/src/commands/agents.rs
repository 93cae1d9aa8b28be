use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_engine::Context;
use dogwatch_engine::sense::agents::{self, Found};
use serde_json::{Value, json};

use crate::args::Agents;
use crate::ui;

pub(crate) fn agents(context: &Context, args: &Agents) -> u8 {
    let survey = agents::survey(context);
    let broken = survey.values().any(Result::is_err);
    if args.json {
        let agents: Vec<Value> = survey
            .iter()
            .map(|(name, found)| match found {
                Ok(found) => to_json(found),
                Err(error) => json!({ "name": name, "error": error.to_string() }),
            })
            .collect();
        ui::json(&json!({ "agents": agents }));
    } else {
        let mut table = ui::table(&["AGENT", "TITLE", "VERSION", "PROGRAM"]);
        for (name, found) in &survey {
            table.add_row(match found {
                Ok(found) => row(found),
                Err(error) => [
                    name.clone(),
                    ui::painted("bad profile", AnsiColor::Red),
                    String::new(),
                    error.to_string(),
                ],
            });
        }
        ui::line(table.trim_fmt());
    }
    if broken { exit_code::AGENT } else { exit_code::OK }
}

fn row(found: &Found) -> [String; 4] {
    let place = match &found.path {
        Some(path) => path.display().to_string(),
        None => ui::painted(&format!("not found: {}", found.profile.install), AnsiColor::Yellow),
    };
    [
        found.profile.name.clone(),
        found.profile.title.clone(),
        found.version.clone().unwrap_or_default(),
        place,
    ]
}

fn to_json(found: &Found) -> Value {
    json!({
        "name": found.profile.name,
        "title": found.profile.title,
        "found": found.path.is_some(),
        "path": found.path.as_ref().map(|path| path.to_string_lossy()),
        "version": found.version,
        "install": found.profile.install,
    })
}
