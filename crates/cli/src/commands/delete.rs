use dogwatch_core::exit_code;
use dogwatch_engine::registry::delete;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::registry::Deleted;

use crate::args::Delete;
use crate::{environment, ui};

pub(crate) fn delete(context: &Context, args: &Delete) -> Result<u8, Error> {
    let managed = environment::managed_registry(context, &args.which_registry, false)?;
    let deleted = delete::delete(&managed, &args.name, args.purge_conversation)?;
    if ui::prints_json() {
        ui::json(&Deleted {
            name: args.name.clone(),
            by: deleted.by,
            conversation: deleted.conversation,
            purged: deleted.purged.iter().map(|file| ui::path(file)).collect(),
        });
        return Ok(exit_code::OK);
    }
    let how = super::kill::by(deleted.by);
    let rest = match (&deleted.conversation, deleted.purged.as_slice()) {
        (Some(id), _) => format!("conversation {id} is kept"),
        (None, []) => "no conversation".to_owned(),
        (None, purged) => format!("conversation deleted ({} files)", purged.len()),
    };
    ui::line(format_args!("{}: {how}; {rest}", args.name));
    Ok(exit_code::OK)
}
