"""Signed data of the log: DSSE envelopes and the leaves that are made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._json import Json, JsonObject, canonical_bytes, canonical_json, is_list, is_object, parse_strict
from ._bytes import base64_decode, base64_encode, hex_decode, sha256
from ._ed25519 import find_key_fault, verify_strict

STATEMENT_MEDIA_TYPE = "application/vnd.in-toto+json"
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")


def key_id_of(public_key: bytes) -> str:
    return sha256(public_key).hex()[:16]


def dsse_key_id(public_key: bytes) -> str:
    """Fingerprint in the form of ``ssh-keygen -lf``."""
    kind = b"ssh-ed25519"
    wire = len(kind).to_bytes(4, "big") + kind + len(public_key).to_bytes(4, "big") + public_key
    return f"SHA256:{base64_encode(sha256(wire)).rstrip('=')}"


def encode_pem(public_key: bytes) -> str:
    return f"-----BEGIN PUBLIC KEY-----\n{base64_encode(_SPKI_PREFIX + public_key)}\n-----END PUBLIC KEY-----\n"


def decode_pem(pem: str) -> bytes:
    match = re.fullmatch(r"\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*", pem)
    der = base64_decode(re.sub(r"\s", "", match[1] if match else ""))
    if len(der) != 44 or not der.startswith(_SPKI_PREFIX):
        raise ValueError("not the PEM of an Ed25519 public key")
    return der[12:]


def parse_public_key(text: str) -> bytes:
    """PEM or base64 of the raw 32 bytes. Raises ValueError, also for a key that is not fit."""
    try:
        key = decode_pem(text) if "-----" in text else base64_decode(text.strip())
    except ValueError:
        raise ValueError("neither a PEM Ed25519 public key nor base64 of its 32 bytes") from None
    problem = find_key_fault(key)
    if problem is not None:
        raise ValueError(problem)
    return key


@dataclass(frozen=True)
class Envelope:
    payload: bytes
    signature: bytes
    key_id: str
    payload_type: str = STATEMENT_MEDIA_TYPE

    def is_signed_by(self, public_key: bytes) -> bool:
        kind = self.payload_type.encode()
        head = b"DSSEv1 %d %s %d " % (len(kind), kind, len(self.payload))
        return verify_strict(self.signature, head + self.payload, public_key)

    def to_json(self) -> JsonObject:
        signed: JsonObject = {"keyid": self.key_id, "sig": base64_encode(self.signature)}
        return {"payload": base64_encode(self.payload), "payloadType": self.payload_type, "signatures": [signed]}


def require_fields(value: Json, *names: str) -> JsonObject:
    """The value as an object with exactly these names."""
    if not is_object(value) or set(value) != set(names):
        raise ValueError(f"expected an object of {', '.join(names)}")
    return value


def require_string(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a string")
    return value


def envelope_from_json(value: Json) -> Envelope:
    given = require_fields(value, "payload", "payloadType", "signatures")
    signatures = given["signatures"]
    if not is_list(signatures) or len(signatures) != 1:
        raise ValueError("not exactly one signature")
    signed = require_fields(signatures[0], "keyid", "sig")
    signature = base64_decode(require_string(signed["sig"]))
    if len(signature) != 64:
        raise ValueError("an Ed25519 signature has 64 bytes")
    payload = base64_decode(require_string(given["payload"]))
    return Envelope(payload, signature, require_string(signed["keyid"]), require_string(given["payloadType"]))


@dataclass(frozen=True)
class Leaf:
    """In the form of Rekor's ``dsse`` 0.0.1 entry."""

    envelope_hash: bytes
    payload_hash: bytes
    signature: bytes
    public_key: bytes


def _digest(value: bytes) -> JsonObject:
    return {"algorithm": "sha256", "value": value.hex()}


def encode_leaf(leaf: Leaf) -> bytes:
    verifier = base64_encode(encode_pem(leaf.public_key).encode())
    signed: JsonObject = {"signature": base64_encode(leaf.signature), "verifier": verifier}
    spec: JsonObject = {
        "envelopeHash": _digest(leaf.envelope_hash),
        "payloadHash": _digest(leaf.payload_hash),
        "signatures": [signed],
    }
    return canonical_bytes({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})


def leaf_of(envelope: Envelope, public_key: bytes) -> bytes:
    envelope_hash = sha256(canonical_json(envelope.to_json()).encode())
    return encode_leaf(Leaf(envelope_hash, sha256(envelope.payload), envelope.signature, public_key))


def parse_leaf(data: bytes) -> Leaf:
    """Raises ValueError for all bytes but those that encode_leaf writes."""
    entry = require_fields(parse_strict(data.decode()), "apiVersion", "kind", "spec")
    spec = require_fields(entry["spec"], "envelopeHash", "payloadHash", "signatures")
    signatures = spec["signatures"]
    if not is_list(signatures) or len(signatures) != 1:
        raise ValueError("not exactly one signature")
    signed = require_fields(signatures[0], "signature", "verifier")
    leaf = Leaf(
        _decode_digest(spec["envelopeHash"]),
        _decode_digest(spec["payloadHash"]),
        base64_decode(require_string(signed["signature"])),
        decode_pem(base64_decode(require_string(signed["verifier"])).decode()),
    )
    if len(leaf.signature) != 64 or encode_leaf(leaf) != data:
        raise ValueError("not the canonical form of a leaf")
    return leaf


def _decode_digest(value: Json) -> bytes:
    digest = require_fields(value, "algorithm", "value")
    found = hex_decode(require_string(digest["value"]))
    if digest["algorithm"] != "sha256" or len(found) != 32:
        raise ValueError("not a SHA-256 digest")
    return found
