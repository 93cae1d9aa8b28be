use std::fs;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use dogwatch_core::exit_code;
use dogwatch_engine::Error;

use crate::args::{Args, ManPages};
use crate::ui;

/// Writes `dogwatch.1` and a page for each command into a directory, and prints the files.
pub(crate) fn man(args: &ManPages) -> Result<u8, Error> {
    let dir = &args.dir;
    fs::create_dir_all(dir).map_err(Error::io(format!("create {}", dir.display())))?;
    write(&Args::whole(), dir)?;
    Ok(exit_code::OK)
}

fn write(command: &Command, dir: &Path) -> Result<(), Error> {
    let page = Man::new(command.clone());
    let path = dir.join(page.get_filename());
    let mut text = Vec::new();
    let rendered = page.render(&mut text);
    let text = String::from_utf8_lossy(&text).replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n");
    rendered
        .and_then(|()| fs::write(&path, text))
        .map_err(Error::io(format!("write {}", path.display())))?;
    ui::line(path.display());
    let is_listed = |part: &&Command| !part.is_hide_set() && part.get_name() != "help";
    command.get_subcommands().filter(is_listed).try_for_each(|part| write(part, dir))
}
