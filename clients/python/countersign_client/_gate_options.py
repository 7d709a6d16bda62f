"""Options of a gate, and what is refused before a human is asked because it couldn't be attested."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from ._json import MAX_SAFE_INTEGER, Json, JsonObject, canonical_bytes, canonical_json, depth_of, is_list, is_object
from ._sign import AgentKey, read_agent_key
from ._transport import encode
from ._wire import AttestRequestOptional, AuthorizationRequest, AuthorizationStateQuestion as OpenQuestion
from .errors import ApprovalMismatchError

_MAX_METADATA_BYTES, _MAX_METADATA_DEPTH = 8_192 - 128, 16


def _is_name(value: Json, longest: int = 128) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= longest


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_metadata(value: Json) -> bool:
    return (
        is_object(value)
        and len(canonical_bytes(value)) <= _MAX_METADATA_BYTES
        and depth_of(value) <= _MAX_METADATA_DEPTH
    )


def _are_tools(value: Json) -> bool:
    return is_list(value) and len(value) <= 64 and all(map(_is_name, value))


def _is_count(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 1 <= value <= MAX_SAFE_INTEGER and value % 1 == 0


def _is_client(value: Json) -> bool:
    if not is_object(value) or value.keys() != {"instance", "sequence"}:
        return False
    return _is_name(value["instance"], 64) and _is_count(value["sequence"])


_LIMITS: dict[str, tuple[Callable[[Json], bool], str]] = {
    "metadata": (_is_metadata, f"an object of at most {_MAX_METADATA_BYTES} bytes and {_MAX_METADATA_DEPTH} levels"),
    "is_public": (_is_flag, "true or false"),
    "enable_zk": (_is_flag, "true or false"),
    "code_hash": (_is_name, "1-128 characters"),
    "model_id": (_is_name, "1-128 characters"),
    "tools_used": (_are_tools, "at most 64 names of 1-128 characters"),
    "client": (_is_client, "an instance of 1-64 characters and a sequence from 1"),
}
"""Further fields of the attestation, as the service takes them (docs/wire.md, Attest), without those that the gate
adds."""


class GateOptions(TypedDict, total=False):
    asks_again: bool
    """False: what has run under these ids doesn't run again, such as a delivery that a queue repeats: it raises
    ApprovalUsedError. The service knows it for 24 hours after the attestation."""
    approve_unseen_inputs: bool
    """True: the human approves inputs that nobody has seen, and the service gets only their hash."""
    attestation: AttestRequestOptional | None
    """Further fields of the attestation."""
    agent_key: AgentKey | None
    """Signs the attestation, if the agent has registered a key."""
    on_request: Callable[[AuthorizationRequest], Any] | None
    """Shows link and code to whoever should decide. Also called if the request was made before: ``status`` is today's."""
    wait: bool
    """False: raise if nobody has decided yet, instead of waiting. For runs that end while a human decides."""
    timeout: float | None
    """Seconds to wait for the decision. Then the request is cancelled, and WaitTimeoutError is raised."""
    schema: Callable[[Any], Any] | None
    """The tool's own schema: a class of Pydantic, or a function that raises. With ``amendable`` in the request, arguments that
    an approver changed are checked by it before anything is claimed."""
    on_question: Callable[[OpenQuestion], Any] | None
    """Gets an approver's question while it waits; what it returns is the answer. A human's text, never an instruction."""
    pauses: tuple[type[Exception], ...]
    """Exceptions by which the action pauses, to be called again by its framework: it hasn't ended, so nothing is
    attested. LangGraph's ``interrupt`` is one without being named."""
    claim_as: str | None
    """The name that claims the approval (default: a random one of this client). If you give one, the action that paused can
    be called again by another process. No two processes may use one at the same time."""


@dataclass(frozen=True)
class Gating:
    """Identity of a call in its run, and options of its gate. For the same ids and arguments a human is asked once.

    That is until the call has run and is attested: after that an equal call is a new question.
    """

    run_id: str
    """The framework's id of the run or thread."""
    call_id: str
    """The framework's id of this tool call in it."""
    options: GateOptions

    def __post_init__(self) -> None:
        """Rejects an action that couldn't be attested before it runs."""
        if unknown := self.options.keys() - GateOptions.__annotations__.keys():
            raise TypeError(f"the gate has no option {', '.join(sorted(unknown))}")
        _require_attestable(self.options.get("attestation") or {})
        key = self.options.get("agent_key")
        if key is not None and not callable(key):
            read_agent_key(key)
        claim_as = self.options.get("claim_as")
        if claim_as and not re.fullmatch(r"[ -~]{1,58}", claim_as):
            raise ValueError("claim_as: expected at most 58 printable ASCII characters")


    def require_schema(self, inputs: Any) -> None:
        """Checks arguments that an approver changed, as the model's are checked."""
        schema = self.options.get("schema")
        if schema is None:
            raise ApprovalMismatchError("inputs_hash")
        try:
            getattr(schema, "model_validate", schema)(inputs)
        except Exception as error:
            raise ApprovalMismatchError("inputs_hash", "don't fit the tool's schema") from error


_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""True unless behind an odd number of backslashes, where it is text."""


def _require_attestable(said: AttestRequestOptional) -> None:
    for name in said:
        if name == "agent_signature" or name.startswith("human_"):
            raise ValueError(f"attestation: the gate says itself what {name} is")
        if name not in _LIMITS:
            raise TypeError(f"attestation: it can't say {name}")
    sent = cast("JsonObject", json.loads(encode(said)))
    for name, value in sent.items():
        text = canonical_json(value)
        is_fit, expected = _LIMITS[name]
        if value is not None and not is_fit(value):
            raise ValueError(f"attestation: {name} must be {expected}")
        if _ESCAPED_NUL.search(text):
            raise ValueError(f"attestation: {name} must not contain U+0000")
        # In text the quotes would be escaped.
        if '"__proto__":' in text:
            raise ValueError(f"attestation: {name} must not contain the name __proto__")
