"""LangChain's agents on LangGraph themselves, with a scripted model: the tool runs what a human approved, and nothing else."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import API_KEY, BASE_URL, Counted, Human, control
from contract import *
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from countersign_client import AsyncCountersign
from countersign_client.langchain import gate_tools


class Scripted(BaseChatModel):
    """Calls ``pay`` with each of these at once, and then repeats what the tools have answered."""

    calls: list[dict[str, Any]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        returned = [str(one.content) for one in messages if isinstance(one, ToolMessage)]
        calls = [{"name": "pay", "args": call, "id": f"call-{n}"} for n, call in enumerate(self.calls)]
        said = AIMessage(" | ".join(returned)) if returned else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=said)])


def agent_of(client: AsyncCountersign, name: str, paid: list[Any], human: Any = None, calls: Any = None, **more: Any) -> Any:
    @tool
    async def pay(invoice: int, cents: int, currency: str = "EUR") -> str:
        """Pays an invoice."""
        paid.append((invoice, cents, currency))
        return f"paid {cents}"

    def describe(given: dict[str, Any]) -> Any:
        return {"agent_slug": name, "action": f"Pay invoice {given['invoice']}", "amendable": ["context.cents"]}

    gate = gate_tools(client, {"pay": describe}, on_request=human, interrupt=more.pop("interrupt", False))
    model = Scripted(calls=calls or [{"invoice": 1042, "cents": 100}])
    return create_agent(model, [pay], middleware=[gate], **more)


TAKES_CHANGES = True
CONFIG: Any = {"configurable": {"thread_id": "thread-1"}}
ASKED: Any = {"messages": [("user", "Pay")]}


def run(name: str, paid: list[Any], human: Any, base: str = BASE_URL, http: Any = None, **more: Any) -> Any:
    async def go() -> Any:
        async with AsyncCountersign(base, API_KEY, http=http) as client:
            done = await agent_of(client, name, paid, human, **more).ainvoke(ASKED, CONFIG)
            return done["messages"][-1].content

    return asyncio.run(go())


class Stored(InMemorySaver):
    """A writer of the file can write the graph's state."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        if file.exists():
            storage, writes, blobs = pickle.loads(file.read_bytes())
            for thread, by_namespace in storage.items():
                for namespace, points in by_namespace.items():
                    self.storage[thread][namespace].update(points)
            self.writes.update(writes)
            self.blobs.update(blobs)

    def keep(self) -> None:
        storage = {thread: {one: dict(points) for one, points in two.items()} for thread, two in self.storage.items()}
        self.file.write_bytes(pickle.dumps((storage, dict(self.writes), dict(self.blobs))))


async def step(name: str, file: str, what: str) -> Any:
    paid: list[Any] = []
    stored = Stored(Path(file))
    async with AsyncCountersign(BASE_URL, API_KEY) as client:
        agent = agent_of(client, name, paid, checkpointer=stored, interrupt=True)
        if what == "changed":
            state = await agent.aget_state(CONFIG)
            message = state.values["messages"][-1]
            message.tool_calls[0]["args"]["cents"] = 100_000
            await agent.aupdate_state(CONFIG, {"messages": [message]}, as_node="model")
            done = await agent.ainvoke(None, CONFIG)
        else:
            done = await agent.ainvoke(ASKED if what == "start" else Command(resume={"approved": True}), CONFIG)
        if what != "changed":
            stored.keep()
        return [paid, done["messages"][-1].content, [one.value for one in done.get("__interrupt__", [])]]


def test_asks_nobody_about_arguments_that_the_tool_refuses(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []
    assert "Not run: " in run(name, paid, human, calls=[{"invoice": "many", "cents": 100}])
    assert paid == []
    assert count(name) == Counted(0, 0)


def test_runs_nothing_where_there_is_no_async_gate(new_agent: Any) -> None:
    paid: list[Any] = []
    client = AsyncCountersign(BASE_URL, API_KEY)
    with pytest.raises(NotImplementedError):
        agent_of(client, new_agent(), paid).invoke(ASKED, CONFIG)
    assert paid == []


def test_keeps_the_approval_of_a_tool_that_asks_a_question_of_its_own(human: Human, count: Any, new_agent: Any) -> None:
    name, paid = new_agent(), []

    @tool
    async def pay(invoice: int, cents: int) -> str:
        """Pays an invoice."""
        paid.append((invoice, interrupt("Which account?")))
        return f"paid {cents}"

    async def go(again: str | None) -> Any:
        # After a restart: another client, the same thread.
        async with AsyncCountersign(BASE_URL, API_KEY) as client:
            asked = {"agent_slug": name, "action": "Pay"}
            gate = gate_tools(client, {"pay": asked}, on_request=human, claim_as=again)
            agent = create_agent(Scripted(calls=[{"invoice": 1, "cents": 2}]), [pay], middleware=[gate], checkpointer=saver)
            done = await agent.ainvoke(ASKED, CONFIG)
            assert [one.value for one in done["__interrupt__"]] == ["Which account?"]
            assert (paid, count(name)) == ([], Counted(1, 0))
            if again is not None:
                gate = gate_tools(AsyncCountersign(BASE_URL, API_KEY), {"pay": asked}, claim_as=again)
                agent = create_agent(
                    Scripted(calls=[{"invoice": 1, "cents": 2}]), [pay], middleware=[gate], checkpointer=saver
                )
            return (await agent.ainvoke(Command(resume="the second"), CONFIG))["messages"][-1].content

    for again in (None, "worker-1"):
        name, saver = new_agent(), InMemorySaver()
        paid.clear()
        assert asyncio.run(go(again)) == "paid 2"
        assert paid == [(1, "the second")]
        assert count(name) == Counted(1, 1)


def test_leaves_a_question_of_the_tool_its_own_answer(human: Human, count: Any, new_agent: Any) -> None:
    name, paid, saver = new_agent(), [], InMemorySaver()

    @tool
    async def pay(invoice: int, cents: int) -> str:
        """Pays an invoice."""
        paid.append(interrupt("Which account?"))
        return f"paid {cents}"

    async def go() -> Any:
        async with AsyncCountersign(BASE_URL, API_KEY) as client:
            gate = gate_tools(client, {"pay": {"agent_slug": name, "action": "Pay"}}, interrupt=True)
            agent = create_agent(Scripted(calls=[{"invoice": 1, "cents": 2}]), [pay], middleware=[gate], checkpointer=saver)
            (paused,) = (await agent.ainvoke(ASKED, CONFIG))["__interrupt__"]
            await asyncio.to_thread(human, paused.value)
            (question,) = (await agent.ainvoke(Command(resume="of the gate"), CONFIG)).get("__interrupt__", [None])
            assert (question and question.value, paid) == ("Which account?", [])
            return (await agent.ainvoke(Command(resume="the second"), CONFIG))["messages"][-1].content

    assert asyncio.run(go()) == "paid 2"
    assert (paid, count(name)) == (["the second"], Counted(1, 1))


def test_asks_with_its_options_before_it_pauses(human: Human, count: Any, new_agent: Any) -> None:
    @tool
    async def pay(invoice: int, cents: int) -> str:
        """Pays an invoice."""
        return f"paid {cents}"

    async def go(name: str, resume: Any, **options: Any) -> Any:
        asked: Any = {"agent_slug": name, "action": "Pay"}
        async with AsyncCountersign(BASE_URL, API_KEY) as client:
            gate = gate_tools(client, {"pay": asked}, interrupt=True, **options)
            agent = create_agent(Scripted(calls=[{"invoice": 1, "cents": 2}]), [pay], middleware=[gate], checkpointer=InMemorySaver())
            (paused,) = (await agent.ainvoke(ASKED, CONFIG))["__interrupt__"]
            await asyncio.to_thread(resume, paused.value)
            return (await agent.ainvoke(Command(resume="anything"), CONFIG))["messages"][-1].content

    unseen, wrong = new_agent(), new_agent()
    assert asyncio.run(go(unseen, human, approve_unseen_inputs=True)) == "paid 2"
    assert count(unseen) == Counted(1, 1)
    with pytest.raises(TypeError, match="agent key"):
        asyncio.run(go(wrong, human, agent_key="secret-text"))
    assert count(wrong) == Counted(0, 0)


GO_ON = 'print(json.dumps(asyncio.run(step(*sys.argv[1:], "go-on"))))'


def test_goes_on_in_another_process_and_believes_no_value(tmp_path: Path, count: Any, new_agent: Any) -> None:
    name, file = new_agent(), str(tmp_path / "graph")
    _, _, (asked,) = asyncio.run(step(name, file, "start"))
    paid, _, (again,) = asyncio.run(step(name, file, "go-on"))
    assert (paid, again["request_id"]) == ([], asked["request_id"])
    control("approve", request_id=asked["request_id"])
    # Other arguments are another request, which nobody has decided.
    paid, _, (other,) = asyncio.run(step(name, file, "changed"))
    assert paid == []
    assert other["request_id"] != asked["request_id"]
    assert run_beside(__file__, GO_ON, name, file) == [[[1042, 100, "EUR"]], "paid 100", []]
    assert count(name) == Counted(2, 1)
