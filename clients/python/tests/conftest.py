"""The service that the tests talk to is a real one, started by whoever runs them (e2e/support/python.ts)."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from countersign_client import Countersign

BASE_URL = os.environ["COUNTERSIGN_BASE_URL"]
API_KEY = os.environ["COUNTERSIGN_API_KEY"]
CONTROL_URL = os.environ["COUNTERSIGN_CONTROL_URL"]

_numbers = itertools.count(1)


def control(what: str, **body: object) -> Any:
    """A human's part, or the operator's."""
    return httpx2.post(f"{CONTROL_URL}/{what}", json=body, timeout=60).raise_for_status().json()


@dataclass
class Human:
    """Decides each request once."""

    decision: str = "approve"
    changes: dict[str, str] = field(default_factory=dict[str, str])
    """Keyed by field, for the decision ``amend``, which approves what they make."""
    asked: list[Any] = field(default_factory=list)

    def __call__(self, made: Any) -> None:
        is_new = all(one["request_id"] != made["request_id"] for one in self.asked)
        self.asked.append(made)
        if is_new:
            control(self.decision, request_id=made["request_id"], approval_url=made["approval_url"],
                    confirmation_code=made["confirmation_code"], changes=json.dumps(self.changes))


@pytest.fixture
def human() -> Human:
    return Human()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_sleep(_: float) -> None: ...

    monkeypatch.setattr("countersign_client._async_client.asyncio.sleep", no_sleep)
    monkeypatch.setattr("countersign_client._client.time.sleep", lambda _: None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ways in which a framework calls its tools, if its module has several."""
    if "mode" in metafunc.fixturenames:
        metafunc.parametrize("mode", getattr(metafunc.module, "MODES", ({},)))


@pytest.fixture
def client() -> Iterator[Countersign]:
    with Countersign(BASE_URL, API_KEY) as made:
        yield made


@pytest.fixture
def new_agent() -> Callable[[], str]:
    prefix = f"py-{os.getpid()}"
    return lambda: f"{prefix}-{next(_numbers)}"


class Losing(httpx2.AsyncBaseTransport):
    """Loses each request to ``path``. For clients whose pauses are patched away."""

    def __init__(self, path: str) -> None:
        self.inner, self.path = httpx2.AsyncHTTPTransport(), path

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == self.path:
            raise httpx2.ConnectError("lost", request=request)
        return await self.inner.handle_async_request(request)


def lose(path: str) -> httpx2.Client:
    """The same for ``Countersign``."""

    class LosingHere(httpx2.BaseTransport):
        inner = httpx2.HTTPTransport()

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.url.path == path:
                raise httpx2.ConnectError("lost", request=request)
            return self.inner.handle_request(request)

    return httpx2.Client(transport=LosingHere())


@dataclass
class Counted:
    asked: int
    attested: int


@pytest.fixture
def count(client: Countersign) -> Callable[[str], Counted]:
    """Counts the humans asked for an agent's actions, and the attestations stored."""

    def count(agent: str) -> Counted:
        asked = client.call("GET", f"/v1/authorizations?agent_slug={agent}")["authorizations"]
        attested = client.call("GET", f"/v1/attestations?agent_slug={agent}")["attestations"]
        return Counted(len(asked), len(attested))

    return count
