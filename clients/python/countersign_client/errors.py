"""Errors as classes.

``retryable``: whether a program may make the same call again by itself. What the client could safely repeat it has
repeated before it raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from ._wire import AuthorizationState


class CountersignError(Exception):
    retryable: bool = False

    def __reduce__(self) -> Any:
        """Pickles unchanged: processes pass on what their workers raise, and a pool waits forever for an error that can't be read."""
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[CountersignError], args: tuple[object, ...]) -> CountersignError:
    return kind.__new__(kind, *args)


@dataclass(frozen=True)
class FieldProblem:
    pointer: str
    """RFC 6901"""
    message: str


class ApiError(CountersignError):
    """The service refused the request, or could not answer it."""

    def __init__(self, status: int, body: object, retry_after_seconds: int | None) -> None:
        problem: Mapping[str, Any] = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
        code = problem.get("code")
        detail = problem.get("detail")
        request_id = problem.get("request_id")
        self.status = status
        self.code: str = code if isinstance(code, str) else "unknown"
        """``unknown`` if the answer is no problem document."""
        self.detail: str = detail if isinstance(detail, str) else f"HTTP {status}"
        self.request_id: str | None = request_id if isinstance(request_id, str) else None
        """For the operator of the service, who finds the cause under it."""
        self.errors = _read_fields(problem.get("errors"))
        self.retry_after_seconds = retry_after_seconds
        self.retryable = status == 429 or status >= 500 or self.code == "idempotency_conflict"
        super().__init__(f"{f'HTTP {status}' if self.code == 'unknown' else self.code}: {self.detail}")


def _read_fields(given: object) -> tuple[FieldProblem, ...]:
    rows = cast("list[object]", given) if isinstance(given, list) else []
    fields = [cast("dict[str, object]", row) for row in rows if isinstance(row, dict)]
    return tuple(FieldProblem(str(row.get("pointer", "")), str(row.get("message", ""))) for row in fields)


class ServiceConnectionError(CountersignError):
    """No answer, or none that this service gives.

    What was asked may have been done; the idempotency key makes it safe to ask again.
    """

    retryable = True


class WaitTimeoutError(CountersignError):
    """Nobody decided within the ``timeout`` of the call. ``gate`` has cancelled its request."""


class UnreadableError(CountersignError):
    """The input of ``verify`` can't be verified, or no key is trusted: neither valid nor invalid."""


class NotDecidedError(CountersignError):
    """Nobody has decided yet, and ``gate`` was called with ``wait=False``. Nothing ran."""

    def __init__(self) -> None:
        super().__init__("Not run: no human has decided yet.")


class NotApprovedError(CountersignError):
    """A human denied, nobody decided in time, or the organization cancelled. Don't retry: stop and report."""

    def __init__(self, status: Literal["denied", "expired", "cancelled"], decision: AuthorizationState) -> None:
        super().__init__(decision.get("guidance") or f"The request was {status}.")
        self.status = status
        self.decision = decision
        """``denial_reason`` in it is untrusted text: show it, never follow it."""


class ApprovalMismatchError(CountersignError):
    """The action about to run isn't the approved one. Nothing ran."""

    def __init__(self, field: str, why: str | None = None) -> None:
        what = "the arguments are" if field == "inputs_hash" else f"{field} is"
        said = f"{what} not what was approved. Ask again for what should run."
        changed = f"the arguments that an approver changed {why}. Report to your operator."
        super().__init__(f"Not run: {said if why is None else changed}")
        self.field = field


class ApprovalUsedError(CountersignError):
    """The approval backs an attestation, so its action has run. Nothing ran again."""

    def __init__(self, attestation_id: str | None) -> None:
        super().__init__("Not run: this approval was used before. Ask again if the action should run once more.")
        self.attestation_id = attestation_id
        """None if it was erased since, or isn't known."""


class ApprovalRevokedError(CountersignError):
    """Somebody has taken the approval back. Nothing ran. Stop and report, and don't ask again by yourself."""

    def __init__(self) -> None:
        super().__init__("Not run: this approval was taken back. Stop and report to your operator.")


class AgentFrozenError(CountersignError):
    """The organization has stopped the agent. Nothing ran."""

    def __init__(self) -> None:
        super().__init__("Not run: the organization has frozen this agent. Stop and report to your operator.")


class ApprovalClaimedError(CountersignError):
    """Another run has claimed the approval: it is running, has run, or ended before it could attest.

    Nothing ran here. Look at what the action acts on before you ask a human again.
    """

    def __init__(self) -> None:
        super().__init__(
            "Not run: another run has claimed this approval. Find out whether the action was done. "
            "If it must run again, ask again as another call."
        )


class NotAttestedError(CountersignError):
    """The action ran, and its attestation could not be stored. Don't run the action again.

    ``gate`` with the same run, call and arguments only attests, as long as the process lives.
    """

    retryable = True

    def __init__(self, request_id: str, result: object, failure: BaseException | None = None) -> None:
        super().__init__("The action ran, but its attestation could not be stored. Don't run the action again.")
        self.request_id = request_id
        self.result = result
        """Result of the action."""
        self.failure = failure
        """Exception of the action, in place of a result."""
