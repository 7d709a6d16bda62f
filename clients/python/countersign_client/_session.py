"""Shared by both clients, besides the flows."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import urlsplit

import httpx2

from ._transport import MAX_ANSWER_BYTES, Service, is_loopback, read_base_url, read_header
from ._wire import Attestation, AuthorizeRequest
from .errors import CountersignError, ServiceConnectionError

Http = TypeVar("Http")

_ASYNC = "an async function needs AsyncCountersign"
_LAZY = "a generator runs when it is read, so it would be attested before it ran"
_NOT_RUN = "the action returned what has yet to run, so it would be attested before it ran; await it, with AsyncCountersign"


@dataclass(frozen=True)
class AttestOutcome:
    """One of the two is None."""

    attestation: Attestation | None
    error: CountersignError | None


def open_service(base_url: str, api_key: str | None) -> Service:
    return Service(read_base_url(base_url), None if api_key is None else read_header("api_key", api_key))


class HttpOptions(TypedDict):
    trust_env: bool
    verify: ssl.SSLContext | bool


def http_options(url: str) -> HttpOptions:
    """The environment's proxies (HTTPS_PROXY, NO_PROXY), but for what is on this machine, and its authorities.

    NODE_EXTRA_CA_CERTS is that of Node, beside which agents run; SSL_CERT_FILE and SSL_CERT_DIR count too.
    """
    trust_env = not is_loopback(urlsplit(url).hostname or "")
    extra = os.environ.get("NODE_EXTRA_CA_CERTS")
    if not extra:
        return {"trust_env": trust_env, "verify": True}
    context = httpx2.create_ssl_context()
    # Goes on without a file that it can't read, like Node.
    with contextlib.suppress(OSError):
        context.load_verify_locations(extra)
    return {"trust_env": trust_env, "verify": context}


class Connections(Generic[Http]):
    """One client of httpx2 for each process and event loop. On a connection that a forked process has from its parent it
    would read answers to others, and in another event loop none works.
    """

    def __init__(self, given: Http | None, make: Callable[[], Http]) -> None:
        self._given, self._make = given, make
        self._process = os.getpid()
        self._kept: dict[asyncio.AbstractEventLoop | None, Http] = {}

    def of(self, loop: asyncio.AbstractEventLoop | None = None) -> Http:
        if self._given is not None:
            return self._given
        if self._process != os.getpid():
            self._process, self._kept = os.getpid(), {}
        http = self._kept.get(loop)
        if http is None:
            http = self._make()
            # Never changed in place, as another thread may be reading it.
            kept = {one: client for one, client in self._kept.items() if one is None or not one.is_closed()}
            self._kept = {**kept, loop: http}
        return http


def require_gateable(request: AuthorizeRequest) -> None:
    if request.get("inputs_hash") is not None:
        raise ValueError("inputs_hash: the gate computes it from the inputs")


def refuse_async(function: Callable[..., Any]) -> None:
    """Rejects coroutine functions: ``Countersign`` must have run the action when it returns, and a coroutine has only
    begun to exist."""
    if _is_any(function, inspect.iscoroutinefunction):
        raise TypeError(_ASYNC)


def refuse_generator(function: Callable[..., Any]) -> None:
    if _is_any(function, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        raise TypeError(_LAZY)


def _is_any(function: Callable[..., Any], *kinds: Callable[[object], bool]) -> bool:
    return any(kind(function) or kind(getattr(function, "__call__", None)) for kind in kinds)  # noqa: B004


def require_run(result: object) -> object:
    """Rejects a lazy result of a function that didn't look lazy."""
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError(_LAZY)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(_NOT_RUN)
    return result


class BodyReader:
    """The body of an answer, within the time and the size that the service's have."""

    def __init__(self, timeout: float) -> None:
        self._ends_at = time.monotonic() + timeout
        self._chunks: list[bytes] = []
        self._length = 0

    def take(self, chunk: bytes) -> bool:
        if time.monotonic() > self._ends_at:
            raise ServiceConnectionError("the answer did not end in time")
        self._length += len(chunk)
        self._chunks.append(chunk)
        return self._length <= MAX_ANSWER_BYTES

    def whole(self) -> bytes | None:
        return b"".join(self._chunks) if self._length <= MAX_ANSWER_BYTES else None
