use std::path::PathBuf;

use dogwatch_core::exit_code;
use dogwatch_core::worktree::settings::Settings;
use dogwatch_engine::worktree::trust::{self, Found};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::worktree::{TrustState, TrustedFile, ValueRange};

use crate::args::{Trust, Untrust};
use crate::{environment, ui};

pub(crate) fn trust(context: &Context, args: &Trust) -> Result<u8, Error> {
    let dir = dir(args.dir.as_ref())?;
    let found = if args.show { trust::of(context, &dir)? } else { trust::trust(context, &dir)? };
    if ui::prints_json() {
        ui::json(&shape(&found, &found.settings()?));
        return Ok(exit_code::OK);
    }
    let path = ui::short_path(&found.path);
    if args.show {
        ui::screen(&found.content);
        ui::talk(match state(&found) {
            TrustState::Trusted => format!("{path} is trusted"),
            TrustState::Changed => format!("{path} changed since it was trusted"),
            TrustState::Untrusted => format!("{path} is not trusted"),
        });
        return Ok(exit_code::OK);
    }
    ui::line(format_args!("trusted {path}"));
    let settings = found.settings()?;
    for path in &settings.copy {
        ui::line(format_args!("  copies {path}"));
    }
    for path in &settings.link {
        ui::line(format_args!("  links {path}"));
    }
    for (name, range) in &settings.values {
        ui::line(format_args!("  allocates {name} from {} to {}", range.first, range.last));
    }
    if let Some(setup) = &settings.setup {
        ui::line(format_args!("  runs {setup}"));
    }
    Ok(exit_code::OK)
}

pub(crate) fn untrust(context: &Context, args: &Untrust) -> Result<u8, Error> {
    let (path, was) = trust::untrust(context, &dir(args.dir.as_ref())?)?;
    if ui::prints_json() {
        ui::json(&TrustedFile {
            path: ui::path(&path),
            trust: TrustState::Untrusted,
            hash: None,
            copy: Vec::new(),
            link: Vec::new(),
            setup: None,
            values: Vec::new(),
        });
    } else if was {
        ui::line(format_args!("no longer trusted: {}", ui::short_path(&path)));
    } else {
        ui::talk(format_args!("{} was not trusted", ui::short_path(&path)));
    }
    Ok(exit_code::OK)
}

fn dir(given: Option<&PathBuf>) -> Result<PathBuf, Error> {
    let here = environment::current_dir()?;
    Ok(given.map_or_else(|| here.clone(), |dir| here.join(dir)))
}

fn state(found: &Found) -> TrustState {
    match found.trust {
        trust::Trust::Trusted => TrustState::Trusted,
        trust::Trust::Changed => TrustState::Changed,
        trust::Trust::Never => TrustState::Untrusted,
    }
}

fn shape(found: &Found, settings: &Settings) -> TrustedFile {
    let range = |(name, range): (&String, &dogwatch_core::worktree::settings::Range)| ValueRange {
        name: name.clone(),
        first: range.first,
        last: range.last,
    };
    TrustedFile {
        path: ui::path(&found.path),
        trust: state(found),
        hash: Some(found.hash.clone()),
        copy: settings.copy.clone(),
        link: settings.link.clone(),
        setup: settings.setup.clone(),
        values: settings.values.iter().map(range).collect(),
    }
}
