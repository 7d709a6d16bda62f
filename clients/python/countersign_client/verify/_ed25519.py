"""Ed25519 (RFC 8032) as strictly as any verifier in use: no key and no signature makes two of them disagree.

``cryptography`` checks the equation without the cofactor and refuses s that is not reduced. Beyond it A and R must be
canonical encodings of points without a torsion part, and A not of small order; pycryptodome does that arithmetic.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from Crypto.Signature import eddsa
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

if TYPE_CHECKING:
    from Crypto.PublicKey._point import EccPoint

_ORDER = 2**252 + 27742317777372353535851937790883648493


def _decode(encoded: bytes) -> EccPoint | None:
    """None for anything but the canonical encoding of a point on the curve."""
    try:
        return eddsa.import_public_key(encoded).pointQ
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _is_torsion_free(encoded: bytes) -> bool:
    point = _decode(encoded)
    return point is not None and (point * _ORDER).is_point_at_infinity()


@lru_cache(maxsize=1024)
def find_key_fault(public_key: bytes) -> str | None:
    """Reason why a public key lets signatures be ambiguous; None if it is fit."""
    if len(public_key) != 32:
        return "an Ed25519 public key has 32 bytes"
    point = _decode(public_key)
    if point is None:
        return "not the canonical encoding of a point on the curve"
    if (point * 8).is_point_at_infinity():
        return "a point of small order"
    return None if _is_torsion_free(public_key) else "a point with a torsion part (mixed order)"


def verify_strict(signature: bytes, message: bytes, public_key: bytes) -> bool:
    """Never raises."""
    if len(signature) != 64 or find_key_fault(public_key) is not None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return _is_torsion_free(signature[:32])
