use dogwatch_core::exit_code;
use dogwatch_core::workflow::page::{self, length, money};
use dogwatch_core::workflow::{self, Report};
use dogwatch_engine::{Context, Error};
use dogwatch_store::{ProjectFile, Readers};

use crate::args::StoryReport;
use crate::ui;

pub(super) fn report(context: &Context, args: &StoryReport) -> Result<u8, Error> {
    let (kept, run, facts) = super::look(context, args.run.as_deref())?;
    let report = workflow::report(&kept.id, kept.begun, &run, &facts);
    if let Some(file) = &args.html {
        let page = page::page(&report);
        ProjectFile::named(Some(&kept.project), file)
            .and_then(|file| file.replace(page.as_bytes(), Readers::Usual))
            .map_err(Error::io(format!("write {}", file.display())))?;
        if !ui::prints_json() {
            ui::line(format_args!("{}", file.display()));
            return Ok(exit_code::OK);
        }
    }
    if ui::prints_json() {
        ui::json(&report);
    } else {
        print(&report);
    }
    Ok(exit_code::OK)
}

fn print(report: &Report) {
    ui::line(format_args!(
        "run {} ({}): {}, {}, {} attempts ({} retries), {} tokens{}",
        report.run,
        report.workflow,
        if report.standing == "going" { "unfinished" } else { report.standing },
        length(report.seconds),
        report.attempts,
        report.retries,
        report.spent.tokens(),
        money(report.spent.micro_usd),
    ));
    let mut table = ui::table(&["STORY", "STEP", "STATE", "TIME", "ATTEMPTS", "TOKENS", "WHY"]);
    for (name, line) in report.lines() {
        for step in &line.steps {
            let tries: Vec<String> =
                step.attempts.iter().map(|one| format!("{} {}", one.agent, one.result)).collect();
            let tries: Vec<&str> = tries.iter().map(|text| text.trim()).collect();
            table.row([
                name.clone().into(),
                step.label.clone().into(),
                step.state.into(),
                if step.attempts.is_empty() { String::new() } else { length(step.seconds) }.into(),
                tries.join(", ").into(),
                step.spent.tokens().to_string().into(),
                ui::harmless(step.why.clone()).replace('\n', " · ").into(),
            ]);
        }
    }
    ui::line(table);
    for one in &report.questions {
        let answer = match (&one.action, &one.by) {
            (Some(action), Some(by)) => format!("{by} chose {}", action.as_str()),
            _ => "open".into(),
        };
        let why = ui::harmless(one.why.clone()).replace('\n', " · ");
        ui::line(format_args!(
            "question about {}: {}: {why}: {answer}",
            one.job,
            one.trigger.title()
        ));
    }
}
