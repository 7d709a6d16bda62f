"""Logic of the client without I/O: generators that yield effects, which one driver performs at once and another awaits.

So the gate, its retries and its waits exist once, for ``Countersign`` and for ``AsyncCountersign``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True)
class Send:
    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The key is in them, and programs that report errors store the variables of every frame."""
    content: bytes | None = None
    timeout: float = 40

    @property
    def asked(self) -> str:
        """For errors: the query may name a run."""
        return f"{self.method} {self.url.partition('?')[0]}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes | None
    """None if it is too long to be one of the service's."""


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Call:
    """The caller's own function; with ``AsyncCountersign`` it may be async."""

    function: Callable[..., Any]
    arguments: tuple[object, ...]


Effect: TypeAlias = "Send | Sleep | Call"
Flow: TypeAlias = Generator[Effect, Any, T]


def fetch(request: Send) -> Flow[Answer]:
    return cast("Answer", (yield request))


def sleep(seconds: float) -> Flow[None]:
    yield Sleep(seconds)


def call(function: Callable[..., Any], *arguments: object) -> Flow[Any]:
    return (yield Call(function, arguments))


def run_flow(flow: Flow[T], perform: Callable[[Effect], Any]) -> T:
    try:
        effect = next(flow)
        while True:
            try:
                result = perform(effect)
            except BaseException as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as end:
        return cast("T", end.value)


async def run_flow_async(flow: Flow[T], perform: Callable[[Effect], Awaitable[Any]]) -> T:
    """A flow that the task's cancellation ends may still clean up: it gets the CancelledError, and goes on until it is done."""
    from anyio import CancelScope  # httpx2 needs it.

    with ExitStack() as shields:
        try:
            effect = next(flow)
            while True:
                try:
                    result = await perform(effect)
                except BaseException as error:
                    if isinstance(error, asyncio.CancelledError):
                        # A cancelled scope of anyio cancels whatever is awaited in it.
                        shields.enter_context(CancelScope(shield=True))
                    effect = flow.throw(error)
                else:
                    effect = flow.send(result)
        except StopIteration as end:
            return cast("T", end.value)
