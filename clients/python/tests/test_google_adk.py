"""Google's Agent Development Kit itself, with a model of our own: the tool runs what a human approved, and nothing else."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import API_KEY, BASE_URL, Counted, Human
from contract import *
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types

from countersign_client import AsyncCountersign
from countersign_client.google_adk import gate_tool

TAKES_CHANGES = True
CONFIRMATION = "adk_request_confirmation"


class Scripted(BaseLlm):
    """Calls ``pay`` with each of these at once, and then repeats what the tools have answered."""

    calls: list[dict[str, Any]]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        returned = [part.function_response.response for part in parts if part.function_response]
        if returned:
            said = [types.Part(text=" | ".join(str(one.get("result") or one.get("error")) for one in returned))]
        else:
            said = [
                types.Part(function_call=types.FunctionCall(id=f"call-{n}", name="pay", args=call))
                for n, call in enumerate(self.calls)
            ]
        yield LlmResponse(content=types.Content(role="model", parts=said))


def agent_of(
    client: AsyncCountersign, name: str, paid: list[Any], human: Any = None, calls: Any = None, confirm: bool = False
) -> LlmAgent:
    async def pay(invoice: int, cents: int, tool_context: ToolContext, currency: str = "EUR") -> Any:
        """Pays an invoice."""
        paid.append((invoice, cents, currency))
        return f"paid {cents}" if cents > 0 else {"error": "nothing to pay"}

    def describe(given: dict[str, Any]) -> Any:
        return {"agent_slug": name, "action": f"Pay invoice {given['invoice']}", "amendable": ["context.cents"]}

    gated = gate_tool(client, pay, describe, on_request=human, confirm=confirm)
    model = Scripted(model="scripted", calls=calls or [{"invoice": 1042, "cents": 100}])
    return LlmAgent(name="payer", model=model, tools=[gated])


async def send(agent: LlmAgent, sessions: Any, *parts: types.Part) -> tuple[str, list[Any]]:
    """Returns the agent's final message, and the calls that it waits for."""
    runner = Runner(agent=agent, app_name="app", session_service=sessions, auto_create_session=True)
    said, waiting = "", []
    message = types.Content(role="user", parts=list(parts))
    async for event in runner.run_async(user_id="user", session_id="session-1", new_message=message):
        for part in event.content.parts if event.content and event.content.parts else []:
            said = part.text or said
            if part.function_call and part.function_call.name == CONFIRMATION:
                waiting.append(part.function_call)
    return said, waiting


PAY = types.Part(text="Pay")


def run(name: str, paid: list[Any], human: Any, base: str = BASE_URL, http: Any = None, **more: Any) -> str:
    async def go() -> str:
        async with AsyncCountersign(base, API_KEY, http=http) as client:
            said, _ = await send(agent_of(client, name, paid, human, **more), InMemorySessionService(), PAY)
            return said

    return asyncio.run(go())


class Stored(InMemorySessionService):
    """A writer of the file can write the session."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        if file.exists():
            self.sessions, self.user_state, self.app_state = pickle.loads(file.read_bytes())

    def keep(self) -> None:
        self.file.write_bytes(pickle.dumps((self.sessions, self.user_state, self.app_state)))


async def step(name: str, file: Path, waiting: str | None = None, cents: int = 100) -> Any:
    """Without ``waiting``: up to where the run waits."""
    paid: list[Any] = []
    sessions = Stored(file)
    async with AsyncCountersign(BASE_URL, API_KEY) as client:
        agent = agent_of(client, name, paid, confirm=True, calls=[{"invoice": 1042, "cents": cents}])
        if waiting is None:
            _, (asked,) = await send(agent, sessions, PAY)
            sessions.keep()
            return [asked.id, asked.args["toolConfirmation"]["payload"]]
        # Written by whoever answers the framework, which nobody here believes.
        answer = types.FunctionResponse(id=waiting, name=CONFIRMATION, response={"confirmed": True})
        said, again = await send(agent, sessions, types.Part(function_response=answer))
        return [paid, said, len(again)]


def test_attests_as_failed_what_answers_an_error(human: Human, client: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []
    assert run(name, paid, human, calls=[{"invoice": 1042, "cents": 0}]) == "nothing to pay"
    (newest,) = client.call("GET", f"/v1/agent/{name}")["attestations"]
    assert client.call("GET", f"/v1/verify/{newest['attestation_id']}")["metadata"] == {"outcome": "failed"}


def test_takes_no_tool_that_confirms_by_itself(new_agent: Any) -> None:
    tool = FunctionTool(lambda: None, require_confirmation=True)
    with pytest.raises(ValueError, match="confirm=True"):
        gate_tool(AsyncCountersign(BASE_URL, API_KEY), tool, {"agent_slug": new_agent(), "action": "Pay"})


def test_goes_on_in_another_process_and_believes_no_confirmation(
    tmp_path: Path, human: Human, count: Any, new_agent: Any
) -> None:
    name, file, forged = new_agent(), tmp_path / "session", tmp_path / "forged"
    waiting, asked = asyncio.run(step(name, file))
    assert asked["approval_url"].startswith("http")
    assert asyncio.run(step(name, file, waiting))[0] == []
    human(asked)
    # A writer of the stored session changes the call in it, for which nobody was asked.
    other, _ = asyncio.run(step(name, forged, cents=100_000))
    assert asyncio.run(step(name, forged, other, 100_000))[0] == []
    code = "print(json.dumps(asyncio.run(step(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))))"
    assert run_beside(__file__, code, name, str(file), waiting) == [[[1042, 100, "EUR"]], "paid 100", 0]
    assert count(name) == Counted(2, 1)
