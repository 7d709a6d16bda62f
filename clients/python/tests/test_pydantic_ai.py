"""Pydantic AI itself, with its FunctionModel: the tool runs what a human approved, and nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import API_KEY, BASE_URL, Counted, Human, control
from contract import *
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved, models
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from countersign_client import AsyncCountersign
from countersign_client.pydantic_ai import gate_tool, gate_tool_across_runs

models.ALLOW_MODEL_REQUESTS = False

BEFORE = ("thread-1",)


@dataclass
class Deps:
    thread: str


TAKES_CHANGES = True
def model_of(*calls: dict[str, Any]) -> FunctionModel:
    """Calls ``pay`` with each of these at once, and then repeats what the tools have answered."""

    def answer(messages: list[Any], _: Any) -> ModelResponse:
        returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if returned:
            return ModelResponse([TextPart(" | ".join(str(part.content) for part in returned))])
        return ModelResponse([ToolCallPart("pay", call, f"call-{n}") for n, call in enumerate(calls)])

    return FunctionModel(answer)


def agent_of(client: AsyncCountersign, name: str, paid: list[Any], across: bool = False, human: Any = None, calls: Any = None) -> Agent[Deps, Any]:
    agent: Agent[Deps, Any] = Agent(
        model_of(*(calls or [{"invoice": 1042, "cents": 100}])), deps_type=Deps, output_type=[str, DeferredToolRequests]
    )
    gating = gate_tool_across_runs if across else gate_tool

    @agent.tool
    @gating(
        client,
        lambda given: {"agent_slug": name, "action": f"Pay invoice {given['invoice']}", "amendable": ["context.cents"]},
        run_id=lambda context: context.deps.thread,
        on_request=human,
    )
    async def pay(context: RunContext[Deps], invoice: int, cents: int, currency: str = "EUR") -> str:
        paid.append((context.deps.thread, invoice, cents, currency))
        return f"paid {cents}"

    return agent


def run(name: str, paid: list[Any], human: Any, base: str = BASE_URL, http: Any = None, **more: Any) -> Any:
    async def go() -> Any:
        async with AsyncCountersign(base, API_KEY, http=http) as client:
            return (await agent_of(client, name, paid, human=human, **more).run("Pay", deps=Deps("thread-1"))).output

    return asyncio.run(go())


async def step(name: str, file: str, what: str) -> Any:
    """From what is stored in the file, as after a restart."""
    paid: list[Any] = []
    async with AsyncCountersign(BASE_URL, API_KEY) as client:
        agent = agent_of(client, name, paid, across=True)
        if what == "start":
            result = await agent.run("Pay", deps=Deps("thread-1"))
            Path(file).write_bytes(result.all_messages_json())
            return [result.output.metadata[call.tool_call_id] for call in result.output.approvals]
        history = ModelMessagesTypeAdapter.validate_json(Path(file).read_bytes())
        override = {"invoice": 1042, "cents": 100_000} if what == "changed" else None
        approved = DeferredToolResults(approvals={"call-0": ToolApproved(override_args=override)})
        result = await agent.run(message_history=history, deferred_tool_results=approved, deps=Deps("thread-1"))
        return [paid, result.output if isinstance(result.output, str) else "deferred"]


def test_keeps_the_approval_of_a_tool_that_defers(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []
    agent: Agent[Deps, Any] = Agent(
        model_of({"invoice": 1, "cents": 2}), deps_type=Deps, output_type=[str, DeferredToolRequests]
    )

    async def go() -> Any:
        async with AsyncCountersign(BASE_URL, API_KEY) as client:

            @agent.tool
            @gate_tool(client, {"agent_slug": name, "action": "Pay"}, run_id="thread-1", on_request=human)
            async def pay(context: RunContext[Deps], invoice: int, cents: int) -> str:
                if not context.tool_call_approved:
                    raise ApprovalRequired
                paid.append((invoice, cents))
                return f"paid {cents}"

            paused = await agent.run("Pay", deps=Deps("thread-1"))
            assert (paid, count(name)) == ([], Counted(1, 0))
            resumed = await agent.run(
                message_history=paused.all_messages(),
                deferred_tool_results=DeferredToolResults(approvals={"call-0": True}),
                deps=Deps("thread-1"),
            )
            return resumed.output

    assert asyncio.run(go()) == "paid 2"
    assert paid == [(1, 2)]
    assert count(name) == Counted(1, 1)


GO_ON = 'print(json.dumps(asyncio.run(step(*sys.argv[1:], "go-on"))))'


def test_goes_on_in_another_process_and_believes_no_message(tmp_path: Path, count: Any, new_agent: Any) -> None:
    name, file = new_agent(), str(tmp_path / "run.json")
    (asked,) = asyncio.run(step(name, file, "start"))
    assert asked["approval_url"].startswith("http")
    assert asyncio.run(step(name, file, "go-on")) == [[], "deferred"]
    control("approve", request_id=asked["request_id"])
    # Other arguments are another request, which nobody has decided.
    assert asyncio.run(step(name, file, "changed")) == [[], "deferred"]
    assert run_beside(__file__, GO_ON, name, file) == [[["thread-1", 1042, 100, "EUR"]], "paid 100"]
    assert count(name) == Counted(2, 1)
