"""ML-DSA-44 (FIPS 204), if this installation's ``cryptography`` has it: from version 48 on, with its own OpenSSL."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

try:
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

    MLDSA44PublicKey.from_public_bytes(bytes(1312))
    HAS_ML_DSA = True
except (ImportError, UnsupportedAlgorithm, ValueError):
    HAS_ML_DSA = False


def verify_ml_dsa(signature: bytes, message: bytes, public_key: bytes) -> bool:
    """False where it can't be checked: a witness of that kind then vouches for no time."""
    if not HAS_ML_DSA:
        return False
    try:
        MLDSA44PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
