"""Signed payload (docs/wire.md, Signed payload), and the agent's record that every statement has a place in."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._iso_time import is_time
from .._json import Json, JsonObject, equal, is_list, is_object, parse_canonical
from ._bytes import sha256, uint64
from ._reading import is_count

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_PRODUCT = "https://countersign.dev"
AGENT_ACTION = f"{_PRODUCT}/agent-action/v1"
DECISION = f"{_PRODUCT}/authorization-decision/v1"
AGENT_CHANGE = f"{_PRODUCT}/agent-change/v1"
KEY_EVENT = f"{_PRODUCT}/key-event/v1"
EPOCH = f"{_PRODUCT}/log-epoch/v1"
RULESET = f"{_PRODUCT}/ruleset/v1"
ROSTER = f"{_PRODUCT}/approver-roster/v1"
AGENT_HEADS = f"{_PRODUCT}/agent-heads/v1"
PLANTED_REQUESTS = f"{_PRODUCT}/planted-requests/v1"
_RECORD_LABEL = b"countersign/agent-record/v1\n"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_text_or_none(value: Json) -> bool:
    return value is None or isinstance(value, str)


def is_place(value: Json) -> bool:
    """A place in an agent's record: number, and the link of the entry before."""
    return (
        is_object(value)
        and set(value) == {"agent_id", "sequence", "previous"}
        and isinstance(value["agent_id"], str)
        and UUID.fullmatch(value["agent_id"]) is not None
        and is_count(value["sequence"])
        and value["sequence"] != 0
        and isinstance(value["previous"], str)
        and re.fullmatch(r"[0-9a-f]{64}", value["previous"]) is not None
    )


def empty_link(agent_id: str) -> bytes:
    return sha256(_RECORD_LABEL, agent_id.encode())


def next_link(link: bytes, sequence: int, payload_hash: bytes) -> bytes:
    return sha256(_RECORD_LABEL, link, uint64(sequence), payload_hash)


def subject_digest(inputs_hash: str) -> JsonObject:
    match = re.fullmatch(r"(?:sha256:)?([0-9a-fA-F]{64})", inputs_hash)
    return {"sha256": match[1].lower()} if match else {"inputs_hash": inputs_hash}


def statement_of(predicate_type: str, subject: str, digest: str, predicate: JsonObject) -> JsonObject:
    subjects: list[Json] = [{"name": subject, "digest": {"sha256": digest}}]
    return {"_type": STATEMENT_TYPE, "subject": subjects, "predicateType": predicate_type, "predicate": predicate}


def read_subject(statement: JsonObject) -> Json:
    """The SHA-256 that its first subject has."""
    subject = statement.get("subject")
    first = subject[0] if is_list(subject) and subject else None
    digest = first.get("digest") if is_object(first) else None
    return digest.get("sha256") if is_object(digest) else None


def is_hash(value: Json) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _parse_exactly(payload: bytes, kind: str, names: tuple[str, ...], optional: str | None = None) -> tuple[JsonObject, JsonObject] | None:
    """A canonical statement of this kind and its predicate, which has exactly these fields."""
    statement = parse_canonical(payload)
    predicate = None if statement is None else statement.get("predicate")
    if statement is None or not is_object(predicate) or statement.get("predicateType") != kind:
        return None
    return (statement, predicate) if set(predicate) - {optional} == set(names) else None


def parse_decision(payload: bytes) -> JsonObject | None:
    """The predicate of a decision's statement, with its ``request_hash``; None for bytes that are none."""
    names = ("decision", "decided_at", "key_id", "authorization_hash", "record")
    found = _parse_exactly(payload, DECISION, names, "questions_hash")
    if found is None:
        return None
    statement, predicate = found
    digest = read_subject(statement)
    texts = (digest, predicate["key_id"], predicate.get("questions_hash", ""))
    if not is_time(predicate["decided_at"]) or predicate["decision"] not in ("approved", "denied", "cancelled") or not is_place(predicate["record"]):
        return None
    if not is_text_or_none(predicate["authorization_hash"]) or not all(isinstance(one, str) for one in texts):
        return None
    own = statement_of(DECISION, "authorization-request", str(digest), predicate)
    return {**predicate, "request_hash": digest} if equal(own, statement) else None


def parse_change(payload: bytes) -> JsonObject | None:
    """The predicate of a change of what an agent may do, with the ``request_hash`` whose approval was taken back."""
    found = _parse_exactly(payload, AGENT_CHANGE, ("change", "changed_at", "key_id", "reason_hash", "record"))
    if found is None:
        return None
    statement, predicate = found
    change, place = predicate["change"], predicate["record"]
    if change not in ("frozen", "unfrozen", "authorization_revoked") or not is_object(place) or not is_place(place):
        return None
    if not is_time(predicate["changed_at"]) or not isinstance(predicate["key_id"], str):
        return None
    if predicate["reason_hash"] is not None and not is_hash(predicate["reason_hash"]):
        return None
    digest = read_subject(statement) if change == "authorization_revoked" else sha256(str(place["agent_id"]).encode()).hex()
    name = "authorization-request" if change == "authorization_revoked" else "agent"
    if not is_hash(digest) or not equal(statement_of(AGENT_CHANGE, name, str(digest), predicate), statement):
        return None
    return {**predicate, "request_hash": digest if name != "agent" else None}


def parse_planted(payload: bytes) -> JsonObject | None:
    """The predicate of a statement that logs a schedule of planted requests or an opening, with its ``digest``."""
    statement = parse_canonical(payload) or {}
    predicate, digest = statement.get("predicate"), read_subject(statement)
    if not is_object(predicate) or not is_hash(digest):
        return None
    is_schedule = predicate.get("kind") == "schedule"
    if set(predicate) != {"kind", "organization", "key_id", "at", "until" if is_schedule else "schedule"}:
        return None
    is_known = is_time(predicate["until"]) if is_schedule else predicate["kind"] == "opening"
    if not is_known or not is_time(predicate["at"]) or not isinstance(predicate["key_id"], str):
        return None
    own = statement_of(PLANTED_REQUESTS, "planted-requests", str(digest), predicate)
    return {**predicate, "digest": digest} if equal(own, statement) else None


APPROVAL_STOPS = {
    "grant_revoked": "its standing approval was taken back",
    "grant_ended": "its standing approval was over",
    "code_changed": "its standing approval is for another code hash than the registered one",
    "rule_forbids": "the organization's rules forbade it",
    "rule_demands_more": "the organization's rules asked for more approval than it has",
}
"""Reasons for which an approval was stopped after a run had claimed it."""


@dataclass(frozen=True)
class Action:
    """The parts of an agent's statement, whose shape was checked."""

    statement: JsonObject
    predicate: JsonObject
    request: JsonObject
    registered: JsonObject
    verdicts: JsonObject
    approval: JsonObject

    def text(self, name: str) -> str:
        return str(self.predicate[name])


def _object(value: JsonObject, name: str) -> JsonObject:
    found = value.get(name)
    if not is_object(found):
        raise ValueError(f"{name}: expected an object")
    return found


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("not an action statement")


def parse_action(payload: bytes) -> Action | None:
    """None for bytes that are not the canonical form of an action statement with a subject that fits."""
    statement = parse_canonical(payload)
    if statement is None or statement.get("_type") != STATEMENT_TYPE:
        return None
    if statement.get("predicateType") != AGENT_ACTION:
        return None
    try:
        return _read_action(statement)
    except ValueError:
        return None


def _read_action(statement: JsonObject) -> Action:
    predicate = _object(statement, "predicate")
    parts = [_object(predicate, name) for name in ("request", "registered", "verdicts", "human_approval")]
    request, registered, verdicts, approval = parts
    texts = ("attestation_id", "key_id", "organization", "salt")
    _require(all(isinstance(predicate.get(name), str) for name in texts))
    _require(is_time(predicate.get("timestamp")))
    _require(isinstance(predicate.get("is_public"), bool))
    _require(all(isinstance(request.get(name), str) for name in ("agent_slug", "action", "inputs_hash")))
    _require(is_place(predicate.get("record")))
    _require(isinstance(predicate.get("agent_signature", ""), str))
    names = ("agent_public_key", "code_hash", "tool_manifest_hash")
    _require(all(name in registered and is_text_or_none(registered[name]) for name in names))
    _require_verdicts(request, verdicts)
    _require("parent" not in request or _is_parent(request["parent"]))
    _require("traceparent" not in request or _is_traceparent(request["traceparent"]))
    _require(_is_approval(approval))
    _require("agent_frozen_at" not in predicate or is_time(predicate["agent_frozen_at"]))
    _require("approval_stopped" not in predicate or _is_stop(predicate["approval_stopped"], approval))
    _require("trace" not in predicate or _is_reported(predicate, approval))
    _require("not_before" not in predicate or _is_not_before(predicate["not_before"]))
    subject: list[Json] = [{"digest": subject_digest(str(request["inputs_hash"])), "name": "inputs"}]
    _require(statement.get("subject") == subject)
    return Action(statement, predicate, request, registered, verdicts, approval)


def _is_parent(value: Json) -> bool:
    """The attestation by whose authority an agent acts, of this or another instance."""
    if not is_object(value) or set(value) != {"id", "payload_hash", "origin"}:
        return False
    link, origin = value["id"], value["origin"]
    return isinstance(link, str) and UUID.fullmatch(link.lower()) is not None and isinstance(origin, str) and _is_trace_id(value["payload_hash"], 64)


def _is_traceparent(value: Json) -> bool:
    pattern = "00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _is_reported(predicate: JsonObject, approval: JsonObject) -> bool:
    """No agent signs what a trace reports, and no approval backs it."""
    trace = predicate["trace"]
    if "agent_signature" in predicate or approval["method"] != "none" or not is_object(trace):
        return False
    ids = (_is_trace_id(trace.get("trace_id"), 32), _is_trace_id(trace.get("span_id"), 16))
    missing = (trace.get("trace_id", "") is None, trace.get("span_id", "") is None)
    is_log = trace.get("signal") == "log"
    is_known = is_log or trace.get("signal") == "span"
    fits = all(one or (is_log and none) for one, none in zip(ids, missing, strict=True))
    return is_known and fits and len(trace) == 3


def _is_trace_id(value: Json | None, digits: int) -> bool:
    return isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is not None


def _is_stop(value: Json, approval: JsonObject) -> bool:
    """Only what an authorization backs is stopped."""
    if approval["method"] in ("none", "hash") or not is_object(value):
        return False
    reason = value.get("reason")
    return isinstance(reason, str) and reason in APPROVAL_STOPS and is_time(value.get("claimed_at"))


def _require_verdicts(request: JsonObject, verdicts: JsonObject) -> None:
    for name in ("agent_authenticated", "code_hash_verified", "tools_authorized"):
        _require(name in verdicts and (verdicts[name] is None or isinstance(verdicts[name], bool)))
    if "client" not in request:
        return _require("client_gap" not in verdicts)
    client = _object(request, "client")
    _require(set(client) == {"instance", "sequence"} and isinstance(client["instance"], str))
    _require(is_count(client["sequence"]) and client["sequence"] != 0)
    _require(isinstance(verdicts.get("client_gap"), bool))


_BACKED_METHODS = (
    "proof_of_personhood",
    "enrolled_proof_of_personhood",
    "enrolled_approver",
    "standing_approval",
    "rule",
)


def _is_approval(approval: JsonObject) -> bool:
    method = approval.get("method")
    if method == "none":
        return True
    if method == "hash":
        return "approver_hash" in approval and is_text_or_none(approval["approver_hash"])
    texts = ("level", "request_hash", "authorization_hash", "environment")
    lists = (approval.get("nullifier_hashes"), approval.get("approver_ids"))
    return (
        method in _BACKED_METHODS
        and all(isinstance(approval.get(name), str) for name in texts)
        and isinstance(approval.get("inputs_bound"), bool)
        and all(is_list(one) and all(isinstance(item, str) for item in one) for one in lists)
    )


def _is_hex(value: Json, length: int) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]*", value) is not None and len(value) == 2 * length


def _is_not_before(value: Json) -> bool:
    if not is_object(value):
        return False
    if value.get("type") == "tlog-cosignature":
        is_named = isinstance(value.get("origin"), str) and is_count(value.get("size"))
        return is_named and _is_hex(value.get("checkpoint_hash"), 32)
    is_round = isinstance(value.get("round"), int) and not isinstance(value.get("round"), bool)
    is_drand = value.get("type") == "drand" and is_round
    return is_drand and _is_hex(value.get("chain"), 32) and _is_hex(value.get("signature"), 48)
