"""The checks of a ``human_authorization``: what the service signed, whom it counts, and its entry in the log.

All but the pairing of World ID's proofs (``proofs``), which verify.mjs checks.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import cast

from Crypto.Hash import keccak

from .._iso_time import parse_time, to_iso
from .._json import Json, JsonObject, canonical_bytes, canonical_hash, is_list, is_object
from ._amendment import are_questions, check_amendment, is_shown_before
from ._approvers import check_passkeys, check_quorum, check_roster
from ._authorization_shape import has_types, is_authorization
from ._bytes import base64_decode, sha256, word_hex
from ._dsse import Envelope, dsse_key_id, key_id_of, leaf_of, parse_leaf, require_string
from ._ed25519 import verify_strict
from ._logged import check_log_entry
from ._opening import is_shown_content
from ._origin import is_loopback, parse_relying_party
from ._outcome import Check, fail, miss, passed, skip
from ._receipt import read_log_evidence
from ._statement import DECISION, is_place, statement_of
from ._trust import Trust

GRADES = {
    "invalid": "Not proven: a check failed",
    "test": "TEST: nothing about a real person is proven",
    "pairing_not_checked": "Proof of personhood, whose zero-knowledge proof was not checked here",
    "enrolled_approver": "Enrolled approvers, by passkey",
    "standing_approval": "Covered by a standing approval; no human was asked",
    "rule": "Allowed by a rule; no human was asked",
}


@dataclass(frozen=True)
class AuthorizationReport:
    grade: str
    checks: list[Check]

    @property
    def grade_text(self) -> str:
        return GRADES[self.grade]


def check_authorization(
    given: JsonObject, trust: Trust, shown: JsonObject | None = None
) -> AuthorizationReport | None:
    """None for anything else. ``shown``: what the approval page showed, if the file says it."""
    if not is_authorization(given):
        return None
    request = cast("JsonObject", given["request"])
    approvals = cast("list[JsonObject]", given["approvals"])
    binding = cast("JsonObject", given["binding"])
    proofs = [one for one in approvals if one["type"] == "world_id"]
    passkeys = [one for one in approvals if one["type"] == "passkey"]
    bound = _bind(request)
    checks = {
        "service_signature": _check_signature(given, trust),
        "request_hash": _check_binding(binding, bound, "request_hash"),
        "world_action": _check_binding(binding, bound, "world_action"),
        "signal": _check_binding(binding, bound, "signal", "signal_hash"),
        "shown_content": _check_shown(given, request, shown),
        "amendment": check_amendment(given),
        "decided_by": _check_decided_by(request, cast("JsonObject", given["decided_by"]), approvals),
        "approval_count": _check_count(given, request, proofs, passkeys),
        "quorum": check_quorum(request, _kind_of(given), passkeys),
        "passkeys": check_passkeys(request, str(bound["request_hash"]), passkeys),
        "roster": check_roster(request, passkeys),
        "distinct_humans": _check_distinct(proofs, passkeys),
        "environment": _check_environment(given, request, proofs, passkeys),
        "level": _check_level(given, request, proofs),
        "times": _check_times(given, request, approvals),
        "usable": _check_usable(given, request),
        "proofs": skip("pairing_not_checked" if proofs else "no_world_id"),
        "anchors": _check_anchors(proofs),
        "logged_decision": _check_logged_decision(given, trust),
    }
    named = [check.named(name) for name, check in checks.items()]
    is_failed = any(check.status == "fail" for check in named)
    return AuthorizationReport(
        "invalid" if is_failed else _grade_of(given), [*named, *_check_decision_log(given, trust)]
    )


def _grade_of(given: JsonObject) -> str:
    if given["environment"] != "production":
        return "test"
    kind = _kind_of(given)
    if kind != "people":
        return "standing_approval" if kind == "grant" else "rule"
    has_proof = any(one["type"] == "world_id" for one in cast("list[JsonObject]", given["approvals"]))
    return "pairing_not_checked" if has_proof else "enrolled_approver"


def _kind_of(given: JsonObject) -> Json:
    return cast("JsonObject", given["decided_by"])["kind"]


def _hash_to_field(data: bytes) -> int:
    """Keccak-256 without its last byte, so that it is below the field's order: the signal of World ID's proofs."""
    return int.from_bytes(keccak.new(data=data, digest_bits=256).digest(), "big") >> 8


def _bind(request: JsonObject) -> JsonObject:
    """request → request_hash → world_action and signal, so that a proof covers exactly what the human saw."""
    digest = sha256(canonical_bytes(request))
    return {
        "request_hash": digest.hex(),
        "world_action": f"authz-{base64.b32encode(digest).decode().lower()[:26]}",
        "signal": f"0x{digest.hex()}",
        "signal_hash": word_hex(_hash_to_field(digest)),
    }


def _check_binding(binding: JsonObject, expected: JsonObject, *fields: str) -> Check:
    follows = all(binding[name] == expected[name] for name in fields)
    return passed("follows from the request") if follows else fail("binding_mismatch")


def _without(given: JsonObject, *names: str) -> JsonObject:
    return {name: value for name, value in given.items() if name not in names}


def _check_signature(given: JsonObject, trust: Trust) -> Check:
    key = trust.find(str(given["key_id"]))
    if key is None:
        return fail("key_unknown", key=given["key_id"])
    if key_id_of(key.public_key) != given["key_id"]:
        return fail("key_id_mismatch")
    try:
        signature = base64_decode(str(given["signature"]))
    except ValueError:
        return fail("signature_invalid")
    signed = canonical_bytes(_without(given, "signature", "log"))
    is_signed = verify_strict(signature, signed, key.public_key)
    return passed("the service's signature over the whole object") if is_signed else fail("signature_invalid")


def _check_shown(given: JsonObject, request: JsonObject, shown: JsonObject | None) -> Check:
    """The object holds only a salted hash of what was on the page beside the action."""
    if shown is None:
        return skip("shown_content_absent")
    groups = shown.get("required_approvers", [])
    group_names = [one.get("name") if is_object(one) else None for one in groups] if is_list(groups) else groups
    names: JsonObject = {name: shown.get(name) for name in ("agent_name", "organization_name")}
    names["group_names"] = group_names
    content: JsonObject = {name: shown.get(name) for name in ("context", "context_salt", "requested_by")}
    content |= names
    original = given.get("original_request")
    is_fit = has_types(request, shown.get("context")) and is_shown_content(request, content)
    is_before = not is_object(original) or is_shown_before(request, original, content, shown.get("before"))
    is_asked = are_questions(given, shown.get("context_salt"), shown.get("questions"))
    if not (is_fit and is_before and is_asked):
        return fail("shown_content_mismatch")
    return passed("the details, the names and who asks are those that the approval covers")


def _check_decided_by(request: JsonObject, decided_by: JsonObject, approvals: list[JsonObject]) -> Check:
    """Terms of a standing approval and texts of rules are in other documents, and not checked here."""
    kind = decided_by["kind"]
    if kind == "people":
        return passed("people decided")
    if approvals:
        return fail("approvals_unexpected", kind=kind)
    if request["grant"] is not None:
        return fail("grant_needs_people")
    if kind == "rule":
        return skip("rules_absent")
    return _find_excess(request, decided_by) or skip("grant_absent")


def _units(value: Json) -> int:
    """Converts a canonical amount to whole units of 10⁻⁴."""
    whole, _, fraction = str(value or "0").partition(".")
    return int(whole) * 10_000 + int(fraction.ljust(4, "0"))


def _find_excess(request: JsonObject, use: JsonObject) -> Check | None:
    """The numbers of a use have to fit each other, whatever the terms are."""
    number, of = cast("int", use["use"]), cast("int", use["of"])
    spent, budget, currency = use["spent"], use["budget"], use["currency"]
    if number > of:
        return fail("grant_exceeded", what=f"use {number} of {of}")
    if (currency is None) is not (spent is None) or (currency is None and budget is not None):
        return fail("grant_amounts_mismatch")
    if budget is not None and _units(spent) > _units(budget):
        return fail("grant_exceeded", what=f"{spent} of {budget} {currency}")
    amount = request.get("amount")
    if not is_object(amount):
        return None
    is_counted = amount["currency"] == currency and _units(amount["value"]) <= _units(spent)
    return None if is_counted else fail("grant_amounts_mismatch")


def _check_count(
    given: JsonObject, request: JsonObject, proofs: list[JsonObject], passkeys: list[JsonObject]
) -> Check:
    """With required approvers each of them has a passkey, and a World ID proof beside it if a level is required."""
    if _kind_of(given) != "people":
        return skip("nobody_asked")
    required, groups = request["approvals_required"], cast("list[JsonObject]", request["required_approvers"])
    if not groups and passkeys:
        return fail("passkey_unexpected")
    count = len(passkeys if groups else proofs)
    is_sum = not groups or sum(cast("int", one["count"]) for one in groups) == required
    if count != required or not is_sum:
        return fail("approval_count_mismatch", given=count, required=required)
    is_paired = not groups or len(proofs) == (0 if request["required_level"] == "none" else required)
    return passed(f"{count} of {required} approvals") if is_paired else fail("nullifier_unpaired")


def _check_distinct(proofs: list[JsonObject], passkeys: list[JsonObject]) -> Check:
    """v3 and v4 nullifiers of one human cannot be linked, so one version for all."""
    nullifiers = [str(one["nullifier_hash"]) for one in proofs]
    paired = [str(one["nullifier_hash"]) for one in passkeys if "nullifier_hash" in one]
    if passkeys and sorted(paired) != sorted(nullifiers):
        return fail("nullifier_unpaired")
    if not proofs:
        return skip("no_world_id")
    if len({str(one["protocol_version"]) for one in proofs}) != 1:
        return fail("versions_mixed")
    is_distinct = len(set(nullifiers)) == len(proofs)
    return passed("each approval is another human's") if is_distinct else fail("human_repeated")


def _check_environment(
    given: JsonObject, request: JsonObject, proofs: list[JsonObject], passkeys: list[JsonObject]
) -> Check:
    """A passkey, a rule or a standing approval proves the same on a loopback address, but counts as a TEST there."""
    places = {tuple(str(one[name]) for name in ("environment", "app_id", "rp_id")) for one in proofs}
    if len(places) > 1:
        return fail("environments_mixed")
    found = proofs[0]["environment"] if proofs else "production"
    if found == "production" and (passkeys or not proofs):
        party = parse_relying_party(str(request["origin"]))
        found = "local" if party is None or is_loopback(party.rp_id) else "production"
    stated = given["environment"]
    fits = stated == found or (_kind_of(given) == "grant" and stated != "production")
    return passed(str(stated)) if fits else fail("environment_mismatch")


def _check_usable(given: JsonObject, request: JsonObject) -> Check:
    asked = cast("int | None", request.get("usable_for_seconds"))
    seconds = asked if _kind_of(given) == "people" else min(asked or 3600, 3600)
    until = None if seconds is None else to_iso(parse_time(str(given["approved_at"])) + seconds * 1000)
    if given["usable_until"] != until:
        return fail("usable_until_mismatch")
    return passed("without an end" if until is None else f"until {until}")


_SUFFICIENT = {"device": ("device", "orb", "proof_of_human"), "orb": ("orb", "proof_of_human")}


def _check_level(given: JsonObject, request: JsonObject, proofs: list[JsonObject]) -> Check:
    required = str(request["required_level"])
    if required == "none":
        return skip("level_not_required") if request["required_approvers"] else fail("level_too_low", required="device")
    if _kind_of(given) != "people":
        return skip("nobody_asked")
    if not proofs or any(one["level"] not in _SUFFICIENT[required] for one in proofs):
        return fail("level_too_low", required=required)
    return passed(f"at least {required}")


_CLOCK_SKEW_SECONDS = 300


def _check_times(given: JsonObject, request: JsonObject, approvals: list[JsonObject]) -> Check:
    start, until = parse_time(str(request["created_at"])), parse_time(str(request["expires_at"]))
    approved = parse_time(str(given["approved_at"]))
    for one in approvals:
        expires = one.get("expires_at_min")
        if isinstance(expires, int) and expires < start // 1000 - _CLOCK_SKEW_SECONDS:
            return fail("credential_expired")
    verified = [parse_time(str(one["verified_at"])) for one in approvals]
    in_time = start < until and start <= approved <= until and all(start <= at <= approved for at in verified)
    return passed("approved while the request was open") if in_time else fail("not_in_time")


def _check_anchors(proofs: list[JsonObject]) -> Check:
    if not proofs:
        return skip("no_world_id")
    anchored = [one for one in proofs if is_object(one.get("anchor"))]
    if any(cast("JsonObject", one["anchor"])["root"] != one["merkle_root"] for one in anchored):
        return fail("anchor_mismatch")
    if len(anchored) < len(proofs):
        return skip("anchor_absent")
    return passed("every root has a recorded place on chain, which anyone with a node can ask")


def _check_logged_decision(given: JsonObject, trust: Trust) -> Check:
    log = given.get("log")
    if not is_object(log):
        return skip("entry_absent")
    key = trust.find(str(given["key_id"]))
    if key is None:
        return fail("key_unknown", key=given["key_id"])
    if not _is_entry_of(given, log, key.public_key):
        return fail("entry_decision_mismatch")
    return passed("the log entry is that of this very approval")


def _is_entry_of(given: JsonObject, log: JsonObject, public_key: bytes) -> bool:
    """Checks that ``log.entry`` is the leaf of this very approval, whose statement follows from the object."""
    binding = cast("JsonObject", given["binding"])
    predicate: JsonObject = {
        "decision": "approved",
        "decided_at": given["approved_at"],
        "key_id": given["key_id"],
        "authorization_hash": canonical_hash(_without(given, "log")),
        "record": log.get("record"),
    }
    if "questions_hash" in given:
        predicate["questions_hash"] = given["questions_hash"]
    if not is_place(log.get("record")):
        return False
    statement = statement_of(DECISION, "authorization-request", str(binding["request_hash"]), predicate)
    try:
        entry = base64_decode(require_string(log.get("entry")))
        signature = parse_leaf(entry).signature
    except ValueError:
        return False
    envelope = Envelope(canonical_bytes(statement), signature, dsse_key_id(public_key))
    return leaf_of(envelope, public_key) == entry and envelope.is_signed_by(public_key)


def _check_decision_log(given: JsonObject, trust: Trust) -> list[Check]:
    """The log entry is outside the service's signature, so every field of it is checked."""
    log = given.get("log")
    if not is_object(log):
        # A retired or revoked key no longer signs. Only a log entry could show when it did.
        is_open = any(key.key_id == given["key_id"] and key.valid_to is None for key in trust.keys)
        check = miss("entry_absent") if is_open else fail("key_retired_without_entry")
        return [check.named("decision_log")]
    evidence = read_log_evidence(log)
    checks, _, checkpoint = check_log_entry(evidence.index, evidence.entry, evidence.inclusion_proof, evidence.checkpoint, trust)
    fits = checkpoint is not None and (checkpoint.size, checkpoint.origin) == (evidence.tree_size, log.get("origin"))
    check = passed("origin and size are those of the checkpoint") if fits else fail("checkpoint_mismatch")
    return [*checks, check.named("decision_log")]
