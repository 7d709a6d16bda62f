"""The gate in two halves, for frameworks that call a program before a tool runs and after it, but run the tool themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._end import Outcome, attest_end_of_run, say_end
from ._flow import Flow
from ._gate import GateMemory, key_of, wait_for_claim
from ._gate_options import Gating
from ._inputs import seal_inputs
from ._transport import Service
from ._wire import Attestation, AuthorizationState, AuthorizeRequest
from .errors import ApprovalClaimedError


@dataclass(frozen=True)
class Begun:
    """A tool that may run, once, with ``copy``."""

    gating: Gating
    authorization: AuthorizationState
    copy: Any
    inputs_hash: str


def begin(
    service: Service, memory: GateMemory, request: AuthorizeRequest, gating: Gating, inputs: object
) -> Flow[Begun]:
    """Raises, or the tool may run. What has begun here doesn't begin again: nobody can tell whether it ran."""
    key = key_of(request, gating, seal_inputs(inputs).hash)
    if key in memory.begun:
        raise ApprovalClaimedError
    # The claim itself is repeated safely, so this must be noted before anything can run.
    memory.begun.add(key)
    try:
        claimed, copy = yield from wait_for_claim(service, f"{key}-{memory.claimant}", request, gating, inputs)
    except BaseException:
        memory.begun.discard(key)
        raise
    return Begun(gating, claimed, copy, seal_inputs(copy).hash)


def end(service: Service, begun: Begun, inputs: object, outcome: Outcome) -> Flow[Attestation]:
    """``inputs``: what the tool ran with, by the framework's word. Only what was approved is attested as approved."""
    body = say_end(begun.gating, begun.authorization, outcome)
    ran = seal_inputs(inputs).hash
    if ran != begun.inputs_hash:
        body["inputs_hash"] = ran
        body.pop("human_authorization", None)
    key = f"gate-{begun.authorization['request_id']}-{ran}"
    return (yield from attest_end_of_run(service, begun.gating, body, key))
