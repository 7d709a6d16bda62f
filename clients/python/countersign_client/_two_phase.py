"""The gate in two halves, for frameworks that call a program before a tool runs and after it, but run the tool themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._outcome import Outcome, attest_end_of_run, say_end
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
    key: str


def begin(
    service: Service, memory: GateMemory, request: AuthorizeRequest, gating: Gating, inputs: object
) -> Flow[Begun]:
    """Raises, or the tool may run. What has begun here doesn't begin again before it has ended: nobody can tell whether it ran."""
    key = key_of(request, gating, seal_inputs(inputs).hash)
    if key in memory.begun:
        raise ApprovalClaimedError
    # The claim itself is repeated safely, so this must be noted before anything can run.
    memory.begun[key] = ""
    try:
        claimed, copy, _ = yield from wait_for_claim(service, memory.claimant, memory.unbacked, request, gating, inputs)
    except BaseException:
        memory.begun.pop(key, None)
        raise
    memory.begun[key] = claimed["request_id"]
    return Begun(gating, claimed, copy, seal_inputs(copy).hash, key)


def end(service: Service, memory: GateMemory, begun: Begun, inputs: object, outcome: Outcome) -> Flow[Attestation]:
    """``inputs``: what the tool ran with, by the framework's word. Only what was approved is attested as approved."""
    body = say_end(begun.gating, begun.authorization, outcome)
    ran = seal_inputs(inputs).hash
    if ran != begun.inputs_hash:
        body["inputs_hash"] = ran
        body.pop("human_authorization", None)
    request_id = begun.authorization["request_id"]
    attestation = yield from attest_end_of_run(service, begun.gating, body, f"gate-{request_id}-{ran}")
    approval = attestation["human_approval"]
    # An approval that backs no attestation could be claimed again.
    is_used = approval is not None and approval["method"] != "none"
    if is_used and memory.begun.get(begun.key) == request_id:
        memory.begun.pop(begun.key)
    return attestation
