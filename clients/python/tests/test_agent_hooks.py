"""The interceptor in the emitter of AGENT-HOOKS' own SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_hooks import InterceptionBlocked, InterceptionEmitter
from agent_hooks.context import AgentContextBuilder
from conftest import API_KEY, BASE_URL, Human

from countersign_client import AsyncCountersign
from countersign_client.agent_hooks import ToolInterceptor


def run(agent: str, human: Human, changed: Any = None, is_error: bool = False, name: str = "pay", **more: Any) -> None:
    async def act() -> None:
        async with AsyncCountersign(BASE_URL, API_KEY) as client:
            describe: Any = {"agent_slug": agent, "action": "Pay the invoice", **more}
            emitter = InterceptionEmitter(timeout=None)
            emitter.register(ToolInterceptor(client, {"pay": describe}, on_request=human))
            made = AgentContextBuilder(agent_id="a", framework="test", session_id=f"session-of-{agent}")
            call = {"call_id": "call_1", "name": name}
            await emitter.emit(made.pre_tool_call(**call, args={"invoice": 7}))
            args = {"invoice": 7} if changed is None else changed
            await emitter.emit(made.post_tool_call(**call, args=args, value="paid", is_error=is_error))

    asyncio.run(act())


def attested(client: Any, agent: str) -> Any:
    [made] = client.call("GET", f"/v1/attestations?agent_slug={agent}")["attestations"]
    return client.call("GET", f"/v1/verify/{made['attestation_id']}")


@pytest.mark.parametrize(("is_error", "outcome"), [(False, "completed"), (True, "failed")])
def test_lets_run_what_was_approved_and_attests_how_it_ended(
    client: Any, human: Human, new_agent: Any, is_error: bool, outcome: str
) -> None:
    agent = new_agent()
    run(agent, human, is_error=is_error)
    made = attested(client, agent)
    assert made["metadata"]["outcome"] == outcome
    assert made["human_approval"]["method"] == "proof_of_personhood"
    assert made["human_approval"]["inputs_bound"] is True


def test_denies_what_a_human_denied(human: Human, count: Any, new_agent: Any) -> None:
    human.decision, agent = "deny", new_agent()
    with pytest.raises(InterceptionBlocked, match="countersign:not_approved|denied"):
        run(agent, human)
    assert (count(agent).asked, count(agent).attested) == (1, 0)


def test_lets_no_approver_change_a_call_that_it_can_only_let_run_as_it_is(human: Human, count: Any, new_agent: Any) -> None:
    agent = new_agent()
    with pytest.raises(InterceptionBlocked, match="countersign:not_approved"):
        run(agent, human, amendable=["context.invoice"])
    assert count(agent).asked == 0


def test_attests_other_arguments_without_the_approval(client: Any, human: Human, new_agent: Any) -> None:
    agent = new_agent()
    run(agent, human, changed={"invoice": 8})
    assert attested(client, agent)["human_approval"]["method"] == "none"


def test_allows_other_tools(human: Human, count: Any, new_agent: Any) -> None:
    agent = new_agent()
    run(agent, human, name="read")
    assert (count(agent).asked, count(agent).attested) == (0, 0)
