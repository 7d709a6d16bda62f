"""Nothing runs without an approval of exactly these arguments, and nothing is asked, run or attested twice."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import anyio.lowlevel
import httpx2
import pytest
from conftest import API_KEY, BASE_URL, Counted, Human, Losing, control, lose
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from countersign_client._frameworks import gate_context_tool
from countersign_client import (
    AgentFrozenError,
    ApprovalClaimedError,
    ApprovalMismatchError,
    ApprovalRevokedError,
    ApprovalUsedError,
    AsyncCountersign,
    Countersign,
    CountersignError,
    NotApprovedError,
    NotAttestedError,
    NotDecidedError,
    ServiceConnectionError,
    WaitTimeoutError,
    hash_inputs,
)

Gate = Callable[..., Any]
Count = Callable[[str], Counted]
INPUTS: dict[str, Any] = {"to": "Example Ltd", "amount": {"value": 100, "currency": "EUR"}}


def nest(depth: int) -> dict[str, Any]:
    return {} if depth == 1 else {"a": nest(depth - 1)}


def inputs() -> dict[str, Any]:
    return json.loads(json.dumps(INPUTS))


class Breaking(httpx2.BaseTransport):
    """Loses the connection before or after the service answers."""

    def __init__(self, when: str, is_broken: Callable[[int], bool]) -> None:
        self.inner = httpx2.HTTPTransport()
        self.when, self.is_broken, self.number = when, is_broken, 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.number += 1
        broken = self.is_broken(self.number)
        if broken and self.when == "before":
            raise httpx2.ConnectError("lost", request=request)
        response = self.inner.handle_request(request)
        if broken:
            response.read()
            raise httpx2.ReadError("lost", request=request)
        return response


class Changing(httpx2.BaseTransport):
    """A service that lies in its answers to GET."""

    def __init__(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.inner = httpx2.HTTPTransport()
        self.change = change

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self.inner.handle_request(request)
        if request.method != "GET":
            return response
        response.read()
        return httpx2.Response(200, json=self.change(response.json()))


@pytest.fixture(params=["sync", "async"])
def gate(request: pytest.FixtureRequest, client: Countersign) -> Iterator[Gate]:
    """The same tests for both clients; each call is of a client of its own unless ``by`` is given."""
    if request.param == "sync":
        yield lambda agent, given, run, by=None, **more: (by or Countersign(BASE_URL, API_KEY)).gate(
            asked_of(agent, more), given, run, run_id="run-1", call_id="call-1", **more
        )
        return

    def run_async(agent: str, given: Any, run: Any, by: Any = None, **more: Any) -> Any:
        async def go() -> Any:
            async with AsyncCountersign(BASE_URL, API_KEY) as own:
                return await own.gate(asked_of(agent, more), given, run, run_id="run-1", call_id="call-1", **more)

        return asyncio.run(go())

    yield run_async


def asked_of(agent: str, more: dict[str, Any]) -> Any:
    return {"agent_slug": agent, "action": "Pay invoice 1042", **more.pop("asked", {})}


class Action:
    def __init__(self, result: object = "paid", errors: list[Exception] | None = None) -> None:
        self.calls: list[tuple[Any, Any]] = []
        self.result, self.errors = result, errors or []

    def __call__(self, given: Any, approval: Any) -> object:
        self.calls.append((given, approval))
        if self.errors:
            raise self.errors.pop(0)
        return self.result


def test_runs_what_was_approved_once_and_attests_it(gate: Gate, human: Human, count: Count, new_agent: Any) -> None:
    agent, run = new_agent(), Action()
    gated = gate(agent, inputs(), run, on_request=human, attestation={"metadata": {"invoice": 1042}})
    assert gated.result == "paid"
    ((given, approval),) = run.calls
    assert given == INPUTS
    assert approval.request_id == gated.authorization["request_id"]
    assert approval.key.startswith("gate-")
    assert gated.attestation["inputs_hash"] == hash_inputs(INPUTS)
    assert gated.attestation["metadata"] == {"invoice": 1042, "outcome": "completed"}
    assert gated.attestation["human_approval"]["method"] == "proof_of_personhood"
    assert gated.attestation["human_approval"]["inputs_bound"] is True
    assert count(agent) == Counted(1, 1)


def test_has_the_hash_that_other_languages_have() -> None:
    # Hashes by lib/client/api/inputs.ts.
    assert hash_inputs(INPUTS) == hash_inputs({"amount": {"currency": "EUR", "value": 100.0}, "to": "Example Ltd"})
    assert hash_inputs([]) == "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"


def test_has_that_hash_and_shows_every_digit_whatever_the_decimal_context(human: Human, client: Countersign, new_agent: Any) -> None:
    given = {"cents": 1_234_567}
    expected = hash_inputs(given)
    with decimal.localcontext() as context:
        context.prec = 3
        gated = client.gate(asked_of(new_agent(), {}), given, Action(), run_id="r", call_id="c", on_request=human)
    assert gated.attestation["inputs_hash"] == expected
    assert human.asked[0]["context"] == {"cents": "1234567"}


def test_signs_the_attestation_as_the_agent(gate: Gate, human: Human, client: Countersign, new_agent: Any) -> None:
    agent, seed = new_agent(), bytes([7]) * 32
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    client.call("POST", "/v1/identity/register", {"slug": agent, "public_key_pem": pem})
    gated = gate(agent, inputs(), Action(), on_request=human, agent_key=seed)
    assert gated.attestation["agent_authenticated"] is True


def test_does_not_run_what_a_human_denied_and_does_not_ask_again(
    gate: Gate, human: Human, count: Count, new_agent: Any
) -> None:
    agent, run = new_agent(), Action()
    human.decision = "deny"
    for _ in range(2):
        with pytest.raises(NotApprovedError, match="Do not retry") as caught:
            gate(agent, inputs(), run, on_request=human)
        assert (caught.value.status, caught.value.retryable) == ("denied", False)
    assert run.calls == []
    assert count(agent) == Counted(1, 0)


def test_does_not_run_what_nobody_decided_in_time(gate: Gate, human: Human, new_agent: Any) -> None:
    run = Action()
    human.decision = "expire"
    with pytest.raises(NotApprovedError) as caught:
        gate(new_agent(), inputs(), run, on_request=human)
    assert caught.value.status == "expired"
    assert run.calls == []


def test_refuses_arguments_that_changed_between_approval_and_run(gate: Gate, human: Human, new_agent: Any) -> None:
    run, changing = Action(), inputs()

    def approve(made: Any) -> None:
        human(made)
        changing["amount"]["value"] = 100_000

    with pytest.raises(ApprovalMismatchError) as caught:
        gate(new_agent(), changing, run, on_request=approve)
    assert caught.value.field == "inputs_hash"
    assert run.calls == []


def test_runs_a_copy_that_nobody_else_can_change(gate: Gate, human: Human, new_agent: Any) -> None:
    shared = inputs()

    def run(own: dict[str, Any], _: Any) -> int:
        shared["amount"]["value"] = 100_000
        value: int = own["amount"]["value"]
        return value

    assert gate(new_agent(), shared, run, on_request=human).result == 100


def test_runs_what_was_approved_for_the_agent_however_its_slug_is_spelled(
    gate: Gate, human: Human, new_agent: Any
) -> None:
    agent = new_agent()
    gate(agent, inputs(), Action(), on_request=human)
    assert gate(agent.upper(), inputs(), Action(), on_request=human).result == "paid"


@pytest.mark.parametrize(
    ("field", "other"),
    [("inputs_hash", "sha256:00"), ("agent_slug", "someone-else"), ("action", "Pay invoice 1")],
)
def test_refuses_a_decision_about_another(field: str, other: str, human: Human, new_agent: Any) -> None:
    run = Action()
    lying = httpx2.Client(transport=Changing(lambda answer: {**answer, field: other}))
    with Countersign(BASE_URL, API_KEY, http=lying) as own, pytest.raises(ApprovalMismatchError) as caught:
        own.gate(asked_of(new_agent(), {}), inputs(), run, run_id="r", call_id="c", on_request=human)
    assert caught.value.field == field
    assert run.calls == []


def test_reads_the_decision_again_when_it_is_about_to_run(new_agent: Any) -> None:
    run = Action()
    forged = {"status": "approved", "human_authorization": {}, "revoked_at": None, "attestation_id": None}
    service = httpx2.HTTPTransport()

    class Lying(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            is_waiting = "wait" in request.url.params
            return httpx2.Response(200, json=forged) if is_waiting else service.handle_request(request)

    http = httpx2.Client(transport=Lying())
    with Countersign(BASE_URL, API_KEY, http=http) as own, pytest.raises(Exception, match="no human has decided"):
        own.gate(asked_of(new_agent(), {}), inputs(), run, run_id="r", call_id="c")
    assert run.calls == []


def test_takes_an_equal_call_after_the_attested_one_for_a_new_question(
    client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent, keys = new_agent(), []

    def run(_: Any, approval: Any) -> str:
        keys.append(approval.key)
        return cast("str", approval.request_id)

    def call(own: Countersign, **options: Any) -> Any:
        return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", **options).result

    with Countersign(BASE_URL, API_KEY) as other:
        first = call(client, on_request=human)
        for own in (client, other):
            with pytest.raises(NotDecidedError):
                call(own, wait=False)
        assert (len(keys), count(agent)) == (1, Counted(2, 1))
        asked = other.ask(asked_of(agent, {}), inputs(), run_id="r", call_id="c")
        second = call(other, on_request=human)
        assert first != second == asked["request_id"]
        call(client, on_request=human)
    assert (len(set(keys)), count(agent)) == (3, Counted(3, 3))


def test_neither_asks_again_nor_runs_what_has_run_where_its_ids_never_repeat(
    gate: Gate, human: Human, count: Count, new_agent: Any
) -> None:
    agent, run = new_agent(), Action()
    gated = gate(agent, inputs(), run, on_request=human, asks_again=False)
    with pytest.raises(ApprovalUsedError, match="used before") as caught:
        gate(agent, inputs(), run, on_request=human, asks_again=False)
    assert caught.value.attestation_id == gated.attestation["attestation_id"]
    assert (len(run.calls), len(human.asked), count(agent)) == (1, 1, Counted(1, 1))


def test_does_not_ask_or_run_again_what_a_repeated_call_has_claimed_and_not_attested(
    client: Countersign, human: Human, count: Count, new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countersign_client._client.time.sleep", lambda _: None)
    agent, run = new_agent(), Action()

    def call(own: Countersign) -> Any:
        return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)

    call(client)
    with Countersign(BASE_URL, API_KEY, http=lose("/v1/attest")) as dying, pytest.raises(NotAttestedError):
        call(dying)
    with Countersign(BASE_URL, API_KEY) as other, pytest.raises(ApprovalClaimedError):
        call(other)
    assert len(run.calls) == 2
    assert count(agent) == Counted(2, 1)


def test_does_not_run_what_was_taken_back_nor_for_a_frozen_agent(
    client: Countersign, gate: Gate, human: Human, new_agent: Any
) -> None:
    agent, run = new_agent(), Action()

    def take_back(asked: Any) -> None:
        human(asked)
        client.revoke(asked["request_id"], reason="Wrong account")

    with pytest.raises(ApprovalRevokedError):
        gate(agent, inputs(), run, on_request=take_back)
    stopped = new_agent()

    def stop(asked: Any) -> None:
        human(asked)
        client.freeze(stopped, "It paid twice")

    with pytest.raises(AgentFrozenError):
        gate(stopped, inputs(), run, on_request=stop)
    assert run.calls == []
    assert client.unfreeze(stopped)["frozen_at"] is None


@pytest.mark.parametrize("why", ["frozen", "over"])
def test_attests_without_the_approval_what_is_stopped_while_it_runs(
    why: str, client: Countersign, gate: Gate, human: Human, count: Count, new_agent: Any
) -> None:
    agent = new_agent()

    def run(_: Any, approval: Any) -> str:
        if why == "over":
            control("end", request_id=approval.request_id)
        else:
            client.freeze(agent, "It paid twice")
        return "paid"

    gated = gate(agent, inputs(), run, on_request=human)
    assert gated.result == "paid"
    assert gated.attestation["human_approved"] is False
    assert why in gated.attestation["metadata"]["approval"]
    assert count(agent) == Counted(1, 1)


@pytest.mark.parametrize("failure", [None, RuntimeError("the bank is closed"), KeyboardInterrupt()])
def test_does_not_run_again_on_an_approval_that_a_freeze_kept_from_its_attestation(
    failure: BaseException | None, client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent, ran = new_agent(), []

    def run(given: Any, _: Any) -> str:
        ran.append(given)
        client.freeze(agent, "It paid twice")
        if failure is not None:
            raise failure
        return "paid"

    def call(own: Countersign) -> Any:
        return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)

    with contextlib.suppress(RuntimeError, KeyboardInterrupt):
        call(client)
    client.unfreeze(agent)
    with Countersign(BASE_URL, API_KEY) as other:
        for own in (client, client, other):
            with pytest.raises(ApprovalClaimedError):
                call(own)
    assert ran == [INPUTS]
    assert count(agent) == Counted(1, 1)


def test_takes_equal_calls_at_once_for_one(client: Countersign, human: Human, count: Count, new_agent: Any) -> None:
    agent, run = new_agent(), Action()

    def call(_: int) -> Any:
        return client.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)

    with ThreadPoolExecutor(4) as threads:
        ends = list(threads.map(call, range(4)))
    assert all(end is ends[0] for end in ends)
    assert len(run.calls) == 1
    assert count(agent) == Counted(1, 1)


def test_takes_equal_tasks_at_once_for_one(human: Human, count: Count, new_agent: Any) -> None:
    agent, ran = new_agent(), []

    async def run(given: Any, _: Any) -> str:
        ran.append(given)
        await asyncio.sleep(0.1)
        return "paid"

    async def go() -> list[Any]:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            calls = (
                own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)
                for _ in range(4)
            )
            return await asyncio.gather(*calls)

    ends = asyncio.run(go())
    assert all(end is ends[0] for end in ends)
    assert len(ran) == 1
    assert count(agent) == Counted(1, 1)


def test_runs_once_in_clients_that_know_nothing_of_each_other(human: Human, count: Count, new_agent: Any) -> None:
    agent = new_agent()
    ran: list[Any] = []
    # A request after the attestation is a new question.
    all_refused = threading.Semaphore(0)

    def run(given: Any, _: Any) -> str:
        ran.append(given)
        for _ in range(2):
            all_refused.acquire(timeout=60)
        return "paid"

    def call(_: int) -> Any:
        with Countersign(BASE_URL, API_KEY) as own:
            try:
                return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human).result
            except (ApprovalClaimedError, ApprovalUsedError) as error:
                all_refused.release()
                return error

    with ThreadPoolExecutor(3) as threads:
        ends = list(threads.map(call, range(3)))
    assert [end for end in ends if end == "paid"] == ["paid"]
    assert ran == [INPUTS]
    assert count(agent) == Counted(1, 1)


def test_attests_an_action_that_failed_and_runs_it_again_only_if_asked_again(
    client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent, run = new_agent(), Action(errors=[RuntimeError("the bank is closed")])

    def call(own: Countersign, **options: Any) -> Any:
        return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", **options)

    with pytest.raises(RuntimeError, match="the bank is closed"):
        call(client, on_request=human)
    assert count(agent) == Counted(1, 1)
    newest = client.call("GET", f"/v1/agent/{agent}")["attestations"][0]
    found = client.call("GET", f"/v1/verify/{newest['attestation_id']}")
    assert (found["metadata"], found["human_approved"]) == ({"outcome": "failed"}, True)
    with pytest.raises(NotDecidedError):
        call(client, wait=False)
    with Countersign(BASE_URL, API_KEY) as other, pytest.raises(NotDecidedError):
        call(other, wait=False)
    assert len(run.calls) == 1
    assert count(agent) == Counted(2, 1)


def test_keeps_the_failure_of_an_action_that_could_not_be_attested(
    human: Human, count: Count, new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    agent, failure = new_agent(), RuntimeError("the bank is closed")
    run = Action(errors=[failure])
    breaking = Breaking("before", lambda number: number >= STEPS.index("attest") + 1)
    with Countersign(BASE_URL, API_KEY, http=httpx2.Client(transport=breaking)) as own:

        def call() -> Any:
            return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)

        with pytest.raises(NotAttestedError) as caught:
            call()
        assert caught.value.failure is failure
        assert caught.value.__cause__ is failure
        breaking.is_broken = lambda _: False
        with pytest.raises(RuntimeError, match="the bank is closed"):
            call()
    assert len(run.calls) == 1
    assert count(agent) == Counted(1, 1)


def outcome_of(client: Countersign, agent: str) -> Any:
    (newest,) = client.call("GET", f"/v1/agent/{agent}")["attestations"]
    found = client.call("GET", f"/v1/verify/{newest['attestation_id']}")
    return found["metadata"], found["human_approved"]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_attests_an_action_that_is_interrupted_and_runs_it_again_only_if_asked_again(
    ending: type[BaseException], client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent, ran = new_agent(), []

    def run(given: Any, _: Any) -> None:
        ran.append(given)
        raise ending

    def call(own: Countersign, **options: Any) -> Any:
        return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", **options)

    with pytest.raises(ending):
        call(client, on_request=human)
    assert outcome_of(client, agent) == ({"outcome": "unknown"}, True)
    for own in (client, Countersign(BASE_URL, API_KEY)):
        with pytest.raises(NotDecidedError):
            call(own, wait=False)
    assert ran == [INPUTS]
    assert count(agent) == Counted(2, 1)


def test_attests_an_action_whose_task_is_cancelled_half_way(client: Countersign, human: Human, new_agent: Any) -> None:
    agent, ends = new_agent(), []

    async def go() -> None:
        begun = asyncio.Event()

        async def run(_: Any, __: Any) -> None:
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                ends.append("cleaned up")

        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            call = own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)
            task = asyncio.ensure_future(call)
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(go())
    assert ends == ["cleaned up"]
    assert outcome_of(client, agent) == ({"outcome": "unknown"}, True)


def test_lets_a_program_end_that_cannot_attest_what_was_interrupted(
    client: Countersign, human: Human, count: Count, new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    agent, ran = new_agent(), []

    def run(given: Any, _: Any) -> None:
        ran.append(given)
        raise KeyboardInterrupt

    breaking = Breaking("before", lambda number: number >= STEPS.index("attest") + 1)
    with Countersign(BASE_URL, API_KEY, http=httpx2.Client(transport=breaking)) as own:

        def call() -> Any:
            return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)

        with pytest.raises(KeyboardInterrupt) as caught:
            call()
        assert isinstance(caught.value.__cause__, NotAttestedError)
        assert (pauses, breaking.number, count(agent)) == ([], len(STEPS), Counted(1, 0))
        breaking.is_broken = lambda _: False
        with pytest.raises(CountersignError, match="was interrupted, which is attested now"):
            call()
    assert ran == [INPUTS]
    assert outcome_of(client, agent) == ({"outcome": "unknown"}, True)


class Paused(Exception):
    pass


@pytest.mark.parametrize("claim_as", [None, "worker-1"])
def test_keeps_the_approval_of_an_action_that_pauses(
    claim_as: str | None, client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent, ran = new_agent(), []

    def run(given: Any, _: Any) -> str:
        ran.append(given)
        if len(ran) < 3:
            raise Paused
        return "paid"

    def call(own: Countersign) -> Any:
        return own.gate(
            asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human,
            pauses=(Paused,), claim_as=claim_as,
        )

    for _ in range(2):
        with pytest.raises(Paused):
            call(client)
    assert count(agent) == Counted(1, 0)
    with Countersign(BASE_URL, API_KEY) as other:
        if claim_as is None:
            with pytest.raises(ApprovalClaimedError):
                call(other)
            assert len(ran) == 2
        assert call(client if claim_as is None else other).result == "paid"
    assert count(agent) == Counted(1, 1)


def test_shows_the_human_every_argument_unless_they_may_approve_unseen_ones(
    gate: Gate, human: Human, count: Count, new_agent: Any
) -> None:
    asked = {"context": {"to": "a supplier"}}
    gated = gate(new_agent(), inputs(), Action(), on_request=human, asked=asked)
    assert gated.authorization["context"] == {
        "to": "a supplier",
        "to (argument)": "Example Ltd",
        "amount": '{"currency":"EUR","value":100}',
    }
    assert [*gated.authorization["context"]] == ["to (argument)", "amount", "to"]
    unseen = gate(new_agent(), inputs(), Action(), on_request=human, asked=asked, approve_unseen_inputs=True)
    assert unseen.authorization["context"] == {"to": "a supplier"}
    agent = new_agent()
    with pytest.raises(ValueError, match="too long to be shown"):
        gate(agent, {**inputs(), "note": "x" * 40_000}, Action(), on_request=human)
    assert count(agent) == Counted(0, 0)


def test_cancels_the_request_that_it_stops_waiting_for(gate: Gate, client: Countersign, new_agent: Any) -> None:
    agent, run = new_agent(), Action()
    with pytest.raises(WaitTimeoutError):
        gate(agent, inputs(), run, timeout=1.5)
    (asked,) = client.call("GET", f"/v1/authorizations?agent_slug={agent}")["authorizations"]
    assert (asked["status"], run.calls) == ("cancelled", [])


def test_cancels_the_request_of_a_task_that_is_cancelled(client: Countersign, new_agent: Any) -> None:
    agent, run = new_agent(), Action()

    async def go() -> None:
        asked = asyncio.Event()
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            call = own.gate(
                asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=lambda _: asked.set()
            )
            task = asyncio.ensure_future(call)
            await asked.wait()
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(go())
    (asked,) = client.call("GET", f"/v1/authorizations?agent_slug={agent}")["authorizations"]
    assert (asked["status"], run.calls) == ("cancelled", [])


def test_ends_soon_if_its_task_is_cancelled_while_the_service_hangs() -> None:
    async def go() -> None:
        server = await asyncio.start_server(lambda *_: asyncio.sleep(3600), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        own = AsyncCountersign(f"http://127.0.0.1:{port}", API_KEY)
        call = own.gate(asked_of("payer", {}), inputs(), Action(), run_id="r", call_id="c")
        task = asyncio.ensure_future(call)
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.wait({task}, timeout=15)
        assert task.cancelled()

    asyncio.run(go())


def test_attests_what_ran_though_its_task_is_cancelled(human: Human, count: Count, new_agent: Any) -> None:
    agent = new_agent()

    async def go() -> None:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:

            async def run(_: Any, __: Any) -> str:
                asyncio.get_running_loop().call_soon(task.cancel)
                return "paid"

            call = own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)
            task = asyncio.ensure_future(call)
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(go())
    assert count(agent) == Counted(1, 1)


def test_stays_cancelled_if_what_ran_cannot_be_attested(
    human: Human, count: Count, new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_sleep(_: float) -> None: ...

    monkeypatch.setattr("countersign_client._async_client.asyncio.sleep", no_sleep)
    agent, ran = new_agent(), []

    class LosingLater(Losing):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            await anyio.lowlevel.checkpoint()
            return await super().handle_async_request(request)

    async def go() -> None:
        http = httpx2.AsyncClient(transport=LosingLater("/v1/attest"))
        async with AsyncCountersign(BASE_URL, API_KEY, http=http) as own:

            async def run(given: Any, _: Any) -> str:
                ran.append(given)
                asyncio.get_running_loop().call_soon(task.cancel)
                return "paid"

            call = own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)
            task = asyncio.ensure_future(call)
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            assert isinstance(caught.value.__cause__, NotAttestedError)
            assert caught.value.__cause__.result == "paid"

    asyncio.run(go())
    assert (ran, count(agent)) == ([INPUTS], Counted(1, 0))


def test_cleans_up_in_a_cancelled_scope_of_anyio(human: Human, client: Countersign, new_agent: Any) -> None:
    waiting, running = new_agent(), new_agent()

    async def go() -> None:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            with anyio.CancelScope() as scope:

                async def pay(*_: Any) -> None:
                    scope.cancel()
                    await asyncio.sleep(60)

                await own.gate(asked_of(running, {}), inputs(), pay, run_id="r", call_id="c", on_request=human)
            with anyio.CancelScope() as scope:
                stop: Any = lambda _: scope.cancel()
                await own.gate(asked_of(waiting, {}), inputs(), pay, run_id="r", call_id="c", on_request=stop)

    asyncio.run(go())
    assert outcome_of(client, running) == ({"outcome": "unknown"}, True)
    (asked,) = client.call("GET", f"/v1/authorizations?agent_slug={waiting}")["authorizations"]
    assert asked["status"] == "cancelled"


def test_does_not_wait_if_it_should_not(gate: Gate, human: Human, new_agent: Any) -> None:
    agent, run, made = new_agent(), Action(), []
    with pytest.raises(Exception, match="no human has decided yet"):
        gate(agent, inputs(), run, on_request=made.append, wait=False)
    human(made[0])
    assert gate(agent, inputs(), run, wait=False).result == "paid"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"when": object()}, "inputs.when: object is not a JSON value"),
        ({"a": [1, (2,)]}, r"inputs.a\[1\]: tuple is not a JSON value"),
        ({"a": float("nan")}, "inputs.a: nan is not a JSON value"),
        ({"a": 2**53 + 1}, "would become another number"),
        ({"a": 10**5000}, "would become another number"),
        # A double holds it, and every reader prints another.
        ({"a": 2**60}, "would become another number"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({1: 2}, "a name is not text"),
        ({"__proto__": 2}, "a name is __proto__"),
    ],
)
def test_refuses_inputs_that_json_would_change(
    bad: Any, words: str, gate: Gate, human: Human, count: Count, new_agent: Any
) -> None:
    agent = new_agent()
    with pytest.raises(TypeError, match=words):
        gate(agent, bad, Action(), on_request=human)
    assert count(agent) == Counted(0, 0)


def test_records_what_is_as_long_as_it_may_be(gate: Gate, human: Human, new_agent: Any) -> None:
    name = "\U0001f510" * 128
    client = {"instance": "x" * 64, "sequence": 1}
    said: Any = {"code_hash": name, "model_id": "\\u0000", "tools_used": [name] * 64, "client": client, "is_public": None}
    assert gate(new_agent(), inputs(), Action(), on_request=human, attestation=said).result == "paid"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"agent_key": "secret-text"}, TypeError),
        ({"attestation": {"metadata": {"at": object()}}}, TypeError),
        ({"attestation": {"metadata": {"n": 2**60 + 1}}}, ValueError),
        ({"attestation": {"metadata": {"n": 2**60}}}, ValueError),
        ({"attestation": {"metadata": {"a": [{"__proto__": 1}]}}}, ValueError),
        ({"attestation": {"metadata": {"a": "x" * 8_100}}}, ValueError),
        ({"attestation": {"metadata": nest(17)}}, ValueError),
        ({"attestation": {"metdata": {}}}, TypeError),
        ({"attestation": {"metadata": {"a": ["\\\0"]}}}, ValueError),
        ({"attestation": {"metadata": {"a\0": 1}}}, ValueError),
        ({"attestation": {"metadata": []}}, ValueError),
        ({"attestation": {"code_hash": "x" * 129}}, ValueError),
        ({"attestation": {"model_id": ""}}, ValueError),
        ({"attestation": {"model_id": "a\0"}}, ValueError),
        ({"attestation": {"tools_used": ["a"] * 65}}, ValueError),
        ({"attestation": {"tools_used": ["x" * 129]}}, ValueError),
        ({"attestation": {"client": {"instance": "a", "sequence": 0}}}, ValueError),
        ({"attestation": {"client": {"instance": "x" * 65, "sequence": 1}}}, ValueError),
        ({"attestation": {"is_public": "yes"}}, ValueError),
        ({"claim_as": "x" * 59}, ValueError),
        ({"timout": 60}, TypeError),
    ],
)
def test_asks_nobody_for_what_could_not_be_attested(
    options: Any, error: type[Exception], gate: Gate, human: Human, count: Count, new_agent: Any
) -> None:
    agent, action = new_agent(), Action()
    with pytest.raises(error):
        gate(agent, inputs(), action, on_request=human, **options)
    assert (action.calls, count(agent)) == ([], Counted(0, 0))


@pytest.mark.parametrize("scopes", [["hook"], ["attest", "authorize"]])
def test_runs_once_with_a_key_that_has_no_more_scopes_than_it_needs(scopes: list[str], human: Human, new_agent: Any) -> None:
    agent, run, narrow = new_agent(), Action(), control("key", scopes=scopes)["key"]

    def call() -> Any:
        with Countersign(BASE_URL, narrow) as own:
            return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human).result

    assert [call(), call()] == ["paid", "paid"]
    assert len(human.asked) == 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_survives_a_connection_lost_at_every_step(when: str, human: Human, count: Count, new_agent: Any) -> None:
    agent, run = new_agent(), Action()
    http = httpx2.Client(transport=Breaking(when, lambda number: number % 2 == 1))
    with Countersign(BASE_URL, API_KEY, http=http) as own:
        own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)
    assert len(run.calls) == 1
    assert count(agent) == Counted(1, 1)


STEPS = ["ask", "wait", "read", "claim", "attest"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_goes_on_where_a_service_was_away_for_a_while(
    step: str, when: str, human: Human, count: Count, new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    agent, run, first = new_agent(), Action(), STEPS.index(step) + 1
    breaking = Breaking(when, lambda number: number >= first)
    with Countersign(BASE_URL, API_KEY, http=httpx2.Client(transport=breaking)) as own:

        def call() -> Any:
            return own.gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)

        with pytest.raises(NotAttestedError if step == "attest" else ServiceConnectionError) as caught:
            call()
        assert caught.value.retryable
        assert len(run.calls) == (1 if step == "attest" else 0)
        breaking.is_broken = lambda _: False
        assert call().result == "paid"
    assert len(run.calls) == 1
    assert count(agent) == Counted(1, 1)


def test_gates_a_function_with_its_defaults(client: Countersign, human: Human, count: Count, new_agent: Any) -> None:
    agent, paid = new_agent(), []

    @client.gate(
        lambda given: {"agent_slug": agent, "action": f"Pay {given['cents']} cents"},
        run_id="run-1",
        on_request=human,
    )
    def pay(to: str, *, cents: int, currency: str = "EUR") -> str:
        paid.append((to, cents, currency))
        return f"paid {to}"

    assert pay("Example Ltd", cents=100) == "paid Example Ltd"
    assert human.asked[0]["context"] == {"to": "Example Ltd", "cents": "100", "currency": "EUR"}
    assert human.asked[0]["action"] == "Pay 100 cents"
    assert pay(to="Example Ltd", cents=100, currency="EUR") == "paid Example Ltd"
    assert human.asked[1]["request_id"] != human.asked[0]["request_id"], "an equal call is asked about again"
    assert pay("Another Ltd", cents=100) == "paid Another Ltd"
    assert paid == [("Example Ltd", 100, "EUR"), ("Example Ltd", 100, "EUR"), ("Another Ltd", 100, "EUR")]
    assert count(agent) == Counted(3, 3)
    with pytest.raises(TypeError, match="more can't be shown"):
        client.gate({"agent_slug": agent, "action": "x"}, run_id="r")(lambda *more: more)


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Order:
    cents: decimal.Decimal
    colors: list[Color]


class Bank:
    def __init__(self) -> None:
        self.paid: list[Any] = []

    def pay(self, invoice: int, cents: int = 100) -> str:
        self.paid.append((invoice, cents))
        return f"paid {cents}"

    def __call__(self, invoice: int) -> str:
        return self.pay(invoice)


def test_shows_typed_arguments_as_json_and_passes_them_with_their_types(
    client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent, paid = new_agent(), []

    @client.gate(asked_of(agent, {}), run_id="r", on_request=human)
    def pay(order: Order, due: datetime.date, limit: decimal.Decimal = decimal.Decimal("1E+2")) -> str:
        paid.append((order, due, limit))
        return "paid"

    order = Order(decimal.Decimal("12.50"), [Color.RED])
    assert pay(order, datetime.date(2026, 11, 28)) == "paid"
    assert paid == [(order, datetime.date(2026, 11, 28), decimal.Decimal(100))]
    assert human.asked[0]["context"] == {
        "order": '{"cents":"12.50","colors":["red"]}',
        "due": "2026-11-28",
        "limit": "100",
    }
    with pytest.raises(TypeError, match="inputs.due: NaN is not a JSON value"):
        pay(order, decimal.Decimal("NaN"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="inputs.due: set is not a JSON value"):
        pay(order, {1})  # type: ignore[arg-type]
    assert count(agent) == Counted(1, 1)


def test_passes_what_was_approved_whatever_becomes_of_a_typed_argument(
    client: Countersign, human: Human, new_agent: Any
) -> None:
    order, paid = Order(decimal.Decimal(1), []), []

    def change(made: Any) -> None:
        order.cents = decimal.Decimal(9)
        human(made)

    gated = client.gate(asked_of(new_agent(), {}), run_id="r", on_request=change)(lambda order: paid.append(order.cents))
    gated(order)
    assert paid == [decimal.Decimal(1)]


def test_binds_methods_partials_and_callables_as_functions(
    client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent, bank = new_agent(), Bank()
    gate: Any = client.gate(asked_of(agent, {}), run_id="r", on_request=human)

    class Gated(Bank):
        pay = gate(Bank.pay)

    own = Gated()
    for call in (
        lambda: own.pay(1),
        lambda: gate(bank.pay)(2, cents=200),
        lambda: gate(functools.partial(Bank().pay, 3))(cents=300),
        lambda: gate(functools.partial(functools.partial(bank.pay, 4), cents=400))(),
        lambda: gate(bank)(5),
    ):
        assert call().startswith("paid ")
    assert own.paid == [(1, 100)]
    assert bank.paid == [(2, 200), (4, 400), (5, 100)]
    assert [one["context"] for one in human.asked] == [
        {"invoice": "1", "cents": "100"},
        {"invoice": "2", "cents": "200"},
        {"invoice": "3", "cents": "300"},
        {"invoice": "4", "cents": "400"},
        {"invoice": "5"},
    ]
    for wrong in (functools.partial(Bank.pay, bank), classmethod(Bank.pay)):
        with pytest.raises(TypeError, match="gate the function"):
            gate(wrong)
    tool = gate_context_tool(AsyncCountersign(BASE_URL, API_KEY), asked_of(agent, {}), "r", None, {})
    with pytest.raises(TypeError, match="a method can't be a tool"):
        tool(Bank.pay)
    assert count(agent) == Counted(5, 5)


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ("paid", "completed"),
        ({"status": "error"}, "completed"),
        ({"task": {"taskId": "t", "status": "working"}}, "started"),
        ({"task": {"taskId": 5}}, "completed"),
        ({"isError": True}, "failed"),
        ({"tool_call_id": "c", "status": "error"}, "failed"),
        ([{"messages": [{"tool_call_id": "c", "status": "error"}]}], "failed"),
    ],
)
def test_attests_what_a_tool_says_of_its_end(
    client: Countersign, human: Human, new_agent: Any, result: Any, outcome: str
) -> None:
    run = Action(result=result)
    gated = client.gate(asked_of(new_agent(), {}), inputs(), run, run_id="r", call_id="c", on_request=human)
    assert gated.attestation["metadata"] == {"outcome": outcome}


def test_refuses_an_async_function_that_the_client_cannot_await(
    client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent = new_agent()

    async def pay(given: Any, approval: Any = None) -> str:
        raise AssertionError("ran")

    class Paying:
        async def __call__(self, given: Any, approval: Any) -> str:
            return await pay(given, approval)

    gate: Any = client.gate
    for run in (pay, functools.partial(pay, approval=None), Paying()):
        with pytest.raises(TypeError, match="AsyncCountersign"):
            gate(asked_of(agent, {}), inputs(), run, run_id="r", call_id="c", on_request=human)
    with pytest.raises(TypeError, match="AsyncCountersign"):
        gate(asked_of(agent, {}), run_id="r")(pay)
    assert count(agent) == Counted(0, 0)

    class Query:
        """Runs when it is awaited, as in ORMs."""

        def __await__(self) -> Any:
            yield

    for late in (lambda *given: pay(*given), lambda *_: Query()):
        agent = new_agent()
        with pytest.raises(TypeError, match="AsyncCountersign"):
            gate(asked_of(agent, {}), inputs(), late, run_id="r", call_id="c", on_request=human)
        assert outcome_of(client, agent) == ({"outcome": "failed"}, True)


def test_refuses_an_action_that_would_run_after_it_is_attested(
    client: Countersign, human: Human, count: Count, new_agent: Any
) -> None:
    agent = new_agent()

    def pay(given: Any, approval: Any = None) -> Iterator[str]:
        raise AssertionError("ran")
        yield "paid"

    async def pay_later(given: Any, approval: Any = None) -> Any:
        raise AssertionError("ran")
        yield "paid"

    async def forget_await(given: Any, approval: Any) -> Any:
        return forget_await(given, approval)

    gate: Any = client.gate
    with pytest.raises(TypeError, match="generator"):
        gate(asked_of(agent, {}), inputs(), pay, run_id="r", call_id="c", on_request=human)
    with pytest.raises(TypeError, match="generator"):
        gate(asked_of(agent, {}), run_id="r")(pay)
    with pytest.raises(TypeError, match="generator"):
        gate_context_tool(AsyncCountersign(BASE_URL), asked_of(agent, {}), "r", None, {})(pay)

    async def go() -> None:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:
            gate: Any = own.gate
            with pytest.raises(TypeError, match="generator"):
                gate(asked_of(agent, {}), inputs(), pay_later, run_id="r", call_id="c", on_request=human)
            with pytest.raises(TypeError, match="generator"):
                gate(asked_of(agent, {}), run_id="r")(pay_later)
            assert count(agent) == Counted(0, 0)
            for run in (lambda *given: pay(*given), lambda *given: pay_later(*given), forget_await):
                other = new_agent()
                with pytest.raises(TypeError, match="before it ran"):
                    await gate(asked_of(other, {}), inputs(), run, run_id="r", call_id="c", on_request=human)
                assert outcome_of(client, other) == ({"outcome": "failed"}, True)

    asyncio.run(go())


def test_gates_an_async_function(human: Human, new_agent: Any) -> None:
    async def go() -> str:
        async with AsyncCountersign(BASE_URL, API_KEY) as own:

            @own.gate({"agent_slug": new_agent(), "action": "Pay"}, run_id="run-1", on_request=human)
            async def pay(cents: int) -> str:
                await asyncio.sleep(0)
                return f"paid {cents}"

            return await pay(cents=7)

    assert asyncio.run(go()) == "paid 7"


PROGRAM = """
import os, sys
from countersign_client import Countersign

base_url, agent, file, ending = sys.argv[1:]

def run(given, approval):
    with open(file, "a") as paid:
        paid.write(f"{given['cents']}\\n")
    if ending == "dies":
        os._exit(9)

def note(made):
    with open(file + "-asked", "a") as asked:
        asked.write("asked\\n")

try:
    asked = {"agent_slug": agent, "action": "Pay invoice 1042"}
    Countersign(base_url, os.environ["COUNTERSIGN_API_KEY"]).gate(
        asked, {"cents": 10_000}, run, run_id="thread-1", call_id="call-1", on_request=note)
    print("ran")
except Exception as error:
    print(type(error).__name__)
"""


def start(agent: str, file: Path, ending: str) -> subprocess.Popen[str]:
    args = [sys.executable, "-c", PROGRAM, BASE_URL, agent, str(file), ending]
    return subprocess.Popen(args, stdout=subprocess.PIPE, text=True)


def wait_for_askers(file: Path, count: int) -> None:
    """A call that begins after the attestation asks a new question."""
    asked = Path(f"{file}-asked")
    while not asked.exists() or len(asked.read_text().splitlines()) < count:
        time.sleep(0.1)


def test_runs_once_in_three_processes_at_once(tmp_path: Path, count: Count, new_agent: Any) -> None:
    agent, file = new_agent(), tmp_path / "paid"
    running = [start(agent, file, "ends") for _ in range(3)]
    wait_for_askers(file, 3)
    control("approve-next", agent_slug=agent)
    ended = sorted(process.communicate(timeout=600)[0].strip() for process in running)
    assert ended.count("ran") == 1
    assert set(ended) <= {"ran", "ApprovalClaimedError", "ApprovalUsedError"}
    assert file.read_text() == "10000\n"
    assert count(agent) == Counted(1, 1)


def test_does_not_run_again_if_the_process_that_ran_it_died(tmp_path: Path, count: Count, new_agent: Any) -> None:
    agent, file = new_agent(), tmp_path / "paid"
    first = start(agent, file, "dies")
    control("approve-next", agent_slug=agent)
    assert first.wait(120) == 9
    assert start(agent, file, "ends").communicate(timeout=600)[0].strip() == "ApprovalClaimedError"
    assert file.read_text() == "10000\n"
    assert count(agent) == Counted(1, 0)


FORKING = """
import os, sys, time
from countersign_client import Countersign, CountersignError

base_url, agent, file = sys.argv[1:]
client = Countersign(base_url, os.environ["COUNTERSIGN_API_KEY"])

def run(given, approval):
    with open(file, "a") as paid:
        paid.write(f"{given['cents']}\\n")
    time.sleep(2)

def note(made):
    with open(file + "-asked", "a") as asked:
        asked.write("asked\\n")

for _ in range(2):
    if os.fork() == 0:
        try:
            request = {"agent_slug": agent, "action": "Pay"}
            client.gate(request, {"cents": 10_000}, run, run_id="r", call_id="c", on_request=note)
            print("ran", flush=True)
        except CountersignError as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
for _ in range(2):
    os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_runs_once_in_processes_forked_from_one_that_made_the_client(tmp_path: Path, count: Count, new_agent: Any) -> None:
    agent, file = new_agent(), tmp_path / "paid"
    args = [sys.executable, "-c", FORKING, BASE_URL, agent, str(file)]
    running = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
    wait_for_askers(file, 2)
    control("approve-next", agent_slug=agent)
    ended = running.communicate(timeout=600)[0].split()
    assert file.read_text() == "10000\n"
    assert ended.count("ran") == 1
    assert set(ended) <= {"ran", "ApprovalClaimedError", "ApprovalUsedError"}
    assert count(agent) == Counted(1, 1)


FORKING_MEANWHILE = """
import os, sys
from countersign_client import Countersign, CountersignError

base_url, agent = sys.argv[1:]
client = Countersign(base_url, os.environ["COUNTERSIGN_API_KEY"])

def pay(run):
    return client.gate({"agent_slug": agent, "action": "Pay"}, {"cents": 10_000}, run, run_id="r", call_id="c").result

def fork(given, approval):
    if os.fork() == 0:
        import signal
        signal.alarm(30)
        try:
            pay(lambda *_: print("ran twice", flush=True))
        except CountersignError as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
    os.wait()

pay(fork)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_waits_in_a_forked_process_for_no_call_of_its_parent(new_agent: Any) -> None:
    agent = new_agent()
    args = [sys.executable, "-c", FORKING_MEANWHILE, BASE_URL, agent]
    running = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
    control("approve-next", agent_slug=agent)
    assert running.communicate(timeout=600)[0].split() == ["ApprovalClaimedError"]


AMENDABLE: dict[str, Any] = {"amendable": ["amount", "context.amount", "context.payee"], "amount": {"value": "100", "currency": "EUR"}}


def test_runs_what_an_approver_changed_and_attests_it_with_both_hashes(client: Countersign, new_agent: Callable[[], str]) -> None:
    asked = {"amount": 100, "payee": "Example Ltd", "urgent": True}
    request: Any = {"agent_slug": new_agent(), "action": "Pay", **AMENDABLE}
    human = Human("amend", {"amount": "80.5", "context.payee": "Example GmbH"})
    options: Any = {"run_id": "run", "call_id": "call", "on_request": human, "schema": lambda given: given["amount"]}
    ran: list[Any] = []
    gated = client.gate(request, asked, lambda copy, _: ran.append(copy), **options)
    changed = {"amount": 80.5, "payee": "Example GmbH", "urgent": True}
    assert ran == [changed]
    assert gated.attestation["inputs_hash"] == hash_inputs(changed)
    assert (gated.attestation["metadata"] or {})["asked_inputs_hash"] == hash_inputs(asked)
    with pytest.raises(ApprovalUsedError):
        client.gate(request, asked, lambda copy, _: ran.append(copy), **options, asks_again=False)
    assert len(ran) == 1


def test_runs_nothing_that_the_function_would_refuse(client: Countersign, new_agent: Callable[[], str], count: Count) -> None:
    ran: list[Any] = []
    request: Any = {"agent_slug": new_agent(), "action": "Pay", **AMENDABLE}
    options: Any = {"run_id": "run", "call_id": "call"}

    def pay(amount: int, payee: str) -> None:
        ran.append((amount, payee))

    def reserve(amount: decimal.Decimal, payee: str) -> None:
        ran.append((amount, payee))

    human = Human("amend", {"amount": "80.5"})
    with pytest.raises(ApprovalMismatchError, match="schema"):
        client.gate(request, **options, on_request=human)(pay)(100, "Example Ltd")
    request["agent_slug"] = new_agent()
    human = Human("amend", {"amount": "80"})
    with pytest.raises(ApprovalMismatchError, match="schema"):
        client.gate(request, **options, on_request=human)(reserve)(decimal.Decimal("100"), "Example Ltd")
    request["agent_slug"] = new_agent()
    human = Human("amend", {"context.payee": "Example GmbH"})
    client.gate(request, **options, on_request=human)(pay)(100, "Example Ltd")
    assert ran == [(100, "Example GmbH")]
    with pytest.raises(TypeError, match="amendable needs schema"):
        client.gate(request, {"amount": 100, "payee": "x"}, lambda _copy, _: None, run_id="run", call_id="other")


def test_answers_a_question_while_it_waits(client: Countersign, new_agent: Callable[[], str]) -> None:
    questions: list[Any] = []
    made: list[Any] = []

    def on_request(asked: Any) -> None:
        made.append(asked)
        control("ask", request_id=asked["request_id"], question="What for?")

    def on_question(question: Any) -> str:
        questions.append(question["question"])
        threading.Timer(0.2, lambda: control("approve", request_id=made[0]["request_id"])).start()
        return "Paper"

    request: Any = {"agent_slug": new_agent(), "action": "Pay"}
    client.gate(request, inputs(), lambda _copy, _: None, run_id="r", call_id="c", on_request=on_request, on_question=on_question)
    assert questions == ["What for?"]
    state = client.call("GET", f"/v1/authorize/{made[0]['request_id']}")
    assert state["questions"][0]["answer"] == "Paper"


def test_runs_what_is_approved_before_its_answer_comes(client: Countersign, new_agent: Callable[[], str]) -> None:
    made: list[Any] = []

    def on_request(asked: Any) -> None:
        made.append(asked)
        control("ask", request_id=asked["request_id"], question="What for?")

    def on_question(_question: Any) -> str:
        control("approve", request_id=made[0]["request_id"])
        return "Paper"

    request: Any = {"agent_slug": new_agent(), "action": "Pay"}
    options: Any = {"run_id": "r", "call_id": "c", "on_request": on_request, "on_question": on_question}
    assert client.gate(request, inputs(), lambda _copy, _: "paid", **options).result == "paid"
