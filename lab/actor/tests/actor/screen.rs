//! What is seen in the pane.

use crate::pane::Pane;
use crate::script::Script;

#[test]
fn a_recorded_screen_is_shown_as_it_was() {
    let script = Script::new(
        r#"
        [[step]]
        print = "old text"
        [[step]]
        screen = { file = "full.ansi", cursor = [2, 5] }
        [[step]]
        stall = "forever"
        "#,
    );
    let rows: Vec<String> = (1..=24).map(|n| format!("row {n} ✻ ❯")).collect();
    let recorded = rows.join("\n").replace("row 7", "\x1b[31mrow 7\x1b[39m") + "\n";
    script.write("full.ansi", &recorded);
    let pane = Pane::play(&script);
    let screen = pane.wait_for_screen("row 24");
    assert_eq!(screen.lines().collect::<Vec<_>>(), rows);
    pane.wait_for_format("#{cursor_x},#{cursor_y}", "2,5");
}

#[test]
fn the_alternate_screen_is_left_at_the_end() {
    let script = Script::new(
        r#"
        [[step]]
        alternate_screen = true
        [[step]]
        print = "on the other side"
        [[step]]
        await_file = { path = "go", within = "20s" }
        [[step]]
        exit = 5
        "#,
    );
    let pane = Pane::play(&script);
    pane.wait_for_screen("on the other side");
    pane.wait_for_format("#{alternate_on}", "1");
    script.write("go", "");
    assert_eq!(pane.exit_code(), "5");
    pane.wait_for_format("#{alternate_on}", "0");
}

#[test]
fn the_alternate_screen_stays_after_a_crash() {
    let script = Script::new(
        "[[step]]\nalternate_screen = true\n[[step]]\nprint = \"busy\"\n[[step]]\ncrash = \"KILL\"",
    );
    let pane = Pane::play(&script);
    assert_eq!(pane.exit_code(), "137");
    assert!(pane.screen().contains("busy"));
    assert_eq!(pane.show("#{alternate_on}"), "1");
}

#[test]
fn the_title_is_set() {
    let script = Script::new(
        "[[step]]\ntitle = \"✋ {env:ACTOR_TEST} (dir)\"\n[[step]]\nstall = \"forever\"",
    );
    let pane = Pane::play(&script);
    pane.wait_for_format("#{pane_title}", "✋ ein Wert (dir)");
}

#[test]
fn a_new_size_is_recorded() {
    let script = Script::new(
        r#"
        record_sizes = "sizes"
        [[step]]
        print_size = "size {cols} by {rows}"
        [[step]]
        stall = "forever"
        "#,
    );
    let pane = Pane::play(&script);
    pane.wait_for_screen("size 80 by 24");
    pane.tmux(&["resize-window", "-x", "100", "-y", "30"]);
    script.wait_for("sizes", |sizes| sizes == "100x30\n");
    pane.tmux(&["resize-window", "-x", "60", "-y", "10"]);
    script.wait_for("sizes", |sizes| sizes == "100x30\n60x10\n");
}

#[test]
fn a_stream_counts_and_a_clock_ticks_meanwhile() {
    let script = Script::new(
        r#"
        [[step]]
        clock = { text = "tick {n} at {time}", row = -1, every = "50ms" }
        [[step]]
        stream = { text = "line {n}\n", count = 3, every = "100ms" }
        [[step]]
        clock = "off"
        [[step]]
        print = "over"
        [[step]]
        stall = "forever"
        "#,
    );
    let pane = Pane::play(&script);
    let screen = pane.wait_for_screen("over");
    assert!(screen.starts_with("line 1\nline 2\nline 3\nover\n"), "{screen}");
    let clock = screen.lines().last().unwrap_or_default();
    let ticks: u32 = clock.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!(ticks >= 2, "{clock}");
    assert_eq!(pane.screen(), screen);
}

#[test]
fn the_environment_is_shown() {
    let script = Script::new(
        r#"
        [[step]]
        print_env = ["ACTOR_TEST", "ACTOR_NONE"]
        [[step]]
        print_file = { env = "DOGWATCH_PROMPT_FILE" }
        [[step]]
        stall = "forever"
        "#,
    );
    script.write("prompt", "Do it.\nWell.");
    let pane = Pane::play(&script);
    let screen = pane.wait_for_screen("Well.");
    let expected = "ACTOR_TEST=ein Wert\nACTOR_NONE is not set\nDo it.\nWell.\n";
    assert!(screen.starts_with(expected), "{screen}");
}
