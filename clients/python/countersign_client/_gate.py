"""Ask once, wait, fetch the decision again, compare what is about to run with what was approved, claim, run, attest.

Whatever breaks on the way, nothing runs without an approval, and nothing is asked, run or attested twice.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Set
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from . import _calls as calls
from ._outcome import attest_end_of_run, attest_run, outcome_of, say_end
from ._flow import Flow, call
from ._gate_options import Gating
from ._inputs import Sealed, seal_inputs
from ._json import canonical_hash
from ._preview import amend_inputs, show_inputs
from ._transport import TIMEOUT_SECONDS, Service
from ._wire import (
    Attestation,
    AuthorizationRequest,
    AuthorizationState,
    AuthorizeRequest,
)
from .errors import ApprovalClaimedError, ApprovalUsedError, CountersignError, NotAttestedError, WaitTimeoutError

Result = TypeVar("Result")

_MAX_REPEATS = 100
"""Equal calls of a run that can be asked for, one after the other."""
_GRACE_SECONDS = 5.0
"""Time that each part of cancelling may take when the call itself was ended."""


@dataclass(frozen=True)
class Approval:
    request_id: str
    key: str
    """The same whenever this approval is used: pass it on as an idempotency key, so that what failed half-way isn't doubled."""


@dataclass(frozen=True)
class Gated(Generic[Result]):
    result: Result
    attestation: Attestation
    authorization: AuthorizationState


@dataclass
class GateMemory:
    """Keyed by call: calls under way, and what is left to do for an action that ran and is not attested yet."""

    client_id: str
    """Told apart from every other client that gates the same call."""
    unattested: dict[str, Callable[[], Flow[Any]]] = field(default_factory=dict[str, Callable[[], Flow[Any]]])
    unbacked: set[str] = field(default_factory=set[str])
    """Ids of requests whose action ran and is attested without their approval, which can be claimed again after a freeze."""
    begun: dict[str, str] = field(default_factory=dict[str, str])
    """Request by key of each call that a framework was allowed to run (_two_phase.py)."""
    _running: dict[tuple[int, str], Future[Any]] = field(default_factory=dict[tuple[int, str], "Future[Any]"])
    """Keyed by process too: a forked one learns no end of its parent's calls."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def claimant(self) -> str:
        """A forked process has its parent's memory, and is another claimant."""
        return f"{self.client_id}-{os.getpid()}"

    @staticmethod
    def key_of(request: AuthorizeRequest, gating: Gating, inputs: object) -> str:
        return key_of(request, gating, seal_inputs(inputs).hash)

    def note_attested(self, key: str, request_id: str, attestation: Attestation) -> None:
        approval = attestation["human_approval"]
        if approval is not None and approval["method"] == "none":
            self.unbacked.add(request_id)
        self.unattested.pop(key, None)

    def enter(self, key: str) -> tuple[Future[Any], bool]:
        """The call's end, and whether the caller is the one who brings it about."""
        mine = (os.getpid(), key)
        with self._lock:
            known = self._running.get(mine)
            if known is not None:
                return known, False
            self._running[mine] = Future()
            return self._running[mine], True

    def leave(self, key: str, result: object = None, error: BaseException | None = None) -> None:
        with self._lock:
            future = self._running.pop((os.getpid(), key), None)
        if future is None:
            # The action has forked, and ends in the child too.
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, Exception):
            future.set_exception(error)
        else:
            future.set_exception(CountersignError("The equal call that this one waited for was ended from outside."))


def key_of(request: AuthorizeRequest, gating: Gating, inputs_hash: str) -> str:
    """The same for the same call of the same run with the same arguments, in any process and either language."""
    of = [request["agent_slug"], request["action"], gating.run_id, gating.call_id, inputs_hash]
    return f"gate-{canonical_hash(list(of))}"


def gate(
    service: Service,
    memory: GateMemory,
    request: AuthorizeRequest,
    gating: Gating,
    inputs: object,
    run: Callable[[Any, Approval], Any],
) -> Flow[Gated[Any]]:
    key = key_of(request, gating, seal_inputs(inputs).hash)
    finish = memory.unattested.get(key)
    if finish is not None:
        return cast("Gated[Any]", (yield from finish()))
    claimant = gating.options.get("claim_as") or memory.claimant
    claimed, copy, asked_key = yield from wait_for_claim(service, claimant, memory.unbacked, request, gating, inputs)
    failure: BaseException | None = None
    result: object = None
    try:
        result = yield from call(run, copy, Approval(claimed["request_id"], asked_key))
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001
        if _is_pause(error, gating):
            raise
        failure = error

    def attest_end() -> Flow[Gated[Any]]:
        attestation = yield from attest_run(service, gating, claimed, result, failure)
        memory.note_attested(key, claimed["request_id"], attestation)
        if isinstance(failure, Exception):
            raise failure
        if failure is not None:
            raise CountersignError("The action was interrupted, which is attested now. Don't run it again.")
        return Gated(result, attestation, claimed)

    # From here on a call with this key must not run the action, whatever becomes of the attestation.
    memory.unattested[key] = attest_end
    if failure is None or isinstance(failure, Exception):
        return (yield from attest_end())
    yield from _attest_interrupted(memory, key, service, gating, claimed, failure)
    raise failure


def _is_pause(error: BaseException, gating: Gating) -> bool:
    langgraph = sys.modules.get("langgraph.errors")
    known = () if langgraph is None else (langgraph.GraphInterrupt,)
    return isinstance(error, (*gating.options.get("pauses", ()), *known))


def _attest_interrupted(
    memory: GateMemory,
    key: str,
    service: Service,
    gating: Gating,
    claimed: AuthorizationState,
    failure: BaseException,
) -> Flow[None]:
    """Says on record that a cancelled task or a pressed Ctrl+C ended the action half-way. Tries once: the program is ending."""
    try:
        body = say_end(gating, claimed, outcome_of(failure))
        request_key = f"gate-{claimed['request_id']}"
        attestation = yield from attest_end_of_run(service, gating, body, request_key, _GRACE_SECONDS, 1)
        memory.note_attested(key, claimed["request_id"], attestation)
    except Exception as error:  # noqa: BLE001
        failure.__cause__ = NotAttestedError(claimed["request_id"], None, failure)
        failure.__cause__.__cause__ = error


def wait_for_claim(
    service: Service,
    claimant: str,
    unbacked: Set[str],
    request: AuthorizeRequest,
    gating: Gating,
    inputs: object,
) -> Flow[tuple[AuthorizationState, Any, str]]:
    """Returns the claimed approval, the copy that may run, and the key under which it was asked.

    ``claimant``: the same if this client calls again, so that only what it has begun itself can be begun again.
    """
    request_id: str | None = None
    try:
        asked, key = yield from _ask(service, request, gating, inputs, claimant=claimant)
        request_id = asked["request_id"]
        claimed = asked.get("claimed")
        if (on_request := gating.options.get("on_request")) is not None:
            yield from call(on_request, asked)
        if claimed is None and gating.options.get("wait", True):
            timeout, on_question = gating.options.get("timeout"), gating.options.get("on_question")
            yield from calls.wait_for_decision(service, request_id, timeout, on_question, is_following=True)
        confirmed, copy = yield from confirm_approval(service, request_id, request, gating, inputs, claimed)
        approved_id = confirmed["request_id"]
        if approved_id in unbacked:
            raise ApprovalClaimedError
        if claimed is None:
            yield from calls.claim(service, approved_id, f"{key}-{claimant}")
        return confirmed, copy, key
    except BaseException as error:
        # An ended wait, a cancelled task, a pressed Ctrl+C: nobody should approve what can't run any more.
        is_ended = isinstance(error, WaitTimeoutError) or not isinstance(error, Exception)
        if is_ended and not isinstance(error, GeneratorExit):
            yield from _cancel_quietly(service, request, gating, inputs, request_id)
        raise


def _cancel_quietly(
    service: Service, request: AuthorizeRequest, gating: Gating, inputs: object, request_id: str | None
) -> Flow[None]:
    """If it was decided meanwhile, there is nothing to cancel."""
    try:
        if request_id is None:
            # The request may have arrived all the same; asking again tells.
            ends_at = service.monotonic() + _GRACE_SECONDS
            asked, _ = yield from _ask(service, request, gating, inputs, _GRACE_SECONDS, ends_at)
            request_id = asked["request_id"]
        yield from calls.cancel_amended(service, request_id, _GRACE_SECONDS)
    except Exception:  # noqa: BLE001
        return


def ask(service: Service, request: AuthorizeRequest, gating: Gating, inputs: object) -> Flow[AuthorizationRequest]:
    """The request of this call, with its status of now. It is made if there is none yet."""
    asked, _ = yield from _ask(service, request, gating, inputs)
    if (on_request := gating.options.get("on_request")) is not None:
        yield from call(on_request, asked)
    return asked


def _write_request(request: AuthorizeRequest, gating: Gating, inputs: object) -> tuple[AuthorizeRequest, str]:
    """Builds the request to the service, and its idempotency key."""
    sealed = seal_inputs(inputs)
    context: Mapping[str, str] = request.get("context") or {}
    body = request.copy()
    if body.get("amendable") and gating.options.get("schema") is None:
        raise TypeError("amendable needs schema: the tool's own, for arguments that an approver changes")
    if gating.options.get("approve_unseen_inputs"):
        body["details"] = {"complete": False}
    else:
        body["context"], body["details"] = show_inputs(sealed.copy, context)
    body["inputs_hash"] = sealed.hash
    return body, key_of(request, gating, sealed.hash)


def _ask(
    service: Service,
    request: AuthorizeRequest,
    gating: Gating,
    inputs: object,
    timeout: float = TIMEOUT_SECONDS,
    ends_at: float | None = None,
    claimant: str | None = None,
) -> Flow[tuple[AuthorizationRequest, str]]:
    """The request, and the key under which it was asked.

    An equal call that was attested has run: this one is a new question, under a key made of the used request's. One that
    was claimed and not attested is still the same call. ``claimant``: claims what a standing approval or a rule gives at
    once, in the same request, for a call that runs next.
    """
    body, key = _write_request(request, gating, inputs)
    for _ in range(_MAX_REPEATS + 1):
        asked, is_replayed = yield from calls.authorize_once(
            service, body, key, timeout, ends_at, None if claimant is None else f"{key}-{claimant}"
        )
        if not is_replayed:
            return asked, key
        # A stored answer has the status that it had.
        state = yield from calls.read_amended(service, asked["request_id"], timeout, ends_at)
        asked["status"] = state["status"]
        if state.get("used_at") is None:
            return asked, key
        if not gating.options.get("asks_again", True):
            raise ApprovalUsedError(state.get("attestation_id"))
        key = f"gate-{canonical_hash([key, asked['request_id']])}"
    raise CountersignError(f"Not run: an equal call has run {_MAX_REPEATS} times under these ids.")


def confirm_approval(
    service: Service,
    request_id: str,
    request: AuthorizeRequest,
    gating: Gating,
    inputs: object,
    claimed: AuthorizationState | None = None,
) -> Flow[tuple[AuthorizationState, Any]]:
    """Raises, or the action may run with the copy, which is what was approved."""
    sealed: list[Sealed] = []

    def about_to_run(approved: AuthorizationState) -> calls.AboutToRun:
        sealed.append(seal_inputs(amend_inputs(seal_inputs(inputs).copy, approved)))
        return calls.AboutToRun(request["agent_slug"], request["action"], sealed[-1].hash)

    if claimed is None:
        confirmed = yield from calls.require_approval(service, request_id, about_to_run)
    else:
        confirmed = calls.require_fit(claimed, about_to_run)
    if confirmed.get("amends") is not None:
        gating.require_schema(sealed[-1].copy)
    return confirmed, sealed[-1].copy
