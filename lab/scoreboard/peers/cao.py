"""Asks the providers of CLI Agent Orchestrator what screens show: a line of JSON in for each screen, a line of JSON out.

    FOLDER/bin/python3 cao.py

FOLDER is where lab/scoreboard/peers/install put it.
"""

import json
import os
import sys
import tempfile

# It makes folders of its own below HOME when it is imported.
os.environ["HOME"] = tempfile.mkdtemp(prefix="dogwatch-cao-")

from cli_agent_orchestrator.providers.claude_code import ClaudeCodeProvider  # noqa: E402
from cli_agent_orchestrator.providers.codex import CodexProvider  # noqa: E402
from cli_agent_orchestrator.providers.kimi_cli import KimiCliProvider  # noqa: E402
from cli_agent_orchestrator.providers.opencode_cli import OpenCodeCliProvider  # noqa: E402

PROVIDERS = {
    "claude": ClaudeCodeProvider,
    "codex": CodexProvider,
    "kimi": KimiCliProvider,
    "opencode": OpenCodeCliProvider,
}
WORDS = {
    "processing": "working",
    "waiting_user_answer": "waiting",
    "idle": "idle",
    "completed": "idle",
    "error": "error",
}


def state(screen):
    provider = PROVIDERS.get(screen["agent"])
    if provider is None:
        return None
    asked = provider("terminal", "session", "window")
    said = asked.get_status_from_screen(screen["text"].split("\n"))
    return WORDS.get(said.value, "unknown")


for row in sys.stdin:
    try:
        said = state(json.loads(row))
    except Exception as error:  # a detector that fails on a screen has no answer to it
        print(f"cao: {error}", file=sys.stderr)
        said = "unknown"
    print(json.dumps({"state": said}), flush=True)
