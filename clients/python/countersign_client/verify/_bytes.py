"""Bytes and their text forms. Every decoder refuses what its encoder would not write, so one value has one spelling."""

from __future__ import annotations

import base64
import re
from hashlib import sha256 as _sha256

_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_WORD = re.compile(r"0x[0-9a-fA-F]{1,64}|[0-9]{1,78}")


def sha256(*parts: bytes) -> bytes:
    return _sha256(b"".join(parts)).digest()


def hex_decode(text: str) -> bytes:
    if not _HEX.fullmatch(text):
        raise ValueError("not lower-case hex")
    return bytes.fromhex(text)


def base64_encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def base64_decode(text: str) -> bytes:
    """RFC 4648 section 4, padded, no white space, zero trailing bits."""
    if not _BASE64.fullmatch(text) or len(text) % 4 != 0:
        raise ValueError("not base64")
    data = base64.b64decode(text)
    if base64_encode(data) != text:
        raise ValueError("not canonical base64")
    return data


def base64_url_decode(text: str) -> bytes:
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("not base64url")
    return base64_decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4))


def uint64(value: int) -> bytes:
    return value.to_bytes(8, "big")


def parse_decimal(text: str) -> int:
    """ASCII decimal without leading zeroes within the safe integers."""
    if not re.fullmatch(r"0|[1-9][0-9]{0,15}", text) or int(text) >= 2**53:
        raise ValueError("not a decimal")
    return int(text)


def parse_word(text: str) -> int | None:
    """A uint256 in hex with 0x, or in decimal."""
    if not _WORD.fullmatch(text):
        return None
    value = int(text, 16) if text.startswith("0x") else int(text)
    return value if value < 2**256 else None


def word_hex(value: int) -> str:
    return f"0x{value:064x}"


_FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617


def parse_field_element(text: str) -> int | None:
    """Like parse_word, and below the order of BN254's field: n and n + r would be two names for one human."""
    value = parse_word(text)
    return value if value is not None and value < _FIELD_ORDER else None
