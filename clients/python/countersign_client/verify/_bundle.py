"""Sigstore bundles, format v0.3, as the service writes them: an envelope, a hint at the key, and one log entry."""

from __future__ import annotations

from dataclasses import dataclass

from .._iso_time import parse_time
from .._json import Json, JsonObject, equal, is_list, is_object
from ._bytes import base64_decode, base64_encode, parse_decimal, sha256
from ._dsse import STATEMENT_MEDIA_TYPE, Envelope, dsse_key_id, envelope_from_json, require_fields, require_string
from ._note import VerifierKey, parse_checkpoint, parse_note
from ._outcome import Check, fail, passed
from ._receipt import LogEvidence, Receipt
from ._statement import Action, parse_action
from ._trust import Trust

_MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
_CLOCK_SLACK_SECONDS = 600


@dataclass(frozen=True)
class Bundle:
    envelope: Envelope
    leaf: bytes
    index: int
    integrated_at: int | None
    """Unix seconds, by the log's own word; None in bundles of the first release."""
    proof: list[bytes]
    checkpoint: str
    log_id: bytes


def parse_bundle(given: JsonObject) -> Bundle:
    """Raises ValueError for any bundle that was not built by the service; says nothing about what it proves."""
    top = require_fields(given, "mediaType", "dsseEnvelope", "verificationMaterial")
    material = require_fields(top["verificationMaterial"], "publicKey", "tlogEntries")
    entries = material["tlogEntries"]
    if not is_list(entries) or len(entries) != 1 or not is_object(entries[0]):
        raise ValueError("not exactly one log entry")
    rest = {name: value for name, value in entries[0].items() if name != "integratedTime"}
    entry = require_fields(rest, "logIndex", "logId", "kindVersion", "inclusionProof", "canonicalizedBody")
    names = ("logIndex", "rootHash", "treeSize", "hashes", "checkpoint")
    inclusion = require_fields(entry["inclusionProof"], *names)
    hashes = inclusion["hashes"]
    if not is_list(hashes):
        raise ValueError("not an inclusion proof")
    proof = [base64_decode(require_string(one)) for one in hashes]
    if any(len(one) != 32 for one in proof):
        raise ValueError("a proof hash has 32 bytes")
    bundle = Bundle(
        envelope_from_json(top["dsseEnvelope"]),
        base64_decode(require_string(entry["canonicalizedBody"])),
        parse_decimal(require_string(entry["logIndex"])),
        _parse_seconds(entries[0]["integratedTime"]) if "integratedTime" in entries[0] else None,
        proof,
        require_string(require_fields(inclusion["checkpoint"], "envelope")["envelope"]),
        base64_decode(require_string(require_fields(entry["logId"], "keyId")["keyId"])),
    )
    if not equal(_to_json(bundle), given):
        raise ValueError("a bundle whose parts do not fit each other")
    return bundle


def _parse_seconds(value: Json) -> int:
    """In protobuf 0 is a field that was left out."""
    seconds = parse_decimal(require_string(value))
    if seconds == 0:
        raise ValueError("not a time")
    return seconds


def _to_json(bundle: Bundle) -> JsonObject:
    checkpoint = parse_checkpoint(parse_note(bundle.checkpoint).text)
    inclusion: JsonObject = {
        "logIndex": str(bundle.index),
        "rootHash": base64_encode(checkpoint.root),
        "treeSize": str(checkpoint.size),
        "hashes": [base64_encode(one) for one in bundle.proof],
        "checkpoint": {"envelope": bundle.checkpoint},
    }
    entry: JsonObject = {
        "logIndex": str(bundle.index),
        "logId": {"keyId": base64_encode(bundle.log_id)},
        "kindVersion": {"kind": "dsse", "version": "0.0.1"},
        "inclusionProof": inclusion,
        "canonicalizedBody": base64_encode(bundle.leaf),
    }
    if bundle.integrated_at is not None:
        entry["integratedTime"] = str(bundle.integrated_at)
    material: JsonObject = {"publicKey": {"hint": bundle.envelope.key_id}, "tlogEntries": [entry]}
    return {"mediaType": _MEDIA_TYPE, "dsseEnvelope": bundle.envelope.to_json(), "verificationMaterial": material}


def receipt_of(bundle: Bundle) -> Receipt:
    """A bundle carries neither the signature over the bare payload nor what the verdicts were drawn from."""
    action = parse_action(bundle.envelope.payload)
    # Found equal to the checkpoint's when it was parsed.
    size = parse_checkpoint(parse_note(bundle.checkpoint).text).size
    return Receipt(
        attestation_id="" if action is None else action.text("attestation_id"),
        agent_slug="" if action is None else str(action.request["agent_slug"]),
        payload=bundle.envelope.payload,
        is_erased=False,
        payload_hash=sha256(bundle.envelope.payload),
        signature=None,
        envelope_signature=bundle.envelope.signature,
        key_id="" if action is None else action.text("key_id"),
        is_public=action is not None and action.predicate["is_public"] is True,
        log=LogEvidence(bundle.index, size, bundle.leaf, bundle.proof, bundle.checkpoint),
    )


def check_hints(
    bundle: Bundle, receipt: Receipt, action: Action | None, trust: Trust, log_key: VerifierKey, asked: str | None, now: int
) -> tuple[Check, list[str]]:
    """Key and log to look for, the time at which the log took it in, which nothing signs, and what is unproven."""
    key = trust.find(receipt.key_id)
    fits = (
        key is not None
        and bundle.envelope.payload_type == STATEMENT_MEDIA_TYPE
        and bundle.envelope.key_id == dsse_key_id(key.public_key)
        and bundle.log_id == log_key.key_hash
        and asked in (None, receipt.attestation_id)
    )
    if not fits:
        return fail("bundle_hint_mismatch"), []
    if bundle.integrated_at is None:
        return passed("the bundle names this key and this log"), []
    made_at = 0.0 if action is None else parse_time(action.text("timestamp")) / 1000
    if bundle.integrated_at < made_at - _CLOCK_SLACK_SECONDS:
        return fail("bundle_time_too_early"), []
    if bundle.integrated_at > now + _CLOCK_SLACK_SECONDS:
        return fail("bundle_time_in_future"), []
    return passed("the bundle names this key and this log"), ["integratedTime"]


def is_bundle(given: JsonObject) -> bool:
    return isinstance(given.get("mediaType"), str)


__all__ = ["Bundle", "check_hints", "is_bundle", "parse_bundle", "receipt_of"]
