"""The Claude Agent SDK and the program that it starts, with an API of our own: what a human approved runs, and nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, HookMatcher, ResultMessage, TextBlock, query
from conftest import API_KEY, BASE_URL, Counted, Human, Losing, control
from contract import run_beside

from countersign_client import AsyncCountersign, Countersign
from countersign_client._inputs import hash_inputs
from countersign_client.claude_agent_sdk import gate_hooks


def events_of(blocks: list[dict[str, Any]], model: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": "msg", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**start, "stop_reason": None, "stop_sequence": None}}
    for index, block in enumerate(blocks):
        is_text = block["type"] == "text"
        given = json.dumps(block.get("input"))
        delta = {"type": "text_delta", "text": block["text"]} if is_text else {
            "type": "input_json_delta", "partial_json": given
        }
        empty = {"text": ""} if is_text else {"input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "end_turn" if blocks[0]["type"] == "text" else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


@contextmanager
def scripted(commands: list[str]) -> Iterator[str]:
    """An API that calls ``Bash`` with each of these at once, and then repeats what the tools have answered."""

    class Api(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None: ...

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked = body["messages"]
            since = max((n for n, one in enumerate(asked) if one["role"] == "assistant"), default=0)
            parts = [part for one in asked[since:] for part in one["content"] if isinstance(part, dict)]
            returned = [str(part["content"]) for part in parts if part["type"] == "tool_result"]
            if returned or not body.get("tools"):
                blocks: list[dict[str, Any]] = [{"type": "text", "text": " | ".join(returned) or "Pay"}]
            else:
                blocks = [
                    {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": "Bash", "input": {"command": one}}
                    for one in commands
                ]
            events = events_of(blocks, body["model"])
            text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def run(
    name: str, folder: Path, human: Any, commands: list[str], base: str = BASE_URL, http: Any = None,
    resume: str | None = None, beside: Any = None, **more: Any,
) -> tuple[str, ResultMessage]:
    """Returns the agent's final message."""

    def describe(given: dict[str, Any]) -> Any:
        return {"agent_slug": name, "action": "Use the tool Bash", "amendable": ["context.command"]}

    async def go(api: str) -> tuple[str, ResultMessage]:
        async with AsyncCountersign(base, API_KEY, http=http) as client:
            hooks: Any = gate_hooks(client, {"Bash": describe}, on_request=human, **more)
            if beside is not None:
                hooks["PreToolUse"].append(HookMatcher(hooks=[beside]))
            quiet = {"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
            options = ClaudeAgentOptions(
                cwd=folder, hooks=hooks, model="scripted", resume=resume, setting_sources=[], tools=["Bash"],
                env={
                    **quiet, "ANTHROPIC_BASE_URL": api, "ANTHROPIC_API_KEY": "x",
                    "CLAUDE_CONFIG_DIR": str(folder / "configuration"), "HOME": str(folder),
                },
            )
            said, result = "", None
            async for message in query(prompt="Pay", options=options):
                if isinstance(message, AssistantMessage):
                    said = "".join(part.text for part in message.content if isinstance(part, TextBlock)) or said
                if isinstance(message, ResultMessage):
                    result = message
            assert result is not None
            return said, result

    with scripted(commands) as api:
        return asyncio.run(go(api))


def pay(cents: int) -> str:
    return f"echo {cents} >> paid; echo paid {cents}"


def paid_in(folder: Path) -> str:
    return (folder / "paid").read_text() if (folder / "paid").exists() else ""


def test_runs_what_was_approved(tmp_path: Path, human: Human, count: Any, new_agent: Any) -> None:
    name = new_agent()
    said, _ = run(name, tmp_path, human, [pay(100)])
    assert said.startswith("paid 100")
    assert paid_in(tmp_path) == "100\n"
    assert human.asked[0]["context"] == {"command": pay(100)}
    assert count(name) == Counted(1, 1)


def test_runs_what_an_approver_changed(tmp_path: Path, human: Human, client: Any, new_agent: Any) -> None:
    name = new_agent()
    human.decision, human.changes = "amend", {"context.command": pay(50)}
    said, _ = run(name, tmp_path, human, [pay(100)])
    assert said.startswith("paid 50")
    assert paid_in(tmp_path) == "50\n"
    (newest,) = client.call("GET", f"/v1/agent/{name}")["attestations"]
    made = client.call("GET", f"/v1/verify/{newest['attestation_id']}")
    assert made["inputs_hash"] == hash_inputs({"command": pay(50)})
    assert made["metadata"]["asked_inputs_hash"] == hash_inputs({"command": pay(100)})


def test_tells_the_model_what_was_denied(tmp_path: Path, human: Human, count: Any, new_agent: Any) -> None:
    name = new_agent()
    human.decision = "deny"
    said, _ = run(name, tmp_path, human, [pay(100)])
    assert "Do not retry" in said
    assert paid_in(tmp_path) == ""
    assert count(name) == Counted(1, 0)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_sleep(_: Any) -> None: ...

    monkeypatch.setattr("countersign_client._async_client.asyncio", type("Quick", (), {"sleep": no_sleep}))


@pytest.mark.usefixtures("no_pauses")
def test_runs_nothing_while_the_service_is_away(tmp_path: Path, human: Human, new_agent: Any) -> None:
    said, _ = run(new_agent(), tmp_path, human, [pay(100)], base="http://127.0.0.1:1")
    assert "no answer" in said
    assert paid_in(tmp_path) == ""


@pytest.mark.usefixtures("no_pauses")
def test_says_that_what_ran_could_not_be_attested(tmp_path: Path, human: Human, count: Any, new_agent: Any) -> None:
    name = new_agent()
    http = httpx2.AsyncClient(transport=Losing("/v1/attest"))
    run(name, tmp_path, human, [pay(100)], http=http)
    assert paid_in(tmp_path) == "100\n"
    assert count(name) == Counted(1, 0)


@pytest.mark.parametrize("is_later", [False, True])
def test_never_attests_as_approved_what_another_hook_made_of_it(
    is_later: bool, tmp_path: Path, human: Human, client: Any, new_agent: Any
) -> None:
    name = new_agent()

    def is_claimed(request_id: str) -> bool:
        return client.call("GET", f"/v1/authorize/{request_id}").get("claimed_at") is not None

    async def change(*_: Any) -> Any:
        if is_later:
            # Our hook claims last, and answers.
            while not (human.asked and is_claimed(human.asked[0]["request_id"])):
                await asyncio.sleep(0.1)
            await asyncio.sleep(2)
        said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": pay(100_000)}}
        return {"hookSpecificOutput": said}

    run(name, tmp_path, human, [pay(100)], beside=change)
    assert human.asked[0]["context"] == {"command": pay(100)}
    (newest,) = client.call("GET", f"/v1/agent/{name}")["attestations"]
    is_approved = client.call("GET", f"/v1/verify/{newest['attestation_id']}")["human_approved"]
    # The input of the hook that answers last is what Claude Code runs.
    expected = ("100000\n", False) if is_later else ("100\n", True)
    assert (paid_in(tmp_path), is_approved) == expected


def test_attests_as_failed_what_fails(tmp_path: Path, human: Human, client: Any, new_agent: Any) -> None:
    name = new_agent()
    run(name, tmp_path, human, ["exit 3"])
    (newest,) = client.call("GET", f"/v1/agent/{name}")["attestations"]
    assert client.call("GET", f"/v1/verify/{newest['attestation_id']}")["metadata"] == {"outcome": "failed"}


def test_asks_for_each_of_parallel_calls(tmp_path: Path, human: Human, count: Any, new_agent: Any) -> None:
    name = new_agent()
    run(name, tmp_path, human, [pay(1), pay(1), pay(2)])
    assert sorted(paid_in(tmp_path).split()) == ["1", "1", "2"]
    assert count(name) == Counted(3, 3)


def call_hook(hooks: Any, event: str, number: int) -> Any:
    given = {"hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_use_id": f"t{number}",
             "tool_input": {"command": pay(number)}, "tool_response": {}}
    return hooks[event][0].hooks[0](given, None, None)


def test_attests_calls_that_end_at_once(human: Human, count: Any, new_agent: Any) -> None:
    name = new_agent()

    async def go() -> Any:
        async with AsyncCountersign(BASE_URL, API_KEY) as client:
            hooks = gate_hooks(client, {"Bash": {"agent_slug": name, "action": "Pay"}}, on_request=human)
            for number in range(3):
                await call_hook(hooks, "PreToolUse", number)
            return await asyncio.gather(*(call_hook(hooks, "PostToolUse", number) for number in range(3)))

    assert asyncio.run(go()) == [{}, {}, {}]
    assert count(name) == Counted(3, 3)


def test_asks_again_under_an_id_that_an_attested_call_had(human: Human, count: Any, new_agent: Any) -> None:
    name = new_agent()

    async def go() -> list[str]:
        said: list[str] = []
        async with AsyncCountersign(BASE_URL, API_KEY) as client:
            hooks = gate_hooks(client, {"Bash": {"agent_slug": name, "action": "Pay"}}, on_request=human)
            for event in ("PreToolUse", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse"):
                answer = await call_hook(hooks, event, 1)
                said.append(answer.get("hookSpecificOutput", {}).get("permissionDecision", ""))
        return said

    assert asyncio.run(go()) == ["allow", "deny", "", "allow", ""]
    assert count(name) == Counted(2, 2)


def test_calls_no_rule_a_human(client: Any, human: Human, new_agent: Any) -> None:
    name = new_agent()
    text = f'@id("pay") permit (principal == Agent::"{name}", action, resource);'

    async def go(number: int, on_request: Any = None) -> str:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            hooks = gate_hooks(own, {"Bash": {"agent_slug": name, "action": "Pay"}}, on_request=on_request)
            said: str = (await call_hook(hooks, "PreToolUse", number))["hookSpecificOutput"]["permissionDecisionReason"]
            return said

    assert asyncio.run(go(1, human)) == "A TEST approval, not a real person's, of exactly this call."
    with Countersign(BASE_URL, control("key", scopes=["rules"])["key"]) as owner:
        owner.call("PUT", "/v1/rules", {"mode": "enforce", "text": text})
        try:
            assert asyncio.run(go(2)) == "Rule pay allowed it. Nobody was asked. This is a TEST instance."
        finally:
            owner.call("PUT", "/v1/rules", {"mode": "off", "text": text})


RESUME = """
_, name, folder, session = sys.argv
print(json.dumps(run(name, Path(folder), None, [pay(100), pay(100)], resume=session, wait=False)[0]))
"""


def test_goes_on_in_another_process(tmp_path: Path, human: Human, count: Any, new_agent: Any) -> None:
    name, asked = new_agent(), []
    said, paused = run(name, tmp_path, asked.append, [pay(100)], wait=False)
    assert "no human has decided yet" in said
    assert (paused.stop_reason, paid_in(tmp_path)) == ("end_turn", "")
    human(asked[0])
    said = run_beside(__file__, RESUME, name, str(tmp_path), paused.session_id)
    assert "paid 100" in said
    assert "no human has decided yet" in said
    assert paid_in(tmp_path) == "100\n"
    assert count(name) == Counted(2, 1)
