//! How the panes of a team share their window: the master keeps its side, the others share what is left.

/// Where the master is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

impl Side {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Top => "top",
            Self::Bottom => "bottom",
        }
    }

    /// Whether the master must be the first of the window's panes for a layout to put it there, or the last.
    pub fn is_first(self) -> bool {
        matches!(self, Self::Left | Self::Top)
    }

    /// tmux's own layout for it, if every version has one: where the master is first.
    pub fn layout(self) -> Option<&'static str> {
        match self {
            Self::Left => Some("main-vertical"),
            Self::Top => Some("main-horizontal"),
            Self::Right | Self::Bottom => None,
        }
    }
}

/// A pane's place in its window, or the window itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub left: u32,
    pub top: u32,
    pub width: u32,
    pub height: u32,
}

/// The side that the master is on. One that fills the window, or is in no place of its own, counts as left or right.
pub fn side(master: Place, window: Place) -> Side {
    // A line above or below may hold the title.
    let is_high = master.height + 2 >= window.height;
    let is_wide = master.width >= window.width;
    match (is_high, is_wide) {
        (false, true) if master.top <= 1 => Side::Top,
        (false, true) => Side::Bottom,
        _ if master.left == 0 => Side::Left,
        _ => Side::Right,
    }
}

/// How large the main pane is to be: a number of cells, or a share such as `50%`.
pub fn main_size(option: &str, of: u32, default: u32) -> u32 {
    let size = match option.trim().strip_suffix('%') {
        Some(share) => share.parse().ok().map(|share: u32| of * share.min(100) / 100),
        None => option.trim().parse().ok(),
    };
    size.unwrap_or(default)
}

/// The smallest pane that an agent can be read in.
pub const LEAST_WIDTH: u32 = 20;
pub const LEAST_HEIGHT: u32 = 5;

/// How large the main pane can be so that the others stay usable: as large as it is to be, else half of the window. `None` if there is no
/// room for so many others.
///
/// tmux's own layouts give the main pane what its option says, 80 columns as a rule: in a window of 80 columns that leaves one to the
/// others.
pub fn fitting_main(side: Side, window: (u32, u32), main: u32, others: u32) -> Option<u32> {
    let (width, height) = window;
    let is_beside = matches!(side, Side::Left | Side::Right);
    // Along the master's axis, and across it, where the others share.
    let ((along, least), (across, each)) = if is_beside {
        ((width, LEAST_WIDTH), (height, LEAST_HEIGHT))
    } else {
        ((height, LEAST_HEIGHT), (width, LEAST_WIDTH))
    };
    let needed = others.checked_mul(each + 1)?.saturating_sub(1);
    if others == 0 || across < needed {
        return None;
    }
    // The line between them is nobody's.
    let room = along.checked_sub(1)?;
    let main = if main >= least && main.saturating_add(least) <= room { main } else { room / 2 };
    (main >= least && room - main >= least).then_some(main)
}

/// A layout in tmux's own notation, for what it has no name for: a master on the right or at the bottom, or of another size than its option
/// says. `panes` are the numbers of all of them in their order, the master first or last as its side wants it. `None` if there is no room.
///
/// tmux 3.3a's server crashes when it is given a layout that it cannot read. So this is a table
/// that was held against tmux, and not a place to be clever.
pub fn written(side: Side, window: (u32, u32), main: u32, panes: &[u32]) -> Option<String> {
    let (width, height) = window;
    let is_first = side.is_first();
    let (master, others) = if is_first { panes.split_first()? } else { panes.split_last()? };
    let is_beside = matches!(side, Side::Left | Side::Right);
    let (along, across) = if is_beside { (width, height) } else { (height, width) };
    let count = u32::try_from(others.len()).ok().filter(|count| *count > 0)?;
    // One line between any two, and one cell at least for each.
    if along < 3 || across < 2 * count - 1 {
        return None;
    }
    let main = main.clamp(1, along - 2);
    let rest = along - main - 1;
    // Where the master begins on its axis, and where the others do.
    let (at_main, at_rest) = if is_first { (0, main + 1) } else { (rest + 1, 0) };
    let cell = |at: u32, thick: u32, from: u32, size: u32, id: Option<u32>| {
        let (x, y, w, h) =
            if is_beside { (at, from, thick, size) } else { (from, at, size, thick) };
        let id = id.map(|id| format!(",{id}")).unwrap_or_default();
        format!("{w}x{h},{x},{y}{id}")
    };
    let mut from = 0;
    let mut cells = Vec::new();
    for (id, size) in others.iter().zip(shares(across, count)) {
        cells.push(cell(at_rest, rest, from, size, Some(*id)));
        from += size + 1;
    }
    let many = cell(at_rest, rest, 0, across, None);
    let shared = match cells.as_slice() {
        [only] => only.clone(),
        cells if is_beside => format!("{many}[{}]", cells.join(",")),
        cells => format!("{many}{{{}}}", cells.join(",")),
    };
    let master = cell(at_main, main, 0, across, Some(*master));
    let (first, second) = if is_first { (master, shared) } else { (shared, master) };
    let layout = if is_beside {
        format!("{width}x{height},0,0{{{first},{second}}}")
    } else {
        format!("{width}x{height},0,0[{first},{second}]")
    };
    Some(format!("{:04x},{layout}", checksum(&layout)))
}

/// Equal shares with a line between any two; what is left over goes to the last.
fn shares(across: u32, count: u32) -> impl Iterator<Item = u32> {
    let free = across - (count - 1);
    let each = free / count;
    (0..count).map(move |at| if at + 1 == count { free - each * (count - 1) } else { each })
}

fn checksum(layout: &str) -> u16 {
    layout.bytes().fold(0, |sum: u16, byte| sum.rotate_right(1).wrapping_add(byte.into()))
}

/// A style for borders that takes each pane's own colour where it has one, and else what was set before.
pub fn border_style(before: &str, option: &str) -> Option<String> {
    if before.contains(option) {
        return None;
    }
    // A comma outside of formats would end the branch of the condition.
    let mut depth = 0_u32;
    let mut kept = String::new();
    for (at, c) in before.char_indices() {
        match c {
            '{' if before[..at].ends_with('#') => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !before[..at].ends_with('#') => kept.push('#'),
            _ => {}
        }
        kept.push(c);
    }
    Some(format!("#{{?{option},fg=#{{{option}}},{kept}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(left: u32, top: u32, width: u32, height: u32) -> Place {
        Place { left, top, width, height }
    }

    #[test]
    fn sides() {
        let window = place(0, 0, 200, 50);
        let table = [
            (place(0, 0, 200, 50), Side::Left, "alone"),
            (place(0, 1, 200, 49), Side::Left, "alone, below its title"),
            (place(0, 0, 80, 50), Side::Left, ""),
            (place(0, 0, 80, 24), Side::Left, "a quarter"),
            (place(120, 0, 80, 50), Side::Right, ""),
            (place(120, 26, 80, 24), Side::Right, "a quarter"),
            (place(0, 0, 200, 24), Side::Top, ""),
            (place(0, 1, 200, 24), Side::Top, "below its title"),
            (place(0, 26, 200, 24), Side::Bottom, ""),
        ];
        for (master, expected, which) in table {
            assert_eq!(side(master, window), expected, "{master:?} {which}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(main_size("80", 200, 80), 80);
        assert_eq!(main_size("50%", 200, 80), 100);
        assert_eq!(main_size("", 200, 80), 80);
    }

    /// As tmux 3.3a writes such layouts itself.
    #[test]
    fn layouts_as_tmux_writes_them() {
        let ours = |side, window, main, panes: &[u32]| written(side, window, main, panes);
        assert_eq!(
            checksum(
                "200x50,0,0{80x50,0,0,0,119x50,81,0[119x16,81,0,3,119x16,81,17,2,119x16,81,34,1]}"
            ),
            0x7ffd
        );
        assert_eq!(
            ours(Side::Right, (200, 50), 80, &[1, 2, 3, 0]).unwrap().split_once(',').unwrap().1,
            "200x50,0,0{119x50,0,0[119x16,0,0,1,119x16,0,17,2,119x16,0,34,3],80x50,120,0,0}"
        );
        assert_eq!(
            ours(Side::Bottom, (200, 50), 24, &[7, 0]).unwrap().split_once(',').unwrap().1,
            "200x50,0,0[200x25,0,0,7,200x24,0,26,0]"
        );
        assert_eq!(
            ours(Side::Bottom, (201, 50), 24, &[7, 8, 0]).unwrap().split_once(',').unwrap().1,
            "201x50,0,0[201x25,0,0{100x25,0,0,7,100x25,101,0,8},201x24,0,26,0]"
        );
        let named = ours(Side::Left, (200, 50), 80, &[0, 3, 2, 1]).unwrap();
        assert_eq!(
            named,
            "7ffd,200x50,0,0{80x50,0,0,0,119x50,81,0[119x16,81,0,3,119x16,81,17,2,119x16,81,34,1]}"
        );
        assert_eq!(
            ours(Side::Top, (80, 24), 11, &[0, 1]).unwrap().split_once(',').unwrap().1,
            "80x24,0,0[80x11,0,0,0,80x12,0,12,1]"
        );
        assert_eq!(ours(Side::Right, (200, 2), 80, &[1, 2, 0]), None, "no room");
        assert_eq!(ours(Side::Right, (2, 50), 80, &[1, 0]), None, "no room");
        assert_eq!(ours(Side::Right, (200, 50), 80, &[0]), None, "alone");
    }

    #[test]
    fn the_main_pane_leaves_room() {
        let table = [
            // side, window, main, others, fits
            (Side::Left, (200, 50), 80, 1, Some(80), "as it is to be"),
            (Side::Left, (101, 50), 80, 1, Some(80), "just"),
            (Side::Left, (100, 50), 80, 1, Some(49), "half"),
            (Side::Left, (80, 24), 80, 1, Some(39), "the usual window"),
            (Side::Right, (80, 24), 80, 4, Some(39), "four share 24 lines"),
            (Side::Right, (80, 24), 80, 5, None, "five cannot"),
            (Side::Left, (41, 24), 80, 1, Some(20), "the narrowest"),
            (Side::Left, (40, 24), 80, 1, None, "too narrow"),
            (Side::Left, (200, 50), 3, 1, Some(99), "a master of three columns is none"),
            (Side::Top, (80, 24), 24, 1, Some(11), "half"),
            (Side::Top, (200, 50), 24, 3, Some(24), ""),
            (Side::Bottom, (80, 24), 24, 4, None, "four cannot share 80 columns"),
            (Side::Bottom, (83, 11), 24, 4, Some(5), "just"),
            (Side::Top, (80, 10), 24, 1, None, "too low"),
            (Side::Left, (0, 0), 80, 1, None, ""),
            (Side::Left, (200, 50), 80, u32::MAX, None, ""),
            (Side::Left, (200, 50), u32::MAX - 9, 1, Some(99), ""),
        ];
        for (side, window, main, others, expected, which) in table {
            let found = fitting_main(side, window, main, others);
            assert_eq!(found, expected, "{side:?} {window:?} {main} {others} {which}");
        }
    }

    #[test]
    fn border_styles() {
        let made = |before| border_style(before, "@c");
        assert_eq!(made("default").as_deref(), Some("#{?@c,fg=#{@c},default}"));
        assert_eq!(made("fg=red,bg=blue").as_deref(), Some("#{?@c,fg=#{@c},fg=red#,bg=blue}"));
        assert_eq!(
            made("#{?pane_in_mode,fg=yellow,fg=green}").as_deref(),
            Some("#{?@c,fg=#{@c},#{?pane_in_mode,fg=yellow,fg=green}}")
        );
        assert_eq!(made("#{?@c,fg=#{@c},default}"), None, "set before");
    }
}
