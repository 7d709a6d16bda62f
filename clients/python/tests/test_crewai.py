"""CrewAI itself, its executor and its hooks, with a model of our own: the tool runs what a human approved, and nothing else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true")

import pytest
from conftest import API_KEY, BASE_URL, Counted, Human, lose
from contract import *
from crewai import Agent, BaseLLM, Crew, Task
from crewai.hooks.dispatch import InterceptionPoint, clear_all, register
from crewai.tools import tool

from countersign_client import Countersign
from countersign_client.crewai import gate_tool, refuse_ungated


LOSING = lose
TAKES_CHANGES = True
MODES = ({"native": True}, {"native": False})


class Scripted(BaseLLM):
    """Calls ``pay`` with each of these at once, and then repeats what the tools have answered."""

    calls: list[dict[str, Any]]
    native: bool = True

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
        if not self.native:
            return self.in_words(messages)
        returned = [str(one["content"]) for one in messages if one.get("role") == "tool"]
        if returned:
            return " | ".join(returned)
        return [
            {"id": f"call-{n}", "type": "function", "function": {"name": "pay", "arguments": json.dumps(call)}}
            for n, call in enumerate(self.calls)
        ]

    def in_words(self, messages: Any) -> str:
        # The instructions before it have the word too.
        _, *seen = "".join(str(one["content"]) for one in messages[2:]).split("Observation:")
        if seen:
            answer, *_ = seen[0].split("Analyze the tool result")
            return f"Thought: done\nFinal Answer: {answer.strip()}"
        return f"Thought: pay\nAction: pay\nAction Input: {json.dumps(self.calls[0])}"


def ungated(paid: list[Any]) -> Any:
    @tool("pay")
    def pay(invoice: int, cents: int, currency: str = "EUR") -> str:
        """Pays an invoice."""
        paid.append((invoice, cents, currency))
        return f"paid {cents}"

    return pay


def run(
    name: str, paid: list[Any], human: Any, base: str = BASE_URL, http: Any = None, calls: Any = None,
    native: bool = True, tools: Any = None, **more: Any,
) -> str:
    with Countersign(base, API_KEY, http=http) as client:

        def describe(given: dict[str, Any]) -> Any:
            return {"agent_slug": name, "action": f"Pay invoice {given['invoice']}", "amendable": ["context.cents"]}

        made = tools or [gate_tool(client, ungated(paid), describe, run_id="run-1", on_request=human, **more)]
        model = Scripted(model="scripted", calls=calls or [{"invoice": 1042, "cents": 100}], native=native)
        agent = Agent(role="payer", goal="pay", backstory="pays", llm=model, tools=made, max_retry_limit=0)
        task = Task(description="Pay", expected_output="what was paid", agent=agent)
        return str(Crew(agents=[agent], tasks=[task]).kickoff())


def test_runs_the_approved_arguments_though_a_hook_changes_them(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []

    def change(context: Any) -> None:
        # Before the human sees them: they are what is asked for.
        context.tool_input["cents"] = 100_000

    def approve(made: Any) -> None:
        assert made["context"]["cents"] == "100000"
        human.decision = "deny"
        human(made)

    register(InterceptionPoint.PRE_TOOL_CALL, change)
    try:
        assert "Do not retry" in run(name, paid, approve)
    finally:
        clear_all()
    assert paid == []


@pytest.mark.parametrize("native", [True, False])
def test_blocks_an_ungated_tool_of_the_same_name(native: bool, human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []
    with Countersign(BASE_URL, API_KEY) as client:
        gated = gate_tool(client, ungated([]), {"agent_slug": name, "action": "Pay"}, run_id="run-1", on_request=human)
    other = ungated(paid)
    assert run(name, paid, human, tools=[other], native=native) == "paid 100"
    undo = refuse_ungated(gated)
    try:
        assert "blocked by hook" in run(name, paid, human, tools=[other], native=native)
        assert len(paid) == 1
    finally:
        undo()
    assert run(name, paid, human, tools=[other], native=native) == "paid 100"
    assert count(name) == Counted(0, 0)


def test_aborts_if_it_cannot_tell_which_tool_is_called(new_agent: Any) -> None:
    from crewai.hooks.tool_hooks import ToolCallHookContext, run_before_tool_call_hooks

    class Broken:
        def __getattr__(self, _: str) -> Any:
            raise RuntimeError("broken")

    with Countersign(BASE_URL, API_KEY) as client:
        gated = gate_tool(client, ungated([]), {"agent_slug": new_agent(), "action": "Pay"}, run_id="run-1")
    undo = refuse_ungated(gated)
    try:
        assert run_before_tool_call_hooks(ToolCallHookContext("pay", {}, Broken())) is True  # type: ignore[arg-type]
        assert run_before_tool_call_hooks(ToolCallHookContext("pay", {}, gated.to_structured_tool())) is False
        assert run_before_tool_call_hooks(ToolCallHookContext("look", {}, Broken())) is False  # type: ignore[arg-type]
    finally:
        undo()
    assert run_before_tool_call_hooks(ToolCallHookContext("pay", {}, Broken())) is False  # type: ignore[arg-type]


RUN = """
paid: list[Any] = []
said = run(sys.argv[1], paid, None, wait=False)
print(json.dumps([paid, said]))
"""


def test_goes_on_in_another_process_and_runs_nothing_else(human: Human, count: Any, new_agent: Any) -> None:
    name, paid, asked = new_agent(), [], []
    for _ in range(2):
        assert run(name, paid, asked.append, wait=False) == "Not run: no human has decided yet."
    assert asked[0]["request_id"] == asked[1]["request_id"]
    human(asked[0])
    # Other arguments are another request, which nobody has decided.
    changed = [{"invoice": 1042, "cents": 100_000}]
    assert run(name, paid, asked.append, wait=False, calls=changed) == "Not run: no human has decided yet."
    assert asked[2]["request_id"] != asked[0]["request_id"]
    assert run_beside(__file__, RUN, name) == [[[1042, 100, "EUR"]], "paid 100"]
    assert run(name, paid, None, wait=False) == "Not run: no human has decided yet."
    assert paid == []
    assert count(name) == Counted(3, 1)
