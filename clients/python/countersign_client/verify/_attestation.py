"""The checks of an attestation, in one fixed list (docs/wire.md, Verify), but for the pairings of zero-knowledge proofs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from .._json import Json, JsonObject, canonical_bytes, canonical_hash, is_list, is_object, parse_canonical
from ._authorization import AuthorizationReport, check_authorization
from ._bytes import base64_decode, sha256
from ._dsse import Envelope, dsse_key_id, leaf_of, parse_leaf, require_string
from ._ed25519 import verify_strict
from ._note import SignedCheckpoint, leaf_hash, verify_checkpoint, verify_inclusion
from ._outcome import Check, fail, miss, passed, skip
from ._receipt import Neighbour, Neighbours, Receipt
from ._statement import Action, empty_link, is_place, next_link, parse_action
from ._time import Bound, check_not_after, check_not_before
from ._trust import Trust, TrustedKey


@dataclass
class Subject:
    receipt: Receipt
    trust: Trust
    payload: bytes | None = field(init=False)
    action: Action | None = field(init=False)
    key: TrustedKey | None = field(init=False)
    checkpoint: SignedCheckpoint | Check = field(init=False)
    authorization: AuthorizationReport | None = None
    made_after: Bound | None = None
    made_before: Bound | None = None

    def __post_init__(self) -> None:
        receipt, log_key = self.receipt, self.trust.choose_log_key(self.receipt.log.checkpoint)
        self.payload = receipt.payload if isinstance(receipt.payload, bytes) else None
        self.action = None if self.payload is None else parse_action(self.payload)
        fitting = (key for key in self.trust.keys if key.log_origin in (None, log_key.name))
        self.key = next((key for key in fitting if key.key_id == receipt.key_id), None)
        self.checkpoint = verify_checkpoint(receipt.log.checkpoint, log_key)
        self.log_key = log_key

    def without_payload(self) -> Check:
        why = {"erased": "payload_erased", "lost": "payload_lost"}
        payload = self.receipt.payload
        return miss(why.get(payload, "payload_private") if isinstance(payload, str) else "payload_private")


def check_attestation(subject: Subject) -> list[Check]:
    checks = {
        "payload_hash": _check_payload_hash(subject),
        "signature": _check_signature(subject),
        "key_validity": _check_key_validity(subject),
        "log_inclusion": _check_log_inclusion(subject),
        "checkpoint_signature": _check_checkpoint_signature(subject),
        "agent_signature": _check_agent(subject),
        "code_hash": _check_code(subject),
        "tools": _check_tools(subject),
        "human_authorization": _check_human_authorization(subject),
        "zk_proof": _check_zk_proof(subject),
        "record": _check_record(subject),
    }
    found = [check.named(name) for name, check in checks.items()]
    time = (subject.receipt.time, subject.receipt.log, subject.action, subject.payload is None)
    without = subject.without_payload()
    not_before, subject.made_after = check_not_before(*time, subject.trust.witnesses, without)
    not_after, subject.made_before = check_not_after(*time, subject.trust.witnesses, without, subject.log_key)
    return [*found, not_before.named("not_before"), not_after.named("not_after")]


def _check_payload_hash(subject: Subject) -> Check:
    receipt, action = subject.receipt, subject.action
    if receipt.payload == "lost":
        return fail("payload_lost")
    if receipt.is_erased and receipt.payload != "erased":
        return fail("payload_not_erased")
    if subject.payload is None:
        return subject.without_payload()
    if sha256(subject.payload) != receipt.payload_hash:
        return fail("payload_hash_mismatch")
    if action is None:
        return fail("statement_malformed")
    if action.text("attestation_id") != receipt.attestation_id:
        return fail("attestation_mismatch")
    if str(action.request["agent_slug"]).lower() != receipt.agent_slug.lower():
        return fail("agent_mismatch")
    if action.text("key_id") != receipt.key_id:
        return fail("key_mismatch")
    if action.predicate["is_public"] is not receipt.is_public:
        return fail("visibility_mismatch")
    return passed("SHA-256 of the signed bytes is payload_hash, and they are this attestation's statement")


def _envelope(subject: Subject, payload: bytes, key: TrustedKey) -> Envelope:
    return Envelope(payload, subject.receipt.envelope_signature, dsse_key_id(key.public_key))


def _check_signature(subject: Subject) -> Check:
    receipt, payload, key = subject.receipt, subject.payload, subject.key
    if payload is None:
        return subject.without_payload()
    if key is None:
        return fail("key_unknown", key=receipt.key_id)
    if receipt.signature is not None and not verify_strict(receipt.signature, payload, key.public_key):
        return fail("signature_invalid")
    if not _envelope(subject, payload, key).is_signed_by(key.public_key):
        return fail("envelope_signature_invalid")
    return passed(f"Ed25519 by key {key.key_id}{', over the envelope' if receipt.signature is None else ''}")


def _check_key_validity(subject: Subject) -> Check:
    key, index = subject.key, subject.receipt.log.index
    if key is None:
        return fail("key_unknown", key=subject.receipt.key_id)
    span = f"log indexes {key.valid_from} to {'now' if key.valid_to is None else key.valid_to - 1}"
    if not key.signs_for(index):
        return fail("key_out_of_range", index=index, range=span)
    return passed(f"key {key.key_id} signs for {span}")


def _check_log_inclusion(subject: Subject) -> Check:
    log, signed = subject.receipt.log, subject.checkpoint
    if isinstance(signed, Check):
        return signed
    size = signed.checkpoint.size
    if size != log.tree_size:
        return fail("checkpoint_mismatch")
    misfit = _find_entry_misfit(subject)
    if misfit is not None:
        return misfit
    if not verify_inclusion(leaf_hash(log.entry), log.index, size, log.inclusion_proof, signed.checkpoint.root):
        return fail("inclusion_proof_invalid")
    return passed(f"leaf {log.index} of {size}")


def _find_entry_misfit(subject: Subject) -> Check | None:
    """The first field of the entry that is not the receipt's."""
    receipt, payload, key = subject.receipt, subject.payload, subject.key
    try:
        leaf = parse_leaf(receipt.log.entry)
    except ValueError:
        return fail("entry_malformed")
    if leaf.payload_hash != receipt.payload_hash:
        return fail("entry_payload_mismatch")
    if leaf.signature != receipt.envelope_signature:
        return fail("entry_signature_mismatch")
    if key is None or leaf.public_key != key.public_key:
        return fail("entry_key_mismatch")
    if payload is not None and leaf_of(_envelope(subject, payload, key), key.public_key) != receipt.log.entry:
        return fail("entry_envelope_mismatch")
    return None


def _check_checkpoint_signature(subject: Subject) -> Check:
    signed = subject.checkpoint
    if isinstance(signed, Check):
        return signed
    return passed(f"checkpoint of {signed.checkpoint.origin} at size {signed.checkpoint.size}")


def _compare(subject: Subject, name: str, recomputed: bool | None) -> Check:
    """A recorded false that is still false passes: the record is honest about it."""
    action = subject.action
    if action is None:
        return subject.without_payload() if subject.payload is None else fail("statement_malformed")
    recorded = action.verdicts[name]
    if recorded is not recomputed:
        return fail("verdict_mismatch", recorded=_verdict(recorded), recomputed=_verdict(recomputed))
    if recorded is None:
        return skip("nothing_to_compare")
    return passed(f"recorded {_verdict(recorded)}, recomputed {_verdict(recomputed)}")


def _verdict(value: Json) -> str:
    return "nothing to compare" if value is None else str(value).lower()


def _check_agent(subject: Subject) -> Check:
    return _compare(subject, "agent_authenticated", _recheck_agent(subject.action))


def _recheck_agent(action: Action | None) -> bool | None:
    signature = action and action.predicate.get("agent_signature")
    key = action and action.registered["agent_public_key"]
    if action is None or not isinstance(signature, str) or not isinstance(key, str):
        return None
    try:
        return verify_strict(base64_decode(signature), canonical_bytes(action.request), base64_decode(key))
    except ValueError:
        return False


def _check_code(subject: Subject) -> Check:
    action = subject.action
    claimed = action and action.request.get("code_hash")
    registered = action and action.registered["code_hash"]
    is_compared = isinstance(claimed, str) and registered is not None
    return _compare(subject, "code_hash_verified", claimed == registered if is_compared else None)


def list_unregistered_tools(action: Action, manifest: bytes | None) -> list[Json] | None:
    """Lists used tools that aren't in the manifest; None if the manifest is not the registered one."""
    if manifest is None or sha256(manifest).hex() != action.registered["tool_manifest_hash"]:
        return None
    tools = (parse_canonical(manifest) or {}).get("tools")
    if not is_list(tools) or not all(isinstance(tool, str) for tool in tools):
        return None
    return [tool for tool in cast("list[Json]", action.request["tools_used"]) if tool not in tools]


def manifest_of(receipt: Receipt) -> bytes | None:
    return receipt.tool_manifest if isinstance(receipt.tool_manifest, bytes) else None


def uses_tools(action: Action | None) -> bool:
    return (
        action is not None
        and is_list(action.request.get("tools_used"))
        and action.registered["tool_manifest_hash"] is not None
    )


def _check_tools(subject: Subject) -> Check:
    action = subject.action
    if action is None or not uses_tools(action):
        return _compare(subject, "tools_authorized", None)
    if subject.receipt.tool_manifest == "absent":
        return miss("tool_manifest_absent")
    return _compare(subject, "tools_authorized", list_unregistered_tools(action, manifest_of(subject.receipt)) == [])


def _check_human_authorization(subject: Subject) -> Check:
    action, given = subject.action, subject.receipt.human_authorization
    if action is None:
        return subject.without_payload() if subject.payload is None else fail("statement_malformed")
    if not _is_as_asked(action):
        return fail("field_contradicted", field="human_approval", source="the request")
    if action.approval["method"] in ("none", "hash"):
        if is_object(given):
            return fail("authorization_unexpected")
        return skip("approval_asserted_only" if action.approval["method"] == "hash" else "approval_not_recorded")
    if given == "absent":
        return miss("authorization_absent")
    if not is_object(given):
        return fail("authorization_missing")
    misfit = _find_approval_misfit(subject, action, given)
    if misfit is not None:
        return misfit
    subject.authorization = check_authorization(given, subject.trust)
    if subject.authorization is None:
        return fail("authorization_malformed")
    failed = next((check for check in subject.authorization.checks if check.status == "fail"), None)
    if failed is not None:
        return Check("", "fail", failed.reason, f"{failed.name}: {failed.detail}")
    reasons = [check.reason for check in subject.authorization.checks]
    unchecked = next((one for one in ("pairing_not_checked", "post_quantum_not_checked") if one in reasons), None)
    return passed(subject.authorization.grade_text) if unchecked is None else miss(unchecked)


def _is_as_asked(action: Action) -> bool:
    """Checks that the payload records the approval that the request states: the agent may have signed it."""
    request, method = action.request, action.approval["method"]
    said = request.get("human_approved")
    if (method not in ("none", "hash")) != ("human_authorization_hash" in request):
        return False
    if method not in ("none", "hash"):
        return said is not False
    if method == "none":
        return said is not True
    return said is True and action.approval["approver_hash"] == request.get("human_approver_hash")


def _link_after_decision(place: JsonObject, entry: Json) -> str | None:
    """The object has no more of the decision than its leaf; None for what is none."""
    try:
        payload_hash = parse_leaf(base64_decode(require_string(entry))).payload_hash
    except ValueError:
        return None
    return _link_after(cast("int", place["sequence"]), Neighbour(bytes.fromhex(str(place["previous"])), payload_hash))


def _is_decided_before(log: Json, place: JsonObject, origin: str, own_index: int) -> bool:
    """The decision has an earlier place in the same record and, if it is in the same log, in that: whatever clocks said.

    What of the chain is here fits: the record begins with number 1, and the next number names the link after the decision.
    """
    decided = log.get("record") if is_object(log) else None
    if not is_object(log) or not is_object(decided) or not is_place(decided):
        return False
    number, sequence = cast("int", decided["sequence"]), cast("int", place["sequence"])
    if decided["agent_id"] != place["agent_id"] or number >= sequence:
        return False
    if number == 1 and decided["previous"] != empty_link(str(place["agent_id"])).hex():
        return False
    if number == sequence - 1 and place["previous"] != _link_after_decision(decided, log.get("entry")):
        return False
    index = log.get("index")
    return log.get("origin") != origin or (type(index) in (int, float) and cast("float", index) < own_index)


def _find_approval_misfit(subject: Subject, action: Action, given: JsonObject) -> Check | None:
    """Compares the payload's account of the authorization with the embedded object."""
    asked, binding, approvals = given.get("request"), given.get("binding"), given.get("approvals")
    decided_by = given.get("decided_by")
    if not is_object(asked) or not is_object(binding) or not is_object(decided_by) or not is_list(approvals):
        return fail("authorization_malformed")
    approval, request, stop = action.approval, action.request, action.predicate.get("approval_stopped")
    rows = [row for row in approvals if is_object(row)]
    given_hash = canonical_hash(given)
    proofs = [row for row in rows if row.get("type") == "world_id"]
    passkeys = [row for row in rows if row.get("type") == "passkey"]
    facts = {
        "hash": given_hash == approval["authorization_hash"] == request.get("human_authorization_hash"),
        "request hash": binding.get("request_hash") == approval["request_hash"],
        "who decided": _method_of(decided_by.get("kind"), rows) == approval["method"],
        "nullifiers": [row.get("nullifier_hash") for row in proofs] == approval["nullifier_hashes"],
        "approvers": [row.get("approver_id") for row in passkeys] == approval["approver_ids"],
        "environment": given.get("environment") == approval["environment"],
        "organization": asked.get("organization") == action.predicate["organization"],
        "agent": str(asked.get("agent_slug")).lower() == str(request["agent_slug"]).lower(),
        "agent's key": asked.get("agent_public_key") == action.registered["agent_public_key"],
        "action": asked.get("action") == request["action"],
        "inputs": "inputs_hash" not in asked or asked["inputs_hash"] == request["inputs_hash"],
        "standing approval": asked.get("grant") is None,
        "freeze": "agent_frozen_at" not in action.predicate,
        "stop": _fits_stop(stop, approval),
        "record": _is_decided_before(
            given.get("log"),
            cast("JsonObject", action.predicate["record"]),
            subject.log_key.name,
            subject.receipt.log.index,
        ),
        "binding to inputs": ("inputs_hash" in asked) is approval["inputs_bound"],
        "level": approval["level"] == _weakest_level(proofs),
    }
    misfit = next((name for name, fits in facts.items() if not fits), None)
    if misfit is not None:
        return fail("authorization_mismatch", field=misfit)
    until = given.get("usable_until")
    times = [str(action.predicate["timestamp"]), str(stop["claimed_at"]) if is_object(stop) else ""]
    is_over = isinstance(until, str) and max(times) > until
    return fail("approval_ended", until=until) if is_over else None


def _fits_stop(stop: object, approval: JsonObject) -> bool:
    """Only a use of a standing approval stops with that."""
    is_by_rule = is_object(stop) and str(stop["reason"]).startswith("rule_")
    return not is_object(stop) or is_by_rule or approval["method"] == "standing_approval"


def _method_of(kind: object, rows: list[JsonObject]) -> str:
    """Never personhood for what no person was asked about."""
    if kind in ("grant", "rule"):
        return "standing_approval" if kind == "grant" else "rule"
    types = {str(row.get("type")) for row in rows}
    if "passkey" not in types:
        return "proof_of_personhood"
    return "enrolled_proof_of_personhood" if "world_id" in types else "enrolled_approver"


def _weakest_level(proofs: list[JsonObject]) -> str:
    if not proofs:
        return "none"
    return "orb" if all(row.get("level") in ("orb", "proof_of_human") for row in proofs) else "device"


def _check_zk_proof(subject: Subject) -> Check:
    given, action = subject.receipt.zk_proof, subject.action
    is_named = action is not None and "zk" in action.predicate
    if is_object(given):
        return fail("zk_proof_unexpected") if action is not None and not is_named else miss("pairing_not_checked")
    if given == "absent" and is_named:
        return miss("zk_proof_absent")
    if subject.receipt.payload == "erased":
        return subject.without_payload()
    if is_named:
        return fail("zk_proof_missing")
    return skip("zk_proof_not_shown" if subject.payload is None else "zk_not_enabled")


def _link_after(sequence: int, neighbour: Neighbour) -> str:
    return next_link(neighbour.previous, sequence, neighbour.payload_hash).hex()


def _check_record(subject: Subject) -> Check:
    receipt, action, neighbours = subject.receipt, subject.action, subject.receipt.neighbours
    shown = receipt.place
    signed = action and action.predicate.get("record")
    if action is not None and is_object(shown) and signed != shown:
        return fail("record_mismatch")
    place = signed or shown
    if not is_object(place):
        return subject.without_payload()
    if neighbours is None:
        return subject.without_payload() if action is None else skip("record_not_shown")
    sequence, previous = cast("int", place["sequence"]), str(place["previous"])
    if not _follows_before(str(place["agent_id"]), sequence, previous, neighbours.before):
        return fail("record_broken", number=sequence - 1)
    link = _link_after(sequence, Neighbour(bytes.fromhex(previous), receipt.payload_hash))
    if not _leads_to_head(sequence, link, neighbours):
        return fail("record_broken", number=sequence + 1)
    if action is None:
        return subject.without_payload()
    # Later ones, if any, are known by the service's word alone.
    return passed(f"number {sequence} in the agent's record")


def _follows_before(agent_id: str, sequence: int, previous: str, before: Neighbour | None) -> bool:
    if sequence == 1:
        return before is None and previous == empty_link(agent_id).hex()
    return before is not None and previous == _link_after(sequence - 1, before)


def _leads_to_head(sequence: int, link: str, neighbours: Neighbours) -> bool:
    """True if the head is this entry, or follows from it through the next entry."""
    after, head = neighbours.after, neighbours.head_sequence
    if after is None:
        return head == sequence and neighbours.head_link.hex() == link
    if after.previous.hex() != link or head <= sequence:
        return False
    return head > sequence + 1 or neighbours.head_link.hex() == _link_after(sequence + 1, after)
