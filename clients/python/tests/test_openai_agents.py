"""The OpenAI Agents SDK itself, with a model of our own: the tool runs what a human approved, and nothing else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agents import Agent, Model, ModelResponse, Runner, RunState, Usage, function_tool, set_tracing_disabled
from agents.tool_context import ToolContext
from conftest import API_KEY, BASE_URL, Counted, Human, Losing, control
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from countersign_client import AsyncCountersign
from countersign_client.openai_agents import ToolGate

set_tracing_disabled(True)


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
        lambda given: {"agent_slug": name, "action": f"Pay invoice {given['invoice']}"},
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


def test_runs_what_was_approved_and_shows_its_defaults(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []
    assert run(name, paid, human) == "paid 100"
    assert paid == [(1042, 100, "EUR")]
    assert human.asked[0]["context"] == {"invoice": "1042", "cents": "100", "currency": "EUR"}
    assert count(name) == Counted(1, 1)


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


def test_tells_the_model_what_was_denied(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []
    human.decision = "deny"
    told = run(name, paid, human)
    assert "Do not retry" in told
    assert "try again" not in told
    assert paid == []
    assert count(name) == Counted(1, 0)


def test_runs_nothing_while_the_service_is_away(human: Human, new_agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_sleep(_: float) -> None: ...

    monkeypatch.setattr("countersign_client._async_client.asyncio.sleep", no_sleep)
    paid: list[Any] = []
    # Standard reply of the SDK for a tool that raises.
    said = run(new_agent(), paid, human, base="http://127.0.0.1:1")
    assert said == "An error occurred while running the tool. Please try again."
    assert paid == []


def test_does_not_tell_the_model_to_try_again_what_ran_unattested(
    human: Human, count: Any, new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_sleep(_: float) -> None: ...

    monkeypatch.setattr("countersign_client._async_client.asyncio.sleep", no_sleep)
    name, paid = new_agent(), []
    said = run(name, paid, human, http=httpx2.AsyncClient(transport=Losing("/v1/attest")))
    assert said == "The action ran, but its attestation could not be stored. Don't run the action again."
    assert len(paid) == 1
    assert count(name) == Counted(1, 0)


def test_asks_for_each_of_parallel_calls(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []
    calls = [{"invoice": 1, "cents": 1}, {"invoice": 1, "cents": 1}, {"invoice": 2, "cents": 2}]
    assert run(name, paid, human, calls=calls) == "paid 1 | paid 1 | paid 2"
    assert len(paid) == 3
    assert count(name) == Counted(3, 3)


PROGRAM = Path(__file__).read_text().split("\ndef test_")[0] + '''
async def main() -> None:
    name, file, step = sys.argv[1:]
    paid: list[Any] = []
    async with AsyncCountersign(BASE_URL, API_KEY) as client:
        agent, gate = agent_of(client, name, paid, across=True)
        if step == "start":
            result = await Runner.run(agent, "Pay")
            (item,) = result.interruptions
            Path(file).write_text(json.dumps(result.to_state().to_json()))
            print(json.dumps(await gate.ask(item)))
            return
        state = await RunState.from_json(agent, json.loads(Path(file).read_text()))
        if step == "changed":
            # Whoever writes the stored state puts the SDK's fingerprint of the changed call beside it.
            forger, _ = agent_of(client, name, paid, across=True, calls=[{"invoice": 1042, "cents": 100_000}])
            forged = (await Runner.run(forger, "Pay")).to_state().to_json()
            state = await RunState.from_json(agent, forged)
        for item in state.get_interruptions():
            state.approve(item)
        print(json.dumps([paid, (await Runner.run(agent, state)).final_output]))

asyncio.run(main())
'''


def step(name: str, file: Path, what: str) -> Any:
    args = [sys.executable, "-c", PROGRAM, name, str(file), what]
    done = subprocess.run(args, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_goes_on_in_another_process_and_believes_no_state(tmp_path: Path, count: Any, new_agent: Any) -> None:
    name, file = new_agent(), tmp_path / "run.json"
    asked = step(name, file, "start")
    paid, said = step(name, file, "go-on")
    assert paid == []
    assert said == "Not run: no human has decided yet."
    control("approve", request_id=asked["request_id"])
    paid, said = step(name, file, "changed")
    # Other arguments are another request, which nobody has decided.
    assert (paid, said) == ([], "Not run: no human has decided yet.")
    assert step(name, file, "go-on") == [[[1042, 100, "EUR"]], "paid 100"]
    assert count(name) == Counted(2, 1)
