"""ML-DSA-44 (FIPS 204), if this installation's ``cryptography`` has it: from version 48 on, with its own OpenSSL."""

from __future__ import annotations

from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm


def _find_public_key() -> Any:
    """The class of public keys, or None where this installation has none that works."""
    try:
        from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

        MLDSA44PublicKey.from_public_bytes(bytes(1312))
    except (ImportError, UnsupportedAlgorithm, ValueError):
        return None
    return MLDSA44PublicKey


_PUBLIC_KEY = _find_public_key()
HAS_ML_DSA = _PUBLIC_KEY is not None


def verify_ml_dsa(signature: bytes, message: bytes, public_key: bytes) -> bool:
    """False where it can't be checked: a witness of that kind then vouches for no time."""
    if _PUBLIC_KEY is None:
        return False
    try:
        _PUBLIC_KEY.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
