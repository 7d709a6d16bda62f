"""Ed25519 (RFC 8032) as strictly as any verifier in use: no key and no signature makes two of them disagree.

``cryptography`` checks the equation without the cofactor and refuses s that is not reduced. Beyond it A and R must be
canonical encodings of points without a torsion part, and A not of small order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Point: TypeAlias = "tuple[int, int, int, int]"

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_SQRT_M1 = pow(2, (_P - 1) // 4, _P)
_IDENTITY: Point = (0, 1, 1, 0)


def _decode(encoded: bytes) -> Point | None:
    """None for anything but the canonical encoding of a point on the curve."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= _P:
        return None
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * v**3 * pow(u * v**7, (_P - 5) // 8, _P) % _P
    if v * x * x % _P == -u % _P:
        x = x * _SQRT_M1 % _P
    elif v * x * x % _P != u:
        return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _add(p: Point, q: Point) -> Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(scalar: int, point: Point) -> Point:
    result = _IDENTITY
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _is_identity(point: Point) -> bool:
    return point[0] == 0 and (point[1] - point[2]) % _P == 0


@lru_cache(maxsize=4096)
def _is_torsion_free(encoded: bytes) -> bool:
    point = _decode(encoded)
    return point is not None and _is_identity(_multiply(_L, point))


@lru_cache(maxsize=1024)
def find_key_fault(public_key: bytes) -> str | None:
    """Why a public key lets signatures be ambiguous; None if it is fit."""
    if len(public_key) != 32:
        return "an Ed25519 public key has 32 bytes"
    point = _decode(public_key)
    if point is None:
        return "not the canonical encoding of a point on the curve"
    if _is_identity(_multiply(8, point)):
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
