"""Writes assertions.json: WebAuthn assertions, good and bad, made with Python's `cryptography` (OpenSSL).

None of it comes from the code under test. Keys are fixed, ES256 signatures are not deterministic: run it again only to
add cases, with `python3 make_assertions.py` (cryptography 48.0.0).
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ORIGIN = "https://countersign.example"
RP_ID = "countersign.example"
REQUEST_HASH = hashlib.sha256(b"a request").hexdigest()

ES256_KEY = ec.derive_private_key(int.from_bytes(hashlib.sha256(b"es256").digest(), "big") % ORDER, ec.SECP256R1())
ML_DSA_KEY = mldsa.MLDSA44PrivateKey.from_seed_bytes(hashlib.sha256(b"ml-dsa").digest())
EDDSA_KEY = ed25519.Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"eddsa").digest())


def prime(name: bytes) -> int:
    """The first of 1,024 bits from where the name's digest begins."""
    number = int.from_bytes(hashlib.shake_256(name).digest(128), "big") | 3 << 1022 | 1
    while math.gcd(number - 1, 65537) != 1 or any(pow(base, number - 1, number) != 1 for base in (2, 3, 5, 7, 11)):
        number += 2
    return number


def rsa_key(p: int, q: int) -> rsa.RSAPrivateKey:
    d = pow(65537, -1, math.lcm(p - 1, q - 1))
    crt = (d % (p - 1), d % (q - 1), pow(q, -1, p))
    return rsa.RSAPrivateNumbers(p, q, d, *crt, rsa.RSAPublicNumbers(65537, p * q)).private_key()


RS256_KEY = rsa_key(prime(b"p"), prime(b"q"))
UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def cose_es256(x: int, y: int) -> bytes:
    return (
        bytes.fromhex("a5010203262001215820") + x.to_bytes(32, "big") + bytes.fromhex("225820") + y.to_bytes(32, "big")
    )


def cose_rs256(modulus: int, exponent: bytes = bytes.fromhex("43010001")) -> bytes:
    data = modulus.to_bytes((modulus.bit_length() + 7) // 8, "big")
    return bytes.fromhex("a40103033901002059") + len(data).to_bytes(2, "big") + data + b"\x21" + exponent


NUMBERS = ES256_KEY.public_key().public_numbers()
MODULUS = RS256_KEY.public_key().public_numbers().n
COSE = {
    "ES256": cose_es256(NUMBERS.x, NUMBERS.y),
    "EdDSA": bytes.fromhex("a4010103272006215820") + EDDSA_KEY.public_key().public_bytes_raw(),
    "RS256": cose_rs256(MODULUS),
    "ML-DSA-44": bytes.fromhex("a3010703382f20590520") + ML_DSA_KEY.public_key().public_bytes_raw(),
}
# The same key with its members in another order, which CTAP2's canonical CBOR forbids.
DISORDERLY = bytes.fromhex("a5032601022001215820") + COSE["ES256"][10:]
ES384 = bytes.fromhex("a5010203382220022158") + bytes([0x30, *bytes(48), 0x22, 0x58, 0x30, *bytes(48)])


def challenge(decision: str) -> bytes:
    return hashlib.sha256(b"countersign approval v1\n" + bytes.fromhex(REQUEST_HASH) + decision.encode()).digest()


def authenticator_data(flags: int, count: int = 7, rp_id: str = RP_ID, more: bytes = b"") -> bytes:
    return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + count.to_bytes(4, "big") + more


def client_data(**changes: object) -> bytes:
    data = {"type": "webauthn.get", "challenge": b64(challenge("approve")), "origin": ORIGIN, "crossOrigin": False}
    data.update(changes)
    return json.dumps({name: value for name, value in data.items() if value is not None}, separators=(",", ":")).encode()


def sign(algorithm: str, message: bytes) -> bytes:
    if algorithm == "EdDSA":
        return EDDSA_KEY.sign(message)
    if algorithm == "ML-DSA-44":
        return ML_DSA_KEY.sign(message)
    if algorithm == "RS256":
        return RS256_KEY.sign(message, padding.PKCS1v15(), hashes.SHA256())
    return ES256_KEY.sign(message, ec.ECDSA(hashes.SHA256()))


def sign_rsa(way: padding.AsymmetricPadding, digest: hashes.HashAlgorithm = hashes.SHA256()) -> bytes:  # noqa: B008
    message = authenticator_data(UP | UV) + hashlib.sha256(client_data()).digest()
    return RS256_KEY.sign(message, way, digest)


def sign_with_context(context: bytes) -> bytes:
    return ML_DSA_KEY.sign(authenticator_data(UP | UV) + hashlib.sha256(client_data()).digest(), context)


def with_half(der: bytes, *, low: bool) -> bytes:
    r, s = decode_dss_signature(der)
    return der if (s <= ORDER // 2) is low else encode_dss_signature(r, ORDER - s)


def compact(der: bytes) -> bytes:
    r, s = decode_dss_signature(der)
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def long_length(der: bytes) -> bytes:
    return bytes([0x30, 0x81]) + der[1:]


def padded_integer(der: bytes) -> bytes:
    """R with a leading zero that it doesn't need."""
    body = bytes([0x02, der[3] + 1, 0]) + der[4:]
    return bytes([0x30, len(body)]) + body


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


cases: list[dict[str, object]] = []


def add(  # noqa: PLR0913
    name: str,
    algorithm: str,
    reason: str | None,
    *,
    data: bytes = authenticator_data(UP | UV),
    client: bytes = client_data(),
    key: bytes | None = None,
    change=lambda signature: signature,
    decision: str = "approve",
) -> None:
    signature = change(sign(algorithm, data + hashlib.sha256(client).digest()))
    cases.append(
        {
            "name": f"{algorithm}: {name}",
            "decision": decision,
            "reason": reason,
            "assertion": {
                "public_key": b64(key or COSE[algorithm]),
                "authenticator_data": b64(data),
                "client_data_json": b64(client),
                "signature": b64(signature),
            },
        }
    )


for algorithm in ("ES256", "EdDSA", "RS256"):
    other = COSE["ES256" if algorithm == "EdDSA" else "EdDSA"]
    add("good", algorithm, None)
    add("a denial", algorithm, None, client=client_data(challenge=b64(challenge("deny"))), decision="deny")
    add("backed up", algorithm, None, data=authenticator_data(UP | UV | BE | BS))
    add("a counter of 0", algorithm, None, data=authenticator_data(UP | UV, 0))
    add("extensions that nobody asked for", algorithm, None, data=authenticator_data(UP | UV | ED, more=b"\xa0"))
    add("without crossOrigin", algorithm, None, client=client_data(crossOrigin=None))
    add("members that the specification may add", algorithm, None, client=client_data(other_keys="more"))
    add("a registration", algorithm, "passkey_type_wrong", client=client_data(type="webauthn.create"))
    add("another decision", algorithm, "passkey_challenge_mismatch", client=client_data(challenge=b64(challenge("deny"))))
    add("another request", algorithm, "passkey_challenge_mismatch", client=client_data(challenge=b64(bytes(32))))
    add("a padded challenge", algorithm, "passkey_challenge_mismatch", client=client_data(challenge=b64(challenge("approve")) + "="))
    add("another origin", algorithm, "passkey_origin_mismatch", client=client_data(origin="https://countersign.example.evil.test"))
    add("another port", algorithm, "passkey_origin_mismatch", client=client_data(origin=f"{ORIGIN}:8443"))
    add("inside another page", algorithm, "passkey_cross_origin", client=client_data(crossOrigin=True))
    add("a top origin", algorithm, "passkey_cross_origin", client=client_data(topOrigin="https://evil.test"))
    add("another rp id", algorithm, "passkey_site_mismatch", data=authenticator_data(UP | UV, rp_id="evil.test"))
    add("no user present", algorithm, "passkey_user_absent", data=authenticator_data(UV))
    add("not unlocked", algorithm, "passkey_user_unverified", data=authenticator_data(UP))
    add("backed up and not eligible", algorithm, "passkey_backup_contradictory", data=authenticator_data(UP | UV | BS))
    add("with credential data", algorithm, "passkey_malformed", data=authenticator_data(UP | UV | AT))
    add("bytes that no flag announces", algorithm, "passkey_malformed", data=authenticator_data(UP | UV, more=b"\xa0"))
    add("an announced extension that is absent", algorithm, "passkey_malformed", data=authenticator_data(UP | UV | ED))
    add("short authenticator data", algorithm, "passkey_malformed", data=authenticator_data(UP | UV)[:36])
    add("client data of no JSON", algorithm, "passkey_malformed", client=b"{")
    add("client data with a name twice", algorithm, "passkey_malformed", client=client_data()[:-1] + b',"type":"webauthn.get"}')
    add("client data of a list", algorithm, "passkey_malformed", client=b"[]")
    add("the key of another algorithm", algorithm, "passkey_malformed" if algorithm == "EdDSA" else "passkey_signature_invalid", key=other)
    add("a key cut short", algorithm, "passkey_key_malformed", key=COSE[algorithm][:-1])
    add("a key with a byte more", algorithm, "passkey_key_malformed", key=COSE[algorithm] + b"\0")
    add("an ES384 key", algorithm, "passkey_key_unsupported", key=ES384)
    add("a signature of other bytes", algorithm, "passkey_signature_invalid", change=lambda _, name=algorithm: sign(name, b"other"))
    add("an empty signature", algorithm, "passkey_malformed" if algorithm == "ES256" else "passkey_signature_invalid", change=lambda _: b"")

add("S in the lower half", "ES256", None, change=lambda der: with_half(der, low=True))
add("S in the upper half", "ES256", None, change=lambda der: with_half(der, low=False))
add("r || s without DER", "ES256", "passkey_malformed", change=compact)
add("a byte after the DER", "ES256", "passkey_malformed", change=lambda der: der + b"\0")
add("a length in the long form", "ES256", "passkey_malformed", change=long_length)
add("an integer with a needless zero", "ES256", "passkey_malformed", change=padded_integer)
add("S of another signature", "ES256", "passkey_signature_invalid", change=flipped)
add("r = s = 0", "ES256", "passkey_malformed", change=lambda _: encode_dss_signature(0, 0))
add("members of the key in another order", "ES256", "passkey_key_unsupported", key=DISORDERLY)
add("a point that is not on the curve", "ES256", "passkey_key_malformed", key=cose_es256(NUMBERS.x, NUMBERS.y ^ 1))
add("a bit of S flipped", "EdDSA", "passkey_signature_invalid", change=flipped)
add("a key of small order", "EdDSA", "passkey_key_malformed", key=COSE["EdDSA"][:10] + bytes([1]) + bytes(31))
add("a bit flipped", "RS256", "passkey_signature_invalid", change=flipped)
add("a leading zero", "RS256", "passkey_signature_invalid", change=lambda signature: b"\0" + signature)
add("PSS", "RS256", "passkey_signature_invalid", change=lambda _: sign_rsa(padding.PSS(padding.MGF1(hashes.SHA256()), 32)))
add("SHA-1", "RS256", "passkey_signature_invalid", change=lambda _: sign_rsa(padding.PKCS1v15(), hashes.SHA1()))
add("a modulus of 1,024 bits", "RS256", "passkey_key_malformed", key=cose_rs256(MODULUS >> 1024 | 1))
add("a modulus of 2,047 bits", "RS256", "passkey_key_malformed", key=cose_rs256(MODULUS >> 1 | 1))
add("an even modulus", "RS256", "passkey_key_malformed", key=cose_rs256(MODULUS - 1))
add("the exponent 3", "RS256", "passkey_key_malformed", key=cose_rs256(MODULUS, bytes([0x41, 3])))

# Some 5 kB each: what the other algorithms don't show already.
add("good", "ML-DSA-44", None)
add("another origin", "ML-DSA-44", "passkey_origin_mismatch", client=client_data(origin="https://evil.test"))
add("the key of another algorithm", "ML-DSA-44", "passkey_malformed", key=COSE["ES256"])
add("a key cut short", "ML-DSA-44", "passkey_key_malformed", key=COSE["ML-DSA-44"][:-1])
add("a key with a byte more", "ML-DSA-44", "passkey_key_malformed", key=COSE["ML-DSA-44"] + b"\0")
add("a key of ML-DSA-65", "ML-DSA-44", "passkey_key_unsupported", key=bytes.fromhex("a30107033830205907a0") + bytes(1952))
add("a signature of other bytes", "ML-DSA-44", "passkey_signature_invalid", change=lambda _: sign("ML-DSA-44", b"other"))
add("a signature with a context", "ML-DSA-44", "passkey_signature_invalid", change=lambda _: sign_with_context(b"context"))
add("a bit flipped", "ML-DSA-44", "passkey_signature_invalid", change=flipped)
add("an empty signature", "ML-DSA-44", "passkey_signature_invalid", change=lambda _: b"")

file = {
    "made_by": "make_assertions.py: Python's cryptography 48.0.0",
    "origin": ORIGIN,
    "rp_id": RP_ID,
    "request_hash": REQUEST_HASH,
    "challenges": {decision: challenge(decision).hex() for decision in ("approve", "deny")},
    "cases": cases,
}
Path(__file__).with_name("assertions.json").write_text(json.dumps(file, indent=2) + "\n")
