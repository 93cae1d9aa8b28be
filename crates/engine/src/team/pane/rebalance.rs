use dogwatch_core::window::{self, Place, Side};
use dogwatch_tmux::{Command, PaneBox, PaneId, WindowView};

use super::window_of;
use crate::error::TeamError;
use crate::{Context, Error};

const TRIES: usize = 2;
/// tmux's defaults for a main pane, where it does not report them.
const MAIN_WIDTH: u32 = 80;
const MAIN_HEIGHT: u32 = 24;

/// The layout of a window after rebalancing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balanced {
    pub master: PaneId,
    pub side: Side,
    pub panes: usize,
    /// All panes exist, and the master is on its side.
    pub is_proven: bool,
}

/// Distributes the window among its panes. The master stays on its side, unless another side is
/// requested.
pub fn rebalance(context: &Context, master: PaneId, side: Option<Side>) -> Result<Balanced, Error> {
    let before = window_of(context, master)?;
    let side = side.unwrap_or_else(|| side_of(&before, master));
    let panes = before.panes.len();
    let mut view = before;
    let mut is_proven = view.panes.len() == 1;
    for _ in 0..TRIES {
        if is_proven {
            break;
        }
        arrange(context, &view, master, side)?;
        view = window_of(context, master)?;
        // Panes may have been added meanwhile.
        is_proven = view.panes.len() >= panes && side_of(&view, master) == side;
    }
    Ok(Balanced { master, side, panes: view.panes.len(), is_proven })
}

/// The side of the window that a pane is on.
pub(super) fn side_of(view: &WindowView, pane: PaneId) -> Side {
    let window = Place { left: 0, top: 0, width: view.width, height: view.height };
    view.pane(pane).map_or(Side::Left, |pane| window::side(place(pane), window))
}

fn place(pane: &PaneBox) -> Place {
    let PaneBox { left, top, width, height, .. } = *pane;
    Place { left, top, width, height }
}

fn arrange(context: &Context, view: &WindowView, master: PaneId, side: Side) -> Result<(), Error> {
    let mut order: Vec<PaneId> = view.panes.iter().map(|pane| pane.id).collect();
    let mut commands = Vec::new();
    // Layouts depend on the order of the panes: the main pane is the first.
    let wanted = if side.is_first() { 0 } else { order.len() - 1 };
    if let Some(at) = order.iter().position(|pane| *pane == master).filter(|at| *at != wanted) {
        let other = order[wanted];
        let swap = Command::new("swap-pane").flag('d').option('s', other.to_string());
        commands.push(swap.target(master));
        order.swap(at, wanted);
    }
    let layout = layout(view, side, &order).or_else(|| side.layout().map(ToOwned::to_owned));
    let layout = layout.map(|layout| Command::new("select-layout").target(master).arg(layout));
    commands.extend(layout);
    context.tmux.run(&commands)?;
    Ok(())
}

/// The layout for panes in this order; `None` if they do not fit.
pub(super) fn layout(view: &WindowView, side: Side, order: &[PaneId]) -> Option<String> {
    let wanted = main_size(view, side);
    let others = u32::try_from(order.len().saturating_sub(1)).ok()?;
    let main = window::fitting_main(side, (view.width, view.height), wanted, others)?;
    if let Some(name) = side.layout().filter(|_| main == wanted) {
        return Some(name.to_owned());
    }
    let numbers: Vec<u32> = order.iter().map(|pane| pane.0).collect();
    window::written(side, (view.width, view.height), main, &numbers)
}

fn main_size(view: &WindowView, side: Side) -> u32 {
    match side {
        Side::Left | Side::Right => window::main_size(&view.main_width, view.width, MAIN_WIDTH),
        Side::Top | Side::Bottom => window::main_size(&view.main_height, view.height, MAIN_HEIGHT),
    }
}

/// Fails unless one more pane fits beside the master and all panes stay usable.
pub(super) fn must_have_room(view: &WindowView, side: Side) -> Result<(), Error> {
    let others = u32::try_from(view.panes.len()).unwrap_or(u32::MAX);
    let (width, height) = (view.width, view.height);
    match window::fitting_main(side, (width, height), main_size(view, side), others) {
        Some(_) => Ok(()),
        None => Err(no_room(view, side)),
    }
}

pub(super) fn no_room(view: &WindowView, side: Side) -> Error {
    let (width, height, panes) = (view.width, view.height, view.panes.len());
    Error::Team(TeamError::NoRoom { width, height, panes, side: side.as_str() })
}
