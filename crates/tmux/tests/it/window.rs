use dogwatch_testkit::PrivateTmux;
use dogwatch_tmux::{Command, PaneId, WindowView};

#[test]
fn a_window_and_where_its_panes_are() {
    let tmux = PrivateTmux::idle();
    let first = tmux.sized_session("team", 200, 50);
    let split = Command::new("split-window").flag('h').flag('d').target(first).arg("cat");
    tmux.server
        .run(&[split, Command::new("select-layout").target(first).arg("main-vertical")])
        .unwrap();
    let view: WindowView = tmux.server.window_of(first).unwrap();
    assert_eq!((view.width, view.height, view.main_width.as_str()), (200, 50, "80"));
    assert_eq!(Some(view.server_pid), tmux.server_pid());
    let places: Vec<_> = view.panes.iter().map(|p| (p.left, p.top, p.width, p.height)).collect();
    assert_eq!(places, [(0, 0, 80, 50), (81, 0, 119, 50)]);
    assert_eq!(view.panes[0].id, first);
    assert!(tmux.server.window_of(PaneId(99)).is_err());
}
