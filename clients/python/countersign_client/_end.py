"""What becomes of a run on record: as it was approved, as failed or interrupted, or on an approval that was stopped meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from . import _calls as calls
from ._flow import Flow
from ._json import JsonObject
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


def outcome_of(failure: BaseException | None) -> str | None:
    """Of an action that raised. It may have done half of its work, so that is on record too."""
    if failure is None:
        return None
    return "failed" if isinstance(failure, Exception) else "interrupted"


def say_end(gating: Gating, authorization: AuthorizationState, outcome: str | None) -> AttestRequest:
    said = cast("JsonObject", gating.options.get("attestation") or {})
    if outcome is not None:
        said = {**said, "metadata": {**cast("JsonObject", said.get("metadata") or {}), "outcome": outcome}}
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
        # What ran on an approval that was stopped meanwhile is on record too, without the approval.
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
    request = say_end(gating, authorization, outcome_of(failure))

    def sending() -> Flow[Attestation]:
        return attest_end_of_run(service, gating, request, f"gate-{request_id}")

    try:
        return (yield from sending())
    except Exception as error:
        raise NotAttestedError(request_id, result, failure) from (failure or error)
    except GeneratorExit:
        raise
    except BaseException as ending:
        # Whoever ends the program now ends it after an action that ran.
        try:
            yield from sending()
        except Exception as error:  # noqa: BLE001
            ending.__cause__ = NotAttestedError(request_id, result, failure)
            ending.__cause__.__cause__ = error
        raise
