use dogwatch_core::exit_code;
use dogwatch_engine::registry::adopt::{self, Adoption};
use dogwatch_engine::{Context, Error};

use dogwatch_protocol::registry::Adopted;

use crate::args::Adopt;
use crate::{environment, ui};

pub(crate) fn adopt(context: &Context, args: &Adopt) -> Result<u8, Error> {
    let managed = environment::managed_registry(context, &args.which_registry, false)?;
    let adoption = Adoption {
        name: args.name.clone(),
        agent: args.agent.clone(),
        workspace: args.workspace.clone(),
        role: args.role.clone(),
    };
    let entry = adopt::adopt(&managed, &adoption)?;
    if ui::prints_json() {
        ui::json(&Adopted { entry: entry.shape(), name: args.name.clone() });
    } else {
        ui::line(format_args!("{}: added {} to the registry", args.name, entry.agent));
    }
    Ok(exit_code::OK)
}
