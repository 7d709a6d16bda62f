"""One WebAuthn assertion (level 3, section 7.2) from its own bytes: the same steps in the same order as
lib/protocol/passkey, so both give the same reason. Every field is a stranger's.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from .._json import JsonObject, is_object, parse_strict
from ._bytes import base64_decode, base64_url_decode, hex_decode, sha256
from ._ed25519 import find_key_fault, verify_strict
from ._ml_dsa import HAS_ML_DSA, verify_ml_dsa
from ._note import leaf_hash, root_of_branch
from ._outcome import Check, fail, miss, passed

_HEAD_BYTES = 37
_PRESENT, _VERIFIED, _ELIGIBLE, _BACKED_UP, _CREDENTIAL, _EXTENSIONS = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
_ES256 = bytes.fromhex("a5010203262001215820"), bytes.fromhex("225820")
_EDDSA = bytes.fromhex("a4010103272006215820")
_RS256 = bytes.fromhex("a40103033901002059"), bytes.fromhex("2143010001")
_ML_DSA = bytes.fromhex("a3010703382f20590520")
_ML_DSA_BYTES = 1312
_COORDINATE_BYTES = 32


@dataclass(frozen=True)
class ExpectedAssertion:
    challenge: bytes
    origin: str
    """Origin in browsers' form: no path, no standard port."""
    rp_id: str


def approval_challenge(request_hash: str, decision: str) -> bytes:
    """``SHA-256("countersign approval v1\\n" || request_hash(32) || "approve", "deny" or "revoke")``"""
    data = hex_decode(request_hash)
    if len(data) != 32:
        raise ValueError("a request's hash has 32 bytes")
    return sha256(b"countersign approval v1\n", data, decision.encode())


@dataclass(frozen=True)
class Branch:
    """One request's place in a list that one signature approves."""

    index: int
    size: int
    proof: list[str]
    """base64, from the leaf's sibling upwards."""


def branch_challenge(request_hash: str, branch: Branch) -> bytes | Check:
    """``SHA-256("countersign approval list v2\\n" || size(1) || root(32) || "approve")``, or why there is none."""
    leaf = leaf_hash(hex_decode(request_hash))
    siblings = [base64_decode(one) for one in branch.proof]
    root = root_of_branch(leaf, branch.index, branch.size, siblings)
    if root is None:
        return fail("list_malformed", size=branch.size)
    if leaf in siblings:
        return fail("list_repeated")
    return sha256(b"countersign approval list v2\n", bytes([branch.size]), root, b"approve")


def check_assertion(assertion: Mapping[str, str], expected: ExpectedAssertion) -> Check:
    client_bytes = _decode(assertion["client_data_json"])
    client_data = None if client_bytes is None else _read_client_data(client_bytes)
    if client_bytes is None or client_data is None:
        return fail("passkey_malformed", part="clientDataJSON")
    data = _decode(assertion["authenticator_data"])
    if data is None or not _is_authenticator_data(data):
        return fail("passkey_malformed", part="authenticatorData")
    fault = _find_client_data_fault(client_data, expected) or _find_authenticator_fault(data, expected)
    if fault is not None:
        return fail(fault)
    key = _decode(assertion["public_key"])
    read = "passkey_key_malformed" if key is None else _read_key(key)
    if isinstance(read, str):
        return fail(read)
    signature = _decode(assertion["signature"])
    if signature is None:
        return fail("passkey_malformed", part="signature")
    return _check_signature(signature, data + sha256(client_bytes), read)


def _decode(text: str) -> bytes | None:
    try:
        return base64_url_decode(text)
    except ValueError:
        return None


def _read_client_data(data: bytes) -> JsonObject | None:
    try:
        value = parse_strict(data.decode())
    except ValueError:
        return None
    return value if is_object(value) else None


def _is_authenticator_data(data: bytes) -> bool:
    """An assertion has no credential data, and nothing follows unless the flag of extensions says so."""
    if len(data) < _HEAD_BYTES or data[32] & _CREDENTIAL:
        return False
    return (len(data) > _HEAD_BYTES) == bool(data[32] & _EXTENSIONS)


def _find_client_data_fault(client_data: JsonObject, expected: ExpectedAssertion) -> str | None:
    if client_data.get("type") != "webauthn.get":
        return "passkey_type_wrong"
    if client_data.get("challenge") != urlsafe_b64encode(expected.challenge).decode().rstrip("="):
        return "passkey_challenge_mismatch"
    if client_data.get("origin") != expected.origin:
        return "passkey_origin_mismatch"
    is_own = client_data.get("crossOrigin", False) is False and "topOrigin" not in client_data
    return None if is_own else "passkey_cross_origin"


def _find_authenticator_fault(data: bytes, expected: ExpectedAssertion) -> str | None:
    if data[:32] != sha256(expected.rp_id.encode()):
        return "passkey_site_mismatch"
    if not data[32] & _PRESENT:
        return "passkey_user_absent"
    if not data[32] & _VERIFIED:
        return "passkey_user_unverified"
    return "passkey_backup_contradictory" if data[32] & _BACKED_UP and not data[32] & _ELIGIBLE else None


def _read_key(cose: bytes) -> EllipticCurvePublicKey | RSAPublicKey | bytes | str:
    """In the one form of CTAP2's canonical CBOR. Text: why it isn't one."""
    start, middle = _ES256
    if cose.startswith(start):
        x = cose[len(start) : len(start) + _COORDINATE_BYTES]
        y = cose[-_COORDINATE_BYTES:]
        if start + x + middle + y != cose:
            return "passkey_key_malformed"
        try:
            return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), b"\x04" + x + y)
        except ValueError:
            return "passkey_key_malformed"
    if cose.startswith(_RS256[0]):
        return _read_rsa_key(cose) or "passkey_key_malformed"
    if cose.startswith(_ML_DSA):
        key = cose[len(_ML_DSA) :]
        return key if len(key) == _ML_DSA_BYTES else "passkey_key_malformed"
    if not cose.startswith(_EDDSA):
        return "passkey_key_unsupported"
    key = cose[len(_EDDSA) :]
    return key if find_key_fault(key) is None else "passkey_key_malformed"


def _read_rsa_key(cose: bytes) -> RSAPublicKey | None:
    """Reads a key of 2,048 to 4,096 bits with the exponent 65,537."""
    start, end = _RS256
    modulus = cose[len(start) + 2 : -len(end)]
    if start + len(modulus).to_bytes(2, "big") + modulus + end != cose or not 256 <= len(modulus) <= 512:
        return None
    if modulus[0] < 0x80 or modulus[-1] % 2 == 0:
        return None
    try:
        return RSAPublicNumbers(65_537, int.from_bytes(modulus, "big")).public_key()
    except ValueError:
        return None


def _check_signature(signature: bytes, signed: bytes, key: EllipticCurvePublicKey | RSAPublicKey | bytes) -> Check:
    sound = passed("a passkey's signature over this request and decision")
    if isinstance(key, bytes) and len(key) == _ML_DSA_BYTES:
        if not HAS_ML_DSA:
            return miss("post_quantum_not_checked")
        return sound if verify_ml_dsa(signature, signed, key) else fail("passkey_signature_invalid")
    if isinstance(key, bytes):
        return sound if verify_strict(signature, signed, key) else fail("passkey_signature_invalid")
    if isinstance(key, RSAPublicKey):
        try:
            key.verify(signature, signed, PKCS1v15(), SHA256())
        except InvalidSignature:
            return fail("passkey_signature_invalid")
        return sound
    try:
        r, s = decode_dss_signature(signature)
        is_canonical = min(r, s) > 0 and encode_dss_signature(r, s) == signature
    except ValueError:
        is_canonical = False
    if not is_canonical:
        return fail("passkey_malformed", part="signature")
    try:
        key.verify(signature, signed, ECDSA(SHA256()))
    except InvalidSignature:
        return fail("passkey_signature_invalid")
    return sound
