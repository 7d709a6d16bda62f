"""Requests to the service.

What is safe to repeat is repeated if the connection breaks or the service asks for patience: reads, claims, and writes
under an Idempotency-Key, which the service answers once (docs/wire.md, Idempotency).
"""

from __future__ import annotations

import json
import math
import random
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from ._flow import Answer, Flow, Send, fetch, sleep
from .errors import ApiError, CountersignError, ServiceConnectionError

TIMEOUT_SECONDS = 40.0
"""Longer than the service holds an answer back."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024
USUAL_TRIES = 5
_MAX_RETRY_AFTER_SECONDS = 60
"""A service that wants more patience is left to the caller."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LOOPBACK = re.compile(r"(localhost|.+\.localhost|127(\.\d{1,3}){3}|::1)")


@dataclass(frozen=True)
class Service:
    base_url: str
    api_key: str | None = field(repr=False)
    random: Callable[[], float] = random.random
    random_uuid: Callable[[], str] = lambda: str(uuid.uuid4())
    monotonic: Callable[[], float] = time.monotonic


def read_header(name: str, text: str) -> str:
    """A key that was read from a file ends in a line break. No error shows a secret."""
    value = text.strip()
    if value == "" or not value.isascii() or not value.isprintable():
        raise ValueError(f"{name}: expected printable ASCII")
    return value


def is_loopback(host: str) -> bool:
    return _LOOPBACK.fullmatch(host) is not None


def read_base_url(text: str) -> str:
    """A key must not cross a network in the clear."""
    text = text.strip()
    address = urlsplit(text)
    if "@" in address.netloc:
        raise ValueError("base_url: must name no user")
    host = address.hostname or ""
    is_safe = address.scheme == "https" or (address.scheme == "http" and is_loopback(host))
    if host == "" or not is_safe:
        raise ValueError(f"base_url: must be https, or http on this machine: {text}")
    return text.rstrip("/")


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: object = None
    idempotency_key: str | None = None
    is_repeatable: bool = False
    """The service does it once without a key too."""
    tries: int = USUAL_TRIES
    timeout: float = TIMEOUT_SECONDS
    ends_at: float | None = None
    """Deadline by the service's clock: no retry after it."""


@dataclass(frozen=True)
class Answered:
    text: str
    retry_after_seconds: int | None
    is_replayed: bool
    """True for the stored answer to an earlier request."""

    def json(self) -> Any:
        return json.loads(self.text)


def send(service: Service, request: Request) -> Flow[Answered]:
    """Raises ApiError or ServiceConnectionError."""
    is_safe = request.method == "GET" or request.idempotency_key is not None or request.is_repeatable
    # Once for all tries, whatever becomes of the body meanwhile.
    written = _write(service, request)
    tried = 1
    while True:
        try:
            return (yield from _send_once(written))
        except CountersignError as error:
            pause = _find_pause(service, error, tried) if is_safe and tried < request.tries else None
            left = math.inf if request.ends_at is None else request.ends_at - service.monotonic()
            if pause is None or left <= 0:
                raise
        yield from sleep(min(pause, left))
        tried += 1


def _find_pause(service: Service, error: CountersignError, tried: int) -> float | None:
    """None if trying again helps nobody."""
    if not error.retryable:
        return None
    back_off: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (tried - 1)) * (0.5 + service.random() / 2)
    asked = error.retry_after_seconds if isinstance(error, ApiError) else None
    if asked is None:
        return back_off
    return None if asked > _MAX_RETRY_AFTER_SECONDS else max(float(asked), back_off)


def encode(body: object) -> bytes:
    """Raises TypeError or ValueError for what is no JSON."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _write(service: Service, request: Request) -> Send:
    content = None if request.body is None else encode(request.body)
    url = f"{service.base_url}{request.path}"
    return Send(request.method, url, _headers_for(service, request), content, request.timeout)


def _send_once(request: Send) -> Flow[Answered]:
    answer = yield from fetch(request)
    retry_after = _read_retry_after(answer)
    text, body = _read_body(answer)
    if not 200 <= answer.status < 300:
        raise ApiError(answer.status, body, retry_after)
    if text is None:
        raise ServiceConnectionError(f"{request.asked}: the answer is not JSON")
    return Answered(text, retry_after, answer.headers.get("idempotency-replayed") == "true")


def _headers_for(service: Service, request: Request) -> dict[str, str]:
    headers = {"accept": "application/json"}
    if service.api_key is not None:
        headers["authorization"] = f"Bearer {service.api_key}"
    if request.body is not None:
        headers["content-type"] = "application/json"
    if request.idempotency_key is not None:
        headers["idempotency-key"] = read_header("idempotency_key", request.idempotency_key)
    return headers


def _read_retry_after(answer: Answer) -> int | None:
    match = re.match(r"\d{1,9}", answer.headers.get("retry-after", ""))
    return None if match is None else int(match[0])


def _read_body(answer: Answer) -> tuple[str | None, object]:
    try:
        text = (answer.body or b"").decode()
        return text, cast("object", json.loads(text))
    except ValueError:
        return None, None
