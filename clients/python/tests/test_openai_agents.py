"""The OpenAI Agents SDK itself, with a model of our own: the tool runs what a human approved, and nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, Runner, RunState, Usage, function_tool, set_tracing_disabled
from agents.tool_context import ToolContext
from conftest import API_KEY, BASE_URL, Counted, Human, control
from contract import *
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from countersign_client import AsyncCountersign
from countersign_client.openai_agents import ToolGate

set_tracing_disabled(True)

# Standard reply of the SDK for a tool that raises.
AWAY = "An error occurred while running the tool. Please try again."


TAKES_CHANGES = True


class Scripted(Model):
    """Calls ``pay`` with each of these at once, and then repeats what the tools have answered."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self.calls = calls

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        returned = [one["output"] for one in input if isinstance(one, dict) and one.get("type") == "function_call_output"]
        if returned:
            text = ResponseOutputText(annotations=[], text=" | ".join(map(str, returned)), type="output_text")
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse(output=[said], usage=Usage(), response_id=None)
        called = [
            ResponseFunctionToolCall(arguments=json.dumps(call), call_id=f"call-{n}", name="pay", type="function_call")
            for n, call in enumerate(self.calls)
        ]
        return ModelResponse(output=list(called), usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def agent_of(
    client: AsyncCountersign, name: str, paid: list[Any], across: bool = False, human: Any = None, calls: Any = None
) -> tuple[Agent[Any], ToolGate]:
    gate = ToolGate(
        client,
        lambda given: {"agent_slug": name, "action": f"Pay invoice {given['invoice']}", "amendable": ["context.cents"]},
        run_id="thread-1",
        on_request=human,
        wait=not across,
    )

    @function_tool(needs_approval=across)
    @gate.tool
    async def pay(context: ToolContext[Any], invoice: int, cents: int, currency: str = "EUR") -> str:
        """Pays an invoice."""
        paid.append((invoice, cents, currency))
        return f"paid {cents}"

    return Agent(name="payer", model=Scripted(calls or [{"invoice": 1042, "cents": 100}]), tools=[pay]), gate


def run(name: str, paid: list[Any], human: Any, base: str = BASE_URL, http: Any = None, **more: Any) -> Any:
    async def go() -> Any:
        async with AsyncCountersign(base, API_KEY, http=http) as client:
            agent, _ = agent_of(client, name, paid, human=human, **more)
            return (await Runner.run(agent, "Pay")).final_output

    return asyncio.run(go())


async def step(name: str, file: str, what: str) -> Any:
    """From what is stored in the file, as after a restart."""
    paid: list[Any] = []
    async with AsyncCountersign(BASE_URL, API_KEY) as client:
        agent, gate = agent_of(client, name, paid, across=True)
        if what == "start":
            result = await Runner.run(agent, "Pay")
            (item,) = result.interruptions
            Path(file).write_text(json.dumps(result.to_state().to_json()))
            return await gate.ask(item)
        state = await RunState.from_json(agent, json.loads(Path(file).read_text()))
        if what == "changed":
            # A writer of the stored state puts the SDK's fingerprint of the changed call beside it.
            forger, _ = agent_of(client, name, paid, across=True, calls=[{"invoice": 1042, "cents": 100_000}])
            forged = (await Runner.run(forger, "Pay")).to_state().to_json()
            state = await RunState.from_json(agent, forged)
        for item in state.get_interruptions():
            state.approve(item)
        return [paid, (await Runner.run(agent, state)).final_output]


def test_asks_with_what_the_sdk_will_pass(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []

    async def go() -> Any:
        async with AsyncCountersign(BASE_URL, API_KEY) as client:
            raw = [{"invoice": "1042", "cents": "100"}]
            agent, gate = agent_of(client, name, paid, across=True, calls=raw)
            result = await Runner.run(agent, "Pay")
            (interruption,) = result.interruptions
            human(await gate.ask(interruption))
            state = result.to_state()
            state.approve(interruption)
            said = (await Runner.run(agent, state)).final_output
            interruption.raw_item.arguments = '{"invoice": "many", "cents": 1}'
            with pytest.raises(ValueError, match="invoice"):
                await gate.ask(interruption)
            return said

    assert asyncio.run(go()) == "paid 100"
    assert paid == [(1042, 100, "EUR")]
    assert count(name) == Counted(1, 1)


GO_ON = 'print(json.dumps(asyncio.run(step(*sys.argv[1:], "go-on"))))'


def test_goes_on_in_another_process_and_believes_no_state(tmp_path: Path, count: Any, new_agent: Any) -> None:
    name, file = new_agent(), str(tmp_path / "run.json")
    asked = asyncio.run(step(name, file, "start"))
    paid, said = asyncio.run(step(name, file, "go-on"))
    assert paid == []
    assert said == "Not run: no human has decided yet."
    control("approve", request_id=asked["request_id"])
    paid, said = asyncio.run(step(name, file, "changed"))
    # Other arguments are another request, which nobody has decided.
    assert (paid, said) == ([], "Not run: no human has decided yet.")
    assert run_beside(__file__, GO_ON, name, file) == [[[1042, 100, "EUR"]], "paid 100"]
    assert count(name) == Counted(2, 1)
