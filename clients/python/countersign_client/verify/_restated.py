"""The answers of the service repeat fields of the signed payload for convenience.

A reader believes what it reads there, so each must say what the payload says; if the payload is not shown, nothing that
only it could show may be claimed.
"""

from __future__ import annotations

from base64 import b32encode

from .._json import Json, JsonObject, equal, is_list, is_object
from ._attestation import Subject
from ._bytes import sha256
from ._dsse import encode_pem
from ._note import origin_of
from ._outcome import Check, fail, passed
from ._time import Bound

_CONTENT = (
    "action",
    "inputs_hash",
    "metadata",
    "code_hash",
    "model_id",
    "tools_used",
    "client",
    "human_approval",
    "human_authorization",
    "tool_manifest",
)
"""Fields that a private attestation hides and an erased one has lost."""
_CLAIMS = (
    "timestamp",
    "agent_authenticated",
    "code_hash_verified",
    "tools_authorized",
    "client_gap",
    "human_approved",
)
"""Shown of a private attestation, not of an erased one."""


def check_restated(given: JsonObject, subject: Subject, asked: str | None) -> tuple[Check, list[str]]:
    """The check, and the fields that the answer shows and nothing in it proves."""
    if asked is not None and subject.receipt.attestation_id != asked:
        return fail("attestation_mismatch"), []
    wrong = _find_wrong_surroundings(given, subject)
    if wrong is not None:
        return wrong, []
    if subject.action is None:
        return _check_without_payload(given, subject)
    misfit = _find_misfit(given, _restate(subject)) or _find_foreign_manifest(subject)
    if misfit is not None:
        return fail("field_mismatch", field=misfit), []
    return passed("the fields beside the payload say what the payload says"), []


def _restate(subject: Subject) -> JsonObject:
    """The fields of an answer that follow from the payload."""
    action = subject.action
    assert action is not None
    predicate, request = action.predicate, action.request
    asked = ("agent_slug", "action", "inputs_hash", "metadata", "code_hash", "model_id", "tools_used", "client")
    signed = ("attestation_id", "timestamp", "key_id", "is_public", "human_approval")
    return {
        **{name: request.get(name) for name in asked},
        **{name: predicate[name] for name in signed},
        **action.verdicts,
        "client_gap": action.verdicts.get("client_gap"),
        "human_approved": action.approval["method"] not in ("none", "standing_approval", "rule"),
        "has_zk_proof": "zk" in predicate,
        "record": predicate.get("record"),
    }


_ASKED = (
    "request_id",
    "agent_slug",
    "action",
    "tool",
    "amount",
    "grant",
    "inputs_hash",
    "required_level",
    "created_at",
    "expires_at",
    "amendable",
)
_DECIDED = ("decided_by", "environment", "usable_until")


_SHOWN = ("context", "context_salt", "agent_name", "organization_name", "requested_by", "before", "questions")
"""Checked together against the request's context_hash."""
_OWN_WORDS = ("human_authorization", "guidance", "denial_reason_note", "opening")
"""The object itself, and words of the service about the fields beside them."""


def check_restated_request(answer: JsonObject, given: JsonObject) -> tuple[Check, list[str]]:
    """Compares fields of GET /v1/authorize/{id} with the object in it; returns those that nothing there proves."""
    request, binding, approvals = given["request"], given["binding"], given["approvals"]
    asked = request if is_object(request) else {}
    request_hash = binding.get("request_hash") if is_object(binding) else None
    required, count = asked.get("approvals_required"), _count_people(approvals if is_list(approvals) else [])
    expected: JsonObject = {name: asked.get(name) for name in _ASKED} | {name: given.get(name) for name in _DECIDED}
    expected |= {
        "status": "approved",
        "decided_at": given.get("approved_at"),
        "amends": _read_amends(asked, given.get("original_request")),
        "required_approvers": _list_groups(answer, asked),
        "approvals": {"required": required, "given": count},
        "confirmation_code": _confirmation_code(str(request_hash)),
    }
    misfit = _find_misfit(answer, expected)
    if misfit is not None:
        return fail("field_mismatch", field=misfit).named("restated_fields"), []
    is_shown = "context" in answer or "context_salt" in answer
    known = (*expected, *_OWN_WORDS, *(_SHOWN if is_shown else ()))
    unproven = [name for name, value in answer.items() if value is not None and name not in known]
    return passed("the fields beside the object say what the object says").named("restated_fields"), unproven


def _read_amends(request: JsonObject, original: Json) -> Json:
    amends = request.get("amends")
    if not is_object(amends) or not is_object(original):
        return None
    return {"request_id": original.get("request_id"), "fields": amends.get("fields"), "by": amends.get("by")}


def _list_groups(answer: JsonObject, request: JsonObject) -> list[Json]:
    """The group names are the answer's: they are among what context_hash covers."""
    signed, shown = request.get("required_approvers"), answer.get("required_approvers")
    named = shown if is_list(shown) else []
    groups: list[Json] = []
    for at, group in enumerate(signed if is_list(signed) else []):
        if is_object(group):
            other = named[at] if at < len(named) else None
            groups.append({**group, "name": other.get("name") if is_object(other) else None})
    return groups


def _count_people(approvals: list[Json]) -> int:
    """Each gives a passkey's answer if groups are required, with World ID or without."""
    passkeys = sum(1 for one in approvals if is_object(one) and one.get("type") == "passkey")
    return passkeys or len(approvals)


def _confirmation_code(request_hash: str) -> str:
    """The first 30 bits of a digest in base32."""
    code = b32encode(sha256(f"confirmation-code:{request_hash}".encode())).decode()[:6]
    return f"{code[:3]}-{code[3:]}"


def _find_misfit(given: JsonObject, expected: JsonObject) -> str | None:
    return next((name for name in expected if name in given and not equal(given[name], expected[name])), None)


def _find_foreign_manifest(subject: Subject) -> str | None:
    """A manifest must be the one that was registered, even where no tool was used."""
    manifest, action = subject.receipt.tool_manifest, subject.action
    if action is None or not isinstance(manifest, bytes):
        return None
    return None if sha256(manifest).hex() == action.registered["tool_manifest_hash"] else "tool_manifest"


def _contradicted(field: str, source: str) -> Check:
    return fail("field_contradicted", field=field, source=source)


def _find_wrong_surroundings(given: JsonObject, subject: Subject) -> Check | None:
    """The fields beside log, key and proof, with or without a payload."""
    receipt, log, repeat = subject.receipt, given.get("log"), given.get("independent_verification")
    if is_object(log) and "origin" in log and log["origin"] != origin_of(receipt.log.checkpoint):
        return _contradicted("log.origin", "the checkpoint")
    if "has_zk_proof" in given and receipt.zk_proof != "absent":
        if given["has_zk_proof"] is not (receipt.zk_proof is not None):
            return _contradicted("has_zk_proof", "what is there")
    if not is_object(repeat):
        return None
    if "recreate_payload" in repeat and not equal(repeat["recreate_payload"], given.get("payload")):
        return fail("field_mismatch", field="independent_verification.recreate_payload")
    key = subject.trust.find(receipt.key_id)
    if key is not None and "public_key_pem" in repeat and repeat["public_key_pem"] != encode_pem(key.public_key):
        return _contradicted("independent_verification.public_key_pem", "the key")
    return None


def _check_without_payload(given: JsonObject, subject: Subject) -> tuple[Check, list[str]]:
    """Claims that nothing in the answer backs up are listed; content is not shown without the bytes that contain it."""
    gone = _CONTENT if subject.receipt.payload == "hidden" else (*_CONTENT, *_CLAIMS)
    shown = next((name for name in gone if given.get(name) is not None), None)
    if shown is not None:
        return fail("field_unbacked", field=shown), []
    claims = ("attestation_id", "agent_slug", "is_public", "record", "erased_at", *_CLAIMS)
    unproven = [name for name in claims if given.get(name) is not None]
    return passed("nothing is claimed beyond what is listed as unproven"), unproven


def list_unproven_bounds(given: JsonObject, made_after: Bound | None, made_before: Bound | None) -> list[str]:
    """The bounds of time that the answer states and that do not follow from what this reader trusts."""
    bounds = given.get("time_bounds")
    if not is_object(bounds):
        return []
    unproven: list[str] = []
    for name, own in (("made_after", made_after), ("made_before", made_before)):
        by: list[Json] = [] if own is None else [*own.by]
        proven: Json = None if own is None else {"at": own.at, "by": by}
        stated = bounds.get(name)
        if stated is not None and not equal(stated, proven):
            unproven.append(f"time_bounds.{name}")
    return unproven
