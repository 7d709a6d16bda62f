"""The checks of a ``human_authorization``: what the service signed, whom it counts, and its entry in the log.

All but the pairing of World ID's proofs (``proofs``), which verify.mjs checks.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from Crypto.Hash import keccak

from .._json import Json, JsonObject, canonical_bytes, canonical_hash, is_list, is_object
from ._bytes import base64_decode, parse_field_element, parse_word, sha256, word_hex
from ._dsse import Envelope, dsse_key_id, key_id_of, leaf_of, parse_leaf
from ._ed25519 import verify_strict
from ._logged import check_log_entry
from ._outcome import Check, fail, passed, skip
from ._reading import is_count
from ._receipt import read_log_evidence
from ._statement import DECISION, is_place, statement_of
from ._time import parse_time, to_iso
from ._trust import Trust

GRADES = {
    "invalid": "Not proven: a check failed",
    "test": "TEST: nothing about a real person is proven",
    "pairing_not_checked": "Proof of personhood, whose zero-knowledge proof was not checked here",
    "standing_approval": "Covered by a standing approval; no human was asked",
    "rule": "Allowed by a rule; no human was asked",
}

Rule = Callable[[Any], bool]


@dataclass(frozen=True)
class AuthorizationReport:
    grade: str
    checks: list[Check]

    @property
    def grade_text(self) -> str:
        return GRADES[self.grade]


def _matches(pattern: str) -> Rule:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _text(longest: int) -> Rule:
    return lambda value: isinstance(value, str) and 1 <= len(value.encode("utf-16-le", "replace")) // 2 <= longest


def _one_of(*values: object) -> Rule:
    return lambda value: any(type(one) is type(value) and one == value for one in values)


def _list_of(rule: Rule, least: int, most: int) -> Rule:
    return lambda value: is_list(value) and least <= len(value) <= most and all(map(rule, value))


def _fields(required: dict[str, Rule], optional: dict[str, Rule] | None = None) -> Rule:
    """Exactly these fields; the optional ones may be left out."""
    rules = {**required, **(optional or {})}

    def holds(value: Json) -> bool:
        if not is_object(value) or not set(required) <= set(value) <= set(rules):
            return False
        return all(rules[name](member) for name, member in value.items())

    return holds


def _canonical(parse: Callable[[str], int | None]) -> Rule:
    def holds(value: Json) -> bool:
        parsed = parse(value) if isinstance(value, str) else None
        return parsed is not None and word_hex(parsed) == value

    return holds


def _is_time(value: Json) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value):
        return False
    time = parse_time(value)
    return not math.isnan(time) and to_iso(time) == value


def _or_none(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


_word, _element = _canonical(parse_word), _canonical(parse_field_element)
_sha256_hex = _matches(r"[0-9a-f]{64}")
_uuid = _matches(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_amount_value = _matches(r"(0|[1-9][0-9]{0,13})(\.[0-9]{0,3}[1-9])?")
_currency = _matches(r"[A-Z]{3}")


def _whole(least: int, most: int) -> Rule:
    return lambda value: is_count(value) and least <= value <= most


def _is_details(value: Json) -> bool:
    """Names of 1 to 64 characters with values of up to 1,024."""
    if not is_object(value) or len(value) > 32:
        return False
    return all(_text(256)(name) and (detail == "" or _text(4096)(detail)) for name, detail in value.items())


_terms = _fields(
    {"max_calls": _whole(1, 10_000), "expires_at": _is_time},
    {
        "tools": _list_of(_text(256), 1, 20),
        "actions": _list_of(_text(2000), 1, 20),
        "max_amount": _amount_value,
        "max_budget": _amount_value,
        "currency": _currency,
        "context": _is_details,
    },
)


def _is_grant(value: Json) -> bool:
    """Terms cover something by name, and say the currency exactly if they say an amount."""
    if not _terms(value):
        return False
    names = set(cast("JsonObject", value))
    return bool(names & {"tools", "actions"}) and bool(names & {"max_amount", "max_budget"}) == ("currency" in names)


def _is_required_approvers(value: Json) -> bool:
    if not _list_of(_fields({"group": _uuid, "count": _whole(1, 10)}), 0, 5)(value):
        return False
    rows = cast("list[JsonObject]", value)
    return len({str(row["group"]) for row in rows}) == len(rows)


_request = _fields(
    {
        "request_id": _text(128),
        "origin": _text(2048),
        "organization": _text(128),
        "agent_slug": _text(64),
        "agent_public_key": lambda value: value is None or _text(64)(value),
        "action": _text(1000),
        "context_hash": _sha256_hex,
        "required_level": _one_of("none", "device", "orb"),
        "approvals_required": _whole(1, 10),
        "required_approvers": _is_required_approvers,
        "requester_may_approve": _one_of(True, False),
        "grant": _or_none(_is_grant),
        "created_at": _is_time,
        "expires_at": _is_time,
        "salt": _text(64),
    },
    {
        "inputs_hash": _text(128),
        "tool": _text(256),
        "amount": _fields({"value": _amount_value, "currency": _currency}),
        "usable_for_seconds": _whole(60, 2_592_000),
        "requester_id": _uuid,
    },
)
_binding = _fields(
    {
        "request_hash": _sha256_hex,
        "world_action": _matches(r"authz-[a-z2-7]{26}"),
        "signal": _matches(r"0x[0-9a-f]{64}"),
        "signal_hash": _element,
    }
)
_point = _list_of(_element, 2, 2)
_anchor = _fields(
    {
        "chain_id": is_count,
        "block_number": is_count,
        "block_hash": _word,
        "registry": _matches(r"0x[0-9a-f]{40}"),
        "root": _element,
    },
    {"issuer_public_key": _point, "oprf_public_key": _point},
)
_decided_by_kinds: tuple[Rule, ...] = (
    _fields({"kind": _one_of("people")}),
    _fields(
        {
            "kind": _one_of("grant"),
            "request_hash": _sha256_hex,
            "authorization_hash": _sha256_hex,
            "use": _whole(1, 10_000),
            "of": _whole(1, 10_000),
            "spent": _or_none(_amount_value),
            "budget": _or_none(_amount_value),
            "currency": _or_none(_currency),
        }
    ),
    _fields(
        {
            "kind": _one_of("rule"),
            "ruleset_hash": _sha256_hex,
            "policy_ids": _list_of(_text(256), 1, 100),
            "context_hash": _sha256_hex,
        }
    ),
)
_environment = _one_of("production", "staging", "local")
_common: dict[str, Rule] = {
    "type": _one_of("world_id"),
    "environment": _environment,
    "app_id": _text(128),
    "rp_id": _text(128),
    "nonce": _element,
    "nullifier_hash": _element,
    "merkle_root": _element,
    "verified_at": _is_time,
    "verified_by": _list_of(_one_of("groth16-local", "world-portal-v4", "world-chain"), 1, 3),
}
# Of one approval, by its kind. Passkeys of enrolled approvers will be a kind of their own here.
_approval_kinds: tuple[Rule, ...] = (
    _fields(
        {
            "protocol_version": _one_of("3.0"),
            "level": _one_of("device", "orb"),
            "proof": _matches(r"0x[0-9a-f]{512}"),
            **_common,
        },
        {"anchor": _anchor},
    ),
    _fields(
        {
            "protocol_version": _one_of("4.0"),
            "level": _one_of("proof_of_human"),
            "proof": _list_of(_word, 5, 5),
            "issuer_schema_id": is_count,
            "expires_at_min": is_count,
            **_common,
        },
        {"anchor": _anchor},
    ),
)
_authorization = _fields(
    {
        "type": _one_of("human_authorization"),
        "version": _one_of(1),
        "request": _request,
        "binding": _binding,
        "decided_by": lambda value: any(kind(value) for kind in _decided_by_kinds),
        "approvals": _list_of(lambda value: any(kind(value) for kind in _approval_kinds), 0, 20),
        "environment": _environment,
        "approved_at": _is_time,
        "usable_until": _or_none(_is_time),
        "key_id": _matches(r"[0-9a-f]{16}"),
        "signature": lambda value: isinstance(value, str) and len(value) == 88,
    },
    {"log": is_object},
)


def check_authorization(
    given: JsonObject, trust: Trust, shown: JsonObject | None = None
) -> AuthorizationReport | None:
    """None for anything else. ``shown``: what the approval page showed, if the file says it."""
    if not _authorization(given):
        return None
    request = cast("JsonObject", given["request"])
    approvals = cast("list[JsonObject]", given["approvals"])
    binding = cast("JsonObject", given["binding"])
    bound = _bind(request)
    checks = {
        "service_signature": _check_signature(given, trust),
        "request_hash": _check_binding(binding, bound, "request_hash"),
        "world_action": _check_binding(binding, bound, "world_action"),
        "signal": _check_binding(binding, bound, "signal", "signal_hash"),
        "shown_content": _check_shown(given, request, shown),
        "decided_by": _check_decided_by(request, cast("JsonObject", given["decided_by"]), approvals),
        "approval_count": _check_count(given, request, approvals),
        "quorum": skip("no_group_required"),
        "passkeys": skip("no_passkey"),
        "roster": skip("no_passkey"),
        "distinct_humans": _check_distinct(approvals),
        "environment": _check_environment(given, request, approvals),
        "level": _check_level(given, request, approvals),
        "times": _check_times(given, request, approvals),
        "usable": _check_usable(given, request),
        "proofs": skip("pairing_not_checked" if approvals else "no_world_id"),
        "anchors": _check_anchors(approvals),
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
    return "standing_approval" if kind == "grant" else "rule" if kind == "rule" else "pairing_not_checked"


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
    names: JsonObject = {name: shown.get(name) for name in ("agent_name", "organization_name", "group_names")}
    covered: list[Json] = [shown.get("context_salt"), shown.get("context"), names, shown.get("requested_by")]
    if canonical_hash(covered) != request["context_hash"]:
        return fail("shown_content_mismatch")
    return passed("the details, the names and who asks are those that the approval covers")


def _check_decided_by(request: JsonObject, decided_by: JsonObject, approvals: list[JsonObject]) -> Check:
    """What a standing approval or a rule allows is in documents of their own."""
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
    """Of a canonical amount, in whole units of 10⁻⁴."""
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


def _check_count(given: JsonObject, request: JsonObject, approvals: list[JsonObject]) -> Check:
    if _kind_of(given) != "people":
        return skip("nobody_asked")
    # Of required groups only passkeys count, and an object that holds one is malformed here.
    count, required = 0 if request["required_approvers"] else len(approvals), request["approvals_required"]
    if count != required:
        return fail("approval_count_mismatch", given=count, required=required)
    return passed(f"{count} of {required} approvals")


def _check_distinct(approvals: list[JsonObject]) -> Check:
    """v3 and v4 nullifiers of one human cannot be linked, so one version for all."""
    if not approvals:
        return skip("no_world_id")
    if len({str(one["protocol_version"]) for one in approvals}) != 1:
        return fail("versions_mixed")
    is_distinct = len({str(one["nullifier_hash"]) for one in approvals}) == len(approvals)
    return passed("each approval is another human's") if is_distinct else fail("human_repeated")


def _check_environment(given: JsonObject, request: JsonObject, approvals: list[JsonObject]) -> Check:
    """A rule or a standing approval on a loopback address counts as a TEST."""
    places = {tuple(str(one[name]) for name in ("environment", "app_id", "rp_id")) for one in approvals}
    if len(places) > 1:
        return fail("environments_mixed")
    stated = given["environment"]
    found = approvals[0]["environment"] if approvals else _place_of(str(request["origin"]))
    fits = stated == found or (_kind_of(given) == "grant" and stated != "production")
    return passed(str(stated)) if fits else fail("environment_mismatch")


def _place_of(origin: str) -> str:
    try:
        host = urlsplit(origin).hostname or ""
    except ValueError:
        host = ""
    is_loopback = re.fullmatch(r"localhost|.+\.localhost|127(\.[0-9]{1,3}){3}|::1", host) is not None
    return "local" if is_loopback or host == "" else "production"


def _check_usable(given: JsonObject, request: JsonObject) -> Check:
    asked = cast("int | None", request.get("usable_for_seconds"))
    seconds = asked if _kind_of(given) == "people" else min(asked or 3600, 3600)
    until = None if seconds is None else to_iso(parse_time(str(given["approved_at"])) + seconds * 1000)
    if given["usable_until"] != until:
        return fail("usable_until_mismatch")
    return passed("without an end" if until is None else f"until {until}")


def _check_level(given: JsonObject, request: JsonObject, approvals: list[JsonObject]) -> Check:
    required = request["required_level"]
    if required == "none":
        return skip("level_not_required") if request["required_approvers"] else fail("level_too_low", required="device")
    if _kind_of(given) != "people":
        return skip("nobody_asked")
    has_device = any(one["level"] == "device" for one in approvals)
    if required != "device" and has_device:
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


def _check_anchors(approvals: list[JsonObject]) -> Check:
    if not approvals:
        return skip("no_world_id")
    anchored = [one for one in approvals if is_object(one.get("anchor"))]
    if any(cast("JsonObject", one["anchor"])["root"] != one["merkle_root"] for one in anchored):
        return fail("anchor_mismatch")
    if len(anchored) < len(approvals):
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
    """Whether ``log.entry`` is the leaf of this very approval, whose statement follows from the object."""
    binding = cast("JsonObject", given["binding"])
    predicate: JsonObject = {
        "decision": "approved",
        "decided_at": given["approved_at"],
        "key_id": given["key_id"],
        "authorization_hash": canonical_hash(_without(given, "log")),
        "record": log.get("record"),
    }
    if not is_place(log.get("record")):
        return False
    statement = statement_of(DECISION, "authorization-request", str(binding["request_hash"]), predicate)
    try:
        entry = base64_decode(str(log.get("entry")))
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
        check = skip("entry_absent") if is_open else fail("key_retired_without_entry")
        return [check.named("decision_log")]
    evidence = read_log_evidence(log)
    checks, _, checkpoint = check_log_entry(evidence.index, evidence.entry, evidence.inclusion_proof, evidence.checkpoint, trust)
    fits = checkpoint is not None and (checkpoint.size, checkpoint.origin) == (evidence.tree_size, log.get("origin"))
    check = passed("origin and size are those of the checkpoint") if fits else fail("checkpoint_mismatch")
    return [*checks, check.named("decision_log")]
