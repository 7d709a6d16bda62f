"""Reading what an outsider was given. Nothing in it is believed; what is not even the right shape is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .._json import MAX_SAFE_INTEGER, Json, JsonObject, is_list, is_object, parse_strict
from ..errors import UnreadableError
from ._bytes import base64_decode, hex_decode


# Same limits as verify.mjs.
MAX_CHARACTERS = 128 * 1024 * 1024


def read_object(given: str | Mapping[str, Any]) -> JsonObject:
    """Text is parsed strictly (no name twice); a value that someone has parsed already is taken as it is."""
    value: Json = cast("JsonObject", dict(given)) if isinstance(given, Mapping) else _read_text(given)
    if not is_object(value):
        raise UnreadableError("expected a JSON object")
    return value


def _read_text(text: object) -> Json:
    if not isinstance(text, str):
        raise UnreadableError(f"expected text or a JSON object, not {type(text).__name__}")
    try:
        return parse_strict(text, MAX_CHARACTERS)
    except ValueError as error:
        raise UnreadableError(f"not strict JSON: {error}") from error


def require_text(value: JsonObject, name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise UnreadableError(f"{name}: expected a string")
    return found


def require_object(value: JsonObject, name: str) -> JsonObject:
    found = value.get(name)
    if not is_object(found):
        raise UnreadableError(f"{name}: expected an object")
    return found


def is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SAFE_INTEGER


def require_index(value: JsonObject, name: str) -> int:
    found = value.get(name)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if not isinstance(found, int) or not is_count(found):
        raise UnreadableError(f"{name}: expected a whole number")
    return found


def require_texts(value: JsonObject, name: str) -> list[str]:
    found = value.get(name)
    if not is_list(found) or not all(isinstance(one, str) for one in found):
        raise UnreadableError(f"{name}: expected a list of strings")
    return cast("list[str]", found)


def require_objects(value: JsonObject, name: str, default: Json = None) -> list[JsonObject]:
    found = value.get(name, default)
    if not is_list(found) or not all(map(is_object, found)):
        raise UnreadableError(f"{name}: expected a list of objects")
    return cast("list[JsonObject]", found)


def optional_object(value: JsonObject, name: str) -> JsonObject | None:
    found = value.get(name)
    if found is not None and not is_object(found):
        raise UnreadableError(f"{name}: expected an object or null")
    return found


def decode_base64(text: str, name: str, length: int | None = None) -> bytes:
    try:
        data = base64_decode(text)
    except ValueError:
        raise UnreadableError(f"{name}: not base64") from None
    return _require_length(data, name, length)


def decode_hex(text: str, name: str, length: int | None = None) -> bytes:
    try:
        data = hex_decode(text)
    except ValueError:
        raise UnreadableError(f"{name}: not lower-case hex") from None
    return _require_length(data, name, length)


def _require_length(data: bytes, name: str, length: int | None) -> bytes:
    if length is not None and len(data) != length:
        raise UnreadableError(f"{name}: expected {length} bytes")
    return data
