use super::*;
use crate::scenario::Scenario;

fn action(toml: &str) -> Action {
    let text = format!("[[rule]]\nmatch = 'x'\nsteps = [{{ {toml} }}]");
    let mut scenario = Scenario::parse("test", &text).expect(toml);
    scenario.rules.remove(0).steps.remove(0).0.remove(0)
}

fn offer(names: &[&str]) -> Vec<OfferedTool> {
    names
        .iter()
        .map(|name| OfferedTool {
            freeform: *name == "apply_patch",
            ..OfferedTool::function(*name)
        })
        .collect()
}

const CLAUDE: &[&str] = &[
    "Agent",
    "Bash",
    "Edit",
    "Read",
    "Write",
    "TaskCreate",
    "TaskUpdate",
    "AskUserQuestion",
    "ExitPlanMode",
];
const CODEX: &[&str] = &["exec_command", "update_plan", "request_user_input", "apply_patch"];
const GEMINI: &[&str] = &["run_shell_command", "write_file", "replace", "write_todos", "ask_user"];
const OPENCODE: &[&str] = &["bash", "write", "edit", "todowrite", "question", "task"];

#[test]
fn each_agent_gets_its_own_tools() {
    let cases: &[(&str, [&str; 4])] = &[
        ("shell = 'ls'", ["Bash", "exec_command", "run_shell_command", "bash"]),
        ("write = { path = 'p', content = 'c' }", ["Write", "apply_patch", "write_file", "write"]),
        ("edit = { path = 'p', old = 'a', new = 'b' }", ["Edit", "apply_patch", "replace", "edit"]),
        ("todos = [{ text = 't' }]", ["TaskCreate", "update_plan", "write_todos", "todowrite"]),
        (
            "ask = { question = '?', options = ['y', 'n'] }",
            ["AskUserQuestion", "request_user_input", "ask_user", "question"],
        ),
        ("subagent = 'go'", ["Agent", "-", "-", "task"]),
        ("exit_plan = 'p'", ["ExitPlanMode", "-", "-", "-"]),
        ("tool = { name = 'Odd' }", ["Odd", "Odd", "Odd", "Odd"]),
    ];
    for (toml, expected) in cases {
        for (offered, name) in [CLAUDE, CODEX, GEMINI, OPENCODE].into_iter().zip(expected) {
            let got = calls(&action(toml), &offer(offered));
            let got_name = got.as_ref().map_or("-", |calls| calls[0].name.as_str());
            assert_eq!(got_name, *name, "{toml} with {offered:?}");
        }
    }
}

#[test]
fn arguments_are_in_the_shape_of_the_tool() {
    let cases = [
        (
            "shell = { command = 'ls', why = 'look', timeout_ms = 9, background = true }",
            CLAUDE,
            json!({ "command": "ls", "description": "look", "timeout": 9, "run_in_background": true }),
        ),
        (
            "shell = { command = 'ls', escalate = 'May I?', timeout_ms = 9 }",
            CODEX,
            json!({ "cmd": "ls", "yield_time_ms": 9, "sandbox_permissions": "require_escalated",
                    "justification": "May I?" }),
        ),
        (
            "write = { path = 'p', content = \"a\\nb\\n\" }",
            CODEX,
            json!({ "input": "*** Begin Patch\n*** Add File: p\n+a\n+b\n*** End Patch\n" }),
        ),
        (
            "edit = { path = 'p', old = 'a', new = \"b\\nc\" }",
            CODEX,
            json!({ "input": "*** Begin Patch\n*** Update File: p\n@@\n-a\n+b\n+c\n*** End Patch\n" }),
        ),
        (
            "todos = [{ text = 't', status = 'in_progress' }]",
            CODEX,
            json!({ "plan": [{ "step": "t", "status": "in_progress" }] }),
        ),
        ("tool = { name = 'Odd', args = { n = 1 } }", CLAUDE, json!({ "n": 1 })),
    ];
    for (toml, offered, expected) in cases {
        let got = calls(&action(toml), &offer(offered)).expect(toml);
        assert_eq!(got[0].arguments(), expected, "{toml}");
    }
}

#[test]
fn free_text_goes_only_to_tools_that_take_it() {
    let write = action("write = { path = 'p', content = 'c' }");
    let freeform = calls(&write, &offer(&["apply_patch"])).expect("offered");
    assert!(matches!(freeform[0].input, ToolInput::Freeform(_)));

    let function = calls(&write, &[OfferedTool::function("apply_patch")]).expect("offered");
    assert!(matches!(function[0].input, ToolInput::Json(_)));
}

#[test]
fn tasks_are_created_once_and_then_moved() {
    let items = "items = [{ text = 'a', status = 'completed' }, { text = 'b' }]";
    let names = |toml: &str| -> Vec<String> {
        let calls = calls(&action(toml), &offer(CLAUDE)).expect(toml);
        calls.into_iter().map(|call| call.name).collect()
    };
    let fresh = names(&format!("todos = {{ {items} }}"));
    assert_eq!(fresh, ["TaskCreate", "TaskCreate", "TaskUpdate"]);
    let update = names(&format!("todos = {{ {items}, update = true }}"));
    assert_eq!(update, ["TaskUpdate"]);
}
