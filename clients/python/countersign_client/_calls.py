"""The calls of the API as flows, and the one place that says whether an action may run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast
from urllib.parse import quote

from ._flow import Flow, call, sleep
from ._sign import AgentKey, sign_agent_request
from ._transport import TIMEOUT_SECONDS, USUAL_TRIES, Request, Service, encode, send
from ._wire import Attestation, AttestRequest, AuthorizationRequest, AuthorizationState, AuthorizeRequest, Identity
from ._wire import AuthorizationStateQuestion as OpenQuestion
from .errors import (
    AgentFrozenError,
    ApiError,
    ApprovalClaimedError,
    ApprovalMismatchError,
    ApprovalRevokedError,
    ApprovalUsedError,
    CountersignError,
    NotApprovedError,
    NotDecidedError,
    WaitTimeoutError,
)

_LONG_POLL_SECONDS = 25
_USUAL_PAUSE_SECONDS = 5
_LATE_SECONDS = 15
_CONFLICT = 409
"""Time that an answer may take besides what it is held back."""
_PATIENT_TRIES = 10
"""With the pauses between them more than two minutes: a restart of the service must not end a wait of hours."""


def attest(
    service: Service,
    request: AttestRequest,
    agent_key: AgentKey | None = None,
    idempotency_key: str | None = None,
    timeout: float = TIMEOUT_SECONDS,
    tries: int = USUAL_TRIES,
) -> Flow[Attestation]:
    body = request if agent_key is None else sign_agent_request(request, agent_key)
    key = idempotency_key or service.random_uuid()
    answer = yield from send(service, Request("POST", "/v1/attest", body, key, tries=tries, timeout=timeout))
    return cast("Attestation", answer.json())


def sign_all(requests: Iterable[AttestRequest], agent_key: AgentKey | None) -> list[AttestRequest]:
    """Raises if one of them can't be sent, before any is. What becomes of the originals meanwhile is not sent."""
    return [
        cast("AttestRequest", json.loads(encode(one))) if agent_key is None else sign_agent_request(one, agent_key)
        for one in requests
    ]


def authorize_once(
    service: Service,
    request: AuthorizeRequest,
    idempotency_key: str | None = None,
    timeout: float = TIMEOUT_SECONDS,
    ends_at: float | None = None,
    run: str | None = None,
) -> Flow[tuple[AuthorizationRequest, bool]]:
    """True: the request was made before, and this is how it was then.

    ``run``: claims, as ``claim`` does, what a standing approval or a rule gives at once.
    """
    key = idempotency_key or service.random_uuid()
    path = "/v1/authorize" if run is None else f"/v1/authorize?run={quote(run, safe='')}"
    answer = yield from send(service, Request("POST", path, request, key, timeout=timeout, ends_at=ends_at))
    return cast("AuthorizationRequest", answer.json()), answer.is_replayed


def authorize(
    service: Service, request: AuthorizeRequest, idempotency_key: str | None = None
) -> Flow[AuthorizationRequest]:
    asked, _ = yield from authorize_once(service, request, idempotency_key)
    return asked


def _path_of(request_id: str) -> str:
    return f"/v1/authorize/{quote(request_id, safe='')}"


def cancel(service: Service, request_id: str, timeout: float = TIMEOUT_SECONDS, tries: int = 1) -> Flow[AuthorizationState]:
    request = Request("DELETE", _path_of(request_id), timeout=timeout, tries=tries)
    return cast("AuthorizationState", (yield from send(service, request)).json())


def claim(service: Service, request_id: str, run: str) -> Flow[AuthorizationState]:
    request = Request("POST", f"{_path_of(request_id)}/claim", {"run": run}, is_repeatable=True)
    try:
        return cast("AuthorizationState", (yield from send(service, request)).json())
    except ApiError as error:
        if error.code == "already_claimed":
            raise ApprovalClaimedError from error
        if error.code == "authorization_already_used":
            raise ApprovalUsedError(None) from error
        if error.code == "authorization_revoked":
            raise ApprovalRevokedError from error
        if error.code == "agent_frozen":
            raise AgentFrozenError from error
        raise


def revoke(service: Service, request_id: str, reason: str | None = None) -> Flow[AuthorizationState]:
    path = f"/v1/authorizations/{quote(request_id, safe='')}/revoke"
    request = Request("POST", path, {"reason": reason}, is_repeatable=True)
    return cast("AuthorizationState", (yield from send(service, request)).json())


def _change(service: Service, agent_slug: str, change: str, reason: str | None) -> Flow[Identity]:
    path = f"/v1/identity/{quote(agent_slug, safe='')}/{change}"
    return cast("Identity", (yield from send(service, Request("POST", path, {"reason": reason}, is_repeatable=True))).json())


def freeze(service: Service, agent_slug: str, reason: str) -> Flow[Identity]:
    return _change(service, agent_slug, "freeze", reason)


def unfreeze(service: Service, agent_slug: str, reason: str | None = None) -> Flow[Identity]:
    return _change(service, agent_slug, "unfreeze", reason)


def read_authorization(
    service: Service,
    request_id: str,
    wait: int | None = None,
    timeout: float = TIMEOUT_SECONDS,
    ends_at: float | None = None,
) -> Flow[tuple[AuthorizationState, float]]:
    """The state, and how long to pause before the next reading."""
    path = _path_of(request_id) + ("" if wait is None else f"?wait={wait}")
    request = Request("GET", path, tries=_PATIENT_TRIES, timeout=timeout, ends_at=ends_at)
    answer = yield from send(service, request)
    asked = answer.retry_after_seconds
    return cast("AuthorizationState", answer.json()), max(1.0, _USUAL_PAUSE_SECONDS if asked is None else asked)


OnQuestion: TypeAlias = "Callable[[OpenQuestion], Any]"


def answer(service: Service, request_id: str, number: int, text: str) -> Flow[AuthorizationState]:
    body = {"number": number, "answer": text}
    request = Request("POST", f"{_path_of(request_id)}/answer", body, is_repeatable=True)
    return cast("AuthorizationState", (yield from send(service, request)).json())


def read_amended(
    service: Service, request_id: str, timeout: float = TIMEOUT_SECONDS, ends_at: float | None = None
) -> Flow[AuthorizationState]:
    """The state of the request, or of the one that an approver's changes made of it."""
    state, _ = yield from read_authorization(service, request_id, None, timeout, ends_at)
    if (amended_by := state.get("amended_by")) is None:
        return state
    return (yield from read_amended(service, amended_by, timeout, ends_at))


def cancel_amended(service: Service, request_id: str, timeout: float) -> Flow[None]:
    """Cancels the request that people still see: an approver may have made another one of it."""
    try:
        yield from cancel(service, request_id, timeout)
    except ApiError:
        state = yield from read_amended(service, request_id, timeout)
        if state["request_id"] == request_id:
            raise
        yield from cancel(service, state["request_id"], timeout)


def wait_for_decision(
    service: Service,
    request_id: str,
    timeout: float | None = None,
    on_question: OnQuestion | None = None,
    *,
    is_following: bool = False,
) -> Flow[AuthorizationState]:
    """Raises NotApprovedError if the decision is anything but an approval.

    ``is_following``: goes on with the request that an approver's changes made of it. ``on_question``: what it returns is
    the answer.
    """
    asked = 0
    ends_at = None if timeout is None else service.monotonic() + timeout
    while True:
        left = _LONG_POLL_SECONDS if ends_at is None else ends_at - service.monotonic()
        if left <= 0:
            raise WaitTimeoutError("Nobody has decided in time.")
        wait = max(1, min(_LONG_POLL_SECONDS, int(left)))
        try:
            state, pause = yield from read_authorization(service, request_id, wait, wait + _LATE_SECONDS, ends_at)
        except CountersignError as error:
            if ends_at is None or service.monotonic() < ends_at or not error.retryable:
                raise
            raise WaitTimeoutError("Nobody has decided in time, as far as could be read.") from error
        question = state.get("question")
        if question is not None and question["number"] > asked:
            asked = question["number"]
            text = None if on_question is None else (yield from call(on_question, question))
            if isinstance(text, str):
                try:
                    yield from answer(service, request_id, asked, text)
                except ApiError as error:
                    # Decided, or answered by somebody else, in the meantime.
                    if error.status != _CONFLICT:
                        raise
        if is_following and (amended_by := state.get("amended_by")) is not None:
            request_id = amended_by
            continue
        if state["status"] != "pending":
            return require_approved(state)
        left = pause if ends_at is None else ends_at - service.monotonic()
        yield from sleep(max(0.0, min(pause, left)))


def require_approved(state: AuthorizationState) -> AuthorizationState:
    status = state["status"]
    if status == "pending":
        raise NotDecidedError
    if status != "approved":
        raise NotApprovedError(status, state)
    # Erased with the attestation that it was used for.
    if state.get("human_authorization") is None:
        raise ApprovalUsedError(None)
    if state["revoked_at"] is not None:
        raise ApprovalRevokedError
    return state


@dataclass(frozen=True)
class AboutToRun:
    agent_slug: str
    action: str
    inputs_hash: str


def require_approval(
    service: Service, request_id: str, read_about_to_run: Callable[[AuthorizationState], AboutToRun]
) -> Flow[AuthorizationState]:
    """Asks the service for the decision, at the moment of running, and compares it with what is about to run.

    An "approved" from anywhere else (a framework's state, a message, a webhook) can be forged or out of date.
    """
    return require_fit((yield from read_amended(service, request_id)), read_about_to_run)


def require_fit(
    state: AuthorizationState, read_about_to_run: Callable[[AuthorizationState], AboutToRun]
) -> AuthorizationState:
    """``state``: what the service has just answered."""
    approved = require_approved(state)
    # Without the permission read or hook this isn't known. The claim that follows finds out.
    if (attestation_id := approved.get("attestation_id")) is not None:
        raise ApprovalUsedError(attestation_id)
    about_to_run = read_about_to_run(approved)
    # The service answers the slug as it is registered: slugs are unique without regard to case.
    if approved["agent_slug"].lower() != about_to_run.agent_slug.lower():
        raise ApprovalMismatchError("agent_slug")
    for field in ("action", "inputs_hash"):
        if approved.get(field) != getattr(about_to_run, field):
            raise ApprovalMismatchError(field)
    return approved
