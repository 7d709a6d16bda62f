"""Attests a run as it was approved and ended, or on an approval that was stopped meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from . import _calls as calls
from ._flow import Flow
from ._json import JsonObject, is_object
from ._transport import TIMEOUT_SECONDS, USUAL_TRIES, Service
from ._wire import Attestation, AttestRequest, AuthorizationState
from .errors import ApiError, NotAttestedError

if TYPE_CHECKING:
    from ._gate_options import Gating

_STOPPED = {
    "authorization_revoked": "taken back while the action ran",
    "authorization_ended": "over before the action was",
    "agent_frozen": "unusable, because the agent was frozen while the action ran",
}


Outcome: TypeAlias = Literal["completed", "failed", "started", "unknown"]
"""``metadata.outcome`` of what ran, as gates and hooks write it."""


def outcome_of(failure: BaseException | None, result: object = None) -> Outcome:
    """An interrupted action may have done half of its work, or all of it."""
    if failure is None:
        return read_outcome(result)
    return "failed" if isinstance(failure, Exception) else "unknown"


def read_outcome(result: object) -> Outcome:
    """Reads results by which tools report errors that they handled: MCP's ``isError``, LangChain's messages of status
    ``error``."""
    is_several = isinstance(result, (list, tuple))
    results = list(cast("Iterable[object]", result)) if is_several else [result]
    try:
        if any(_is_tool_error(report) for one in results for report in _list_reports(one)):
            return "failed"
        return "started" if not is_several and _is_task(result) else "completed"
    except Exception:  # noqa: BLE001
        # A property of the result's own.
        return "unknown"


def _list_reports(result: object) -> list[object]:
    """LangGraph's ToolNode and Command hold messages."""
    held = (_member(result, "messages"), _member(_member(result, "update"), "messages"))
    return [result, *(one for messages in held if isinstance(messages, list) for one in cast("list[object]", messages))]


def _is_task(result: object) -> bool:
    """MCP's answer to a call that goes on as a task, in the protocol of 2025 and as its later extension."""
    task = _member(result, "task")
    ids = (_member(task, "taskId"), _member(task, "task_id"))
    return _member(result, "resultType") == "task" or any(isinstance(one, str) for one in ids)


def _is_tool_error(report: object) -> bool:
    if _member(report, "isError") is True or _member(report, "is_error") is True:
        return True
    return _member(report, "status") == "error" and isinstance(_member(report, "tool_call_id"), str)


def _member(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    return getattr(value, name, None)


def say_end(gating: Gating, authorization: AuthorizationState, outcome: Outcome) -> AttestRequest:
    said = cast("JsonObject", gating.options.get("attestation") or {})
    metadata: JsonObject = {**cast("JsonObject", said.get("metadata") or {}), "outcome": outcome}
    original = (authorization.get("human_authorization") or {}).get("original_request")
    if authorization.get("amends") is not None and is_object(original) and "inputs_hash" in original:
        # The inputs that were asked for, beside the attested ones that ran.
        metadata["asked_inputs_hash"] = original["inputs_hash"]
    said = {**said, "metadata": metadata}
    body: JsonObject = {
        **said,
        "agent_slug": authorization["agent_slug"],
        "action": authorization["action"],
        "inputs_hash": authorization["inputs_hash"],
        "human_authorization": authorization.get("human_authorization"),
    }
    return cast("AttestRequest", body)


def attest_end_of_run(
    service: Service,
    gating: Gating,
    request: AttestRequest,
    key: str,
    timeout: float = TIMEOUT_SECONDS,
    tries: int = USUAL_TRIES,
) -> Flow[Attestation]:
    agent_key = gating.options.get("agent_key")
    try:
        return (yield from calls.attest(service, request, agent_key, key, timeout, tries))
    except ApiError as error:
        if error.code not in _STOPPED:
            raise
        # Attest a run whose approval was stopped meanwhile too, without the approval.
        said = cast("JsonObject", {**request})
        said["human_authorization"] = None
        said["metadata"] = {**cast("JsonObject", said.get("metadata") or {}), "approval": _STOPPED[error.code]}
    body = cast("AttestRequest", said)
    return (yield from calls.attest(service, body, agent_key, f"{key}-stopped", timeout, tries))


def attest_run(
    service: Service,
    gating: Gating,
    authorization: AuthorizationState,
    result: object,
    failure: BaseException | None = None,
) -> Flow[Attestation]:
    request_id = authorization["request_id"]
    request = say_end(gating, authorization, outcome_of(failure, result))

    def sending() -> Flow[Attestation]:
        return attest_end_of_run(service, gating, request, f"gate-{request_id}")

    try:
        return (yield from sending())
    except Exception as error:
        raise NotAttestedError(request_id, result, failure) from (failure or error)
    except GeneratorExit:
        raise
    except BaseException as ending:
        # Ending the program from here on ends it after an action that ran.
        try:
            yield from sending()
        except Exception as error:  # noqa: BLE001
            ending.__cause__ = NotAttestedError(request_id, result, failure)
            ending.__cause__.__cause__ = error
        raise
