"""How an action is gated, and what is refused before a human is asked because it couldn't be attested."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from ._json import JsonObject, canonical_bytes, depth_of
from ._sign import AgentKey, read_agent_key
from ._transport import encode
from ._wire import AttestRequestOptional, AuthorizationRequest

_MAX_METADATA_BYTES, _MAX_METADATA_DEPTH = 8_192 - 128, 16
"""Of the service (docs/wire.md, Attest), without what the gate adds."""


class GateOptions(TypedDict, total=False):
    approve_unseen_inputs: bool
    """True: the human approves inputs that nobody has seen, and the service gets only their hash."""
    attestation: AttestRequestOptional | None
    """What the attestation says besides."""
    agent_key: AgentKey | None
    """Signs the attestation, if the agent has registered a key."""
    on_request: Callable[[AuthorizationRequest], Any] | None
    """Shows link and code to whoever should decide. Also called if the request was made before: ``status`` is today's."""
    wait: bool
    """False: raise if nobody has decided yet, instead of waiting. For runs that end while a human decides."""
    timeout: float | None
    """Seconds to wait for the decision. Then the request is cancelled, and WaitTimeoutError is raised."""
    pauses: tuple[type[Exception], ...]
    """What the action raises if it pauses and its framework calls it again later: it hasn't ended, so nothing is attested.
    LangGraph's ``interrupt`` is one without being named."""
    claim_as: str | None
    """The name that claims the approval (default: a random one of this client). If you give one, the action that paused can
    be called again by another process. No two processes may use one at the same time."""


@dataclass(frozen=True)
class Gating:
    """Which call of which run it is, and how it is gated. For the same ids and arguments a human is asked once."""

    run_id: str
    """The framework's id of the run or thread."""
    call_id: str
    """The framework's id of this tool call in it."""
    options: GateOptions

    def __post_init__(self) -> None:
        """What couldn't be attested must not run."""
        if unknown := self.options.keys() - GateOptions.__annotations__.keys():
            raise TypeError(f"the gate has no option {', '.join(sorted(unknown))}")
        _require_attestable(self.options.get("attestation") or {})
        key = self.options.get("agent_key")
        if key is not None and not callable(key):
            read_agent_key(key)
        claim_as = self.options.get("claim_as")
        if claim_as and not re.fullmatch(r"[ -~]{1,58}", claim_as):
            raise ValueError("claim_as: expected at most 58 printable ASCII characters")


def _require_attestable(said: AttestRequestOptional) -> None:
    for name in said:
        if name == "agent_signature" or name.startswith("human_"):
            raise ValueError(f"attestation: the gate says itself what {name} is")
        if name not in AttestRequestOptional.__annotations__:
            raise TypeError(f"attestation: it can't say {name}")
    sent = cast("JsonObject", json.loads(encode(said)))
    canonical_bytes(sent)
    metadata = sent.get("metadata")
    if len(canonical_bytes(metadata)) > _MAX_METADATA_BYTES or depth_of(metadata) > _MAX_METADATA_DEPTH:
        raise ValueError(
            f"attestation: metadata must be at most {_MAX_METADATA_BYTES} bytes and {_MAX_METADATA_DEPTH} levels"
        )
