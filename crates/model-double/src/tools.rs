//! Maps what a scenario wants done to the tool the agent offers for it.

use serde_json::{Map, Value, json};

use crate::facts::OfferedTool;
use crate::reply::{ToolCall, ToolInput};
use crate::scenario::{Action, Ask, Edit, Shell, Subagent, TodoList, TodoStatus, Write};

/// The agent offers nothing that could do an action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model double: no tool for `{action}` is offered, only: {}", offered.join(", "))]
pub struct NotOffered {
    pub action: &'static str,
    pub offered: Vec<String>,
}

/// The calls that carry out an action; a todo list can take several.
///
/// Actions that are no tool calls give none.
pub fn calls(action: &Action, offered: &[OfferedTool]) -> Result<Vec<ToolCall>, NotOffered> {
    let offer = Offer(offered);
    let (name, calls) = match action {
        Action::Shell(shell) => ("shell", offer.shell(shell)),
        Action::Write(write) => ("write", offer.write(write)),
        Action::Edit(edit) => ("edit", offer.edit(edit)),
        Action::Todos(todos) => ("todos", offer.todos(todos)),
        Action::Ask(ask) => ("ask", offer.ask(ask)),
        Action::Subagent(task) => ("subagent", offer.subagent(task)),
        Action::ExitPlan(plan) => ("exit_plan", offer.exit_plan(plan)),
        Action::Tool(raw) => ("tool", Some(vec![offer.raw(&raw.name, &raw.args)])),
        _ => return Ok(Vec::new()),
    };
    calls.ok_or_else(|| NotOffered {
        action: name,
        offered: offered.iter().map(|tool| tool.name.clone()).collect(),
    })
}

struct Offer<'a>(&'a [OfferedTool]);

type Calls = Option<Vec<ToolCall>>;

impl Offer<'_> {
    fn find(&self, name: &str) -> Option<&OfferedTool> {
        self.0.iter().find(|tool| tool.name == name)
    }

    /// One call of a tool, if it is offered.
    fn call(&self, name: &str, args: Value) -> Calls {
        self.find(name).map(|tool| vec![call(tool, args)])
    }

    fn raw(&self, name: &str, args: &Map<String, Value>) -> ToolCall {
        let unknown = self.of_no_list(name);
        let found = self.find(name).or_else(|| self.of_server(name));
        call(found.unwrap_or(&unknown), Value::Object(args.clone()))
    }

    /// A tool that is not listed. Codex and Claude have the model search for the tools of MCP servers, and know them when they are called.
    fn of_no_list(&self, name: &str) -> OfferedTool {
        match name.split_once('/') {
            Some((server, tool)) if self.find("tool_search").is_some() => OfferedTool {
                namespace: Some(format!("mcp__{server}")),
                ..OfferedTool::function(tool)
            },
            Some((server, tool)) if self.find("ToolSearch").is_some() => {
                OfferedTool::function(format!("mcp__{server}__{tool}"))
            }
            _ => OfferedTool::function(name),
        }
    }

    /// `server/tool`: each agent puts the name of an MCP server before that of its tool in its own way.
    fn of_server(&self, name: &str) -> Option<&OfferedTool> {
        let (server, tool) = name.split_once('/')?;
        self.0.iter().find(|offered| {
            let space = offered.namespace.as_deref().unwrap_or_default();
            let whole = format!("{space}__{}", offered.name);
            whole.contains(server) && whole.ends_with(&format!("__{tool}"))
        })
    }

    fn shell(&self, shell: &Shell) -> Calls {
        let Shell { command, why, .. } = shell;
        let described = json!({ "command": command, "description": why });
        let codex = |key: &str, time_key: &str| {
            let mut args = json!({ key: command });
            set(&mut args, time_key, shell.timeout_ms);
            if let Some(question) = &shell.escalate {
                set(&mut args, "sandbox_permissions", Some("require_escalated"));
                set(&mut args, "justification", Some(question.as_str()));
            }
            args
        };
        // Before `shell_command`, Codex took words, and other names for the same wish.
        let old_codex = || {
            let mut args = json!({ "command": ["bash", "-lc", command] });
            set(&mut args, "timeout_ms", shell.timeout_ms);
            if let Some(question) = &shell.escalate {
                set(&mut args, "sandbox_permissions", Some("require_escalated"));
                set(&mut args, "with_escalated_permissions", Some(true));
                set(&mut args, "justification", Some(question.as_str()));
            }
            args
        };
        let mut claude = described.clone();
        set(&mut claude, "timeout", shell.timeout_ms);
        set(&mut claude, "run_in_background", shell.background.then_some(true));

        self.call("Bash", claude)
            .or_else(|| self.call("exec_command", codex("cmd", "yield_time_ms")))
            .or_else(|| self.call("shell_command", codex("command", "timeout_ms")))
            .or_else(|| self.call("shell", old_codex()))
            .or_else(|| self.call("run_shell_command", described.clone()))
            .or_else(|| self.call("bash", described))
    }

    fn write(&self, write: &Write) -> Calls {
        let Write { path, content } = write;
        let lines = prefixed("+", content);
        self.call("Write", json!({ "file_path": path, "content": content }))
            .or_else(|| self.call("apply_patch", patch("Add", path, &lines)))
            .or_else(|| self.call("write_file", json!({ "file_path": path, "content": content })))
            .or_else(|| self.call("write", json!({ "filePath": path, "content": content })))
    }

    fn edit(&self, edit: &Edit) -> Calls {
        let Edit { path, old, new } = edit;
        let hunk = format!("@@\n{}{}", prefixed("-", old), prefixed("+", new));
        let snake = json!({ "file_path": path, "old_string": old, "new_string": new });
        let mut gemini = snake.clone();
        set(&mut gemini, "instruction", Some("Replace the lines"));
        let camel = json!({ "filePath": path, "oldString": old, "newString": new });
        self.call("Edit", snake)
            .or_else(|| self.call("apply_patch", patch("Update", path, &hunk)))
            .or_else(|| self.call("replace", gemini))
            .or_else(|| self.call("edit", camel))
    }

    fn todos(&self, list: &TodoList) -> Calls {
        let items = |text_key: &str, extra: fn(&str) -> Value| -> Value {
            list.items
                .iter()
                .map(|todo| {
                    let mut item = extra(&todo.text);
                    set(&mut item, text_key, Some(todo.text.as_str()));
                    set(&mut item, "status", Some(todo.status.name()));
                    item
                })
                .collect()
        };
        let nothing = |_: &str| json!({});
        let active = |text: &str| json!({ "activeForm": format!("Doing: {text}") });
        let medium = |text: &str| json!({ "priority": "medium", "id": text });

        self.call("TodoWrite", json!({ "todos": items("content", active) }))
            .or_else(|| self.single_tasks(list))
            .or_else(|| self.call("update_plan", json!({ "plan": items("step", nothing) })))
            .or_else(|| self.call("write_todos", json!({ "todos": items("description", nothing) })))
            .or_else(|| self.call("todowrite", json!({ "todos": items("content", medium) })))
    }

    /// Claude's task tools: one call creates an item, another moves it. Ids count up from 1.
    fn single_tasks(&self, list: &TodoList) -> Calls {
        let (create, update) = (self.find("TaskCreate")?, self.find("TaskUpdate")?);
        let created = list.items.iter().filter(|_| !list.update).map(|todo| {
            let text = &todo.text;
            call(create, json!({ "subject": text, "description": text, "activeForm": text }))
        });
        let moved = list
            .items
            .iter()
            .enumerate()
            .filter(|(_, todo)| todo.status != TodoStatus::Pending)
            .map(|(index, todo)| {
                let id = (index + 1).to_string();
                call(update, json!({ "taskId": id, "status": todo.status.name() }))
            });
        Some(created.chain(moved).collect())
    }

    fn ask(&self, ask: &Ask) -> Calls {
        let questions = |extra: fn(usize, &Ask) -> Value| {
            let all = std::iter::once(ask).chain(&ask.also).enumerate();
            let all: Vec<Value> = all.map(|(at, one)| question(one, extra(at, one))).collect();
            json!({ "questions": all })
        };
        self.call("AskUserQuestion", questions(|_, one| json!({ "multiSelect": one.multi })))
            .or_else(|| {
                let id = |at, _: &Ask| json!({ "id": format!("question_{}", at + 1) });
                self.call("request_user_input", questions(id))
            })
            .or_else(|| {
                let kind = |_, one: &Ask| json!({ "type": "choice", "multiSelect": one.multi });
                self.call("ask_user", questions(kind))
            })
            .or_else(|| self.call("question", questions(|_, one| json!({ "multiple": one.multi }))))
    }

    fn subagent(&self, task: &Subagent) -> Calls {
        let Subagent { prompt, description, kind } = task;
        let full = json!({ "description": description, "prompt": prompt, "subagent_type": kind });
        self.call("Agent", full.clone())
            .or_else(|| self.call("Task", full.clone()))
            .or_else(|| self.call("spawn_agent", json!({ "message": prompt })))
            .or_else(|| self.call("task", full))
    }

    fn exit_plan(&self, plan: &str) -> Calls {
        self.call("ExitPlanMode", json!({ "plan": plan }))
            .or_else(|| self.call("exit_plan_mode", json!({ "plan": plan })))
    }
}

/// A question with its options, beside what only some agents know.
fn question(ask: &Ask, mut question: Value) -> Value {
    let described =
        |label: &String| json!({ "label": label, "description": format!("Take {label}") });
    let options: Value = ask.options.iter().map(described).collect();
    set(&mut question, "question", Some(ask.question.as_str()));
    set(&mut question, "header", Some(ask.header.as_str()));
    set(&mut question, "options", Some(options));
    question
}

fn call(tool: &OfferedTool, args: Value) -> ToolCall {
    let input = match args.get("input").and_then(Value::as_str) {
        Some(text) if tool.freeform => ToolInput::Freeform(text.to_owned()),
        _ => ToolInput::Json(args),
    };
    ToolCall { name: tool.name.clone(), namespace: tool.namespace.clone(), input }
}

fn set(object: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[key] = value.into();
    }
}

fn patch(verb: &str, path: &str, body: &str) -> Value {
    json!({ "input": format!("*** Begin Patch\n*** {verb} File: {path}\n{body}*** End Patch\n") })
}

fn prefixed(mark: &str, text: &str) -> String {
    text.lines().flat_map(|line| [mark, line, "\n"]).collect()
}

#[cfg(test)]
mod tests;
