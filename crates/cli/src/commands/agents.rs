use anstyle::AnsiColor;
use dogwatch_core::exit_code;
use dogwatch_engine::Context;
use dogwatch_engine::observe::agents::{self, Found};
use dogwatch_protocol::tools;

use crate::table::Cell;
use crate::ui;

pub(crate) fn agents(context: &Context) -> u8 {
    let survey = agents::survey(context);
    let broken = survey.iter().any(|(_, found)| found.is_err());
    if ui::prints_json() {
        let agents = survey
            .iter()
            .map(|(name, found)| match found {
                Ok(found) => shape(found),
                Err(error) => tools::Agent::Broken { name: name.clone(), error: error.to_string() },
            })
            .collect();
        ui::json(&tools::Agents { agents });
    } else {
        let mut table = ui::table(&["AGENT", "TITLE", "VERSION", "PROGRAM"]);
        for (name, found) in &survey {
            table.row(match found {
                Ok(found) => row(found),
                Err(error) => {
                    let bad = Cell::painted("bad profile", AnsiColor::Red);
                    [name.as_str().into(), bad, "".into(), error.to_string().into()]
                }
            });
        }
        ui::line(table);
    }
    if broken { exit_code::AGENT } else { exit_code::OK }
}

fn row(found: &Found) -> [Cell; 4] {
    let missing = format!("not found; to install: {}", found.profile.install);
    let place = found.path.as_ref().map_or_else(
        || Cell::painted(missing, AnsiColor::Yellow),
        |path| path.display().to_string().into(),
    );
    [
        found.profile.name.as_str().into(),
        found.profile.title.as_str().into(),
        found.version.as_deref().unwrap_or_default().into(),
        place,
    ]
}

fn shape(found: &Found) -> tools::Agent {
    tools::Agent::Known {
        name: found.profile.name.clone(),
        title: found.profile.title.clone(),
        found: found.path.is_some(),
        path: found.path.as_deref().map(ui::path),
        version: found.version.clone(),
        install: found.profile.install.clone(),
    }
}
