"""Hashes an action's inputs: SHA-256 of their canonical JSON (RFC 8785), nested values and all."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import NamedTuple, cast
from uuid import UUID

from ._json import Json, canonical_hash, canonical_number

_MAX_DEPTH = 64


def hash_inputs(inputs: object) -> str:
    """``sha256:`` and hex.

    Raises TypeError for what JSON would drop or change in silence (dates, tuples, Decimal, NaN, integers that JavaScript
    prints as others …), with its place.
    """
    return f"sha256:{canonical_hash(_to_json(inputs, '', 0))}"


class Sealed(NamedTuple):
    hash: str
    copy: Json


def seal_inputs(inputs: object) -> Sealed:
    """The hash, and a copy that has it: whatever becomes of the original, the copy is what was hashed."""
    copy = _to_json(inputs, "", 0)
    return Sealed(f"sha256:{canonical_hash(copy)}", copy)


def is_json(value: object) -> bool:
    try:
        _to_json(value, "", 0)
    except TypeError:
        return False
    return True


def to_json_form(value: object, at: str = "", depth: int = 0) -> Json:
    """Converts a typed value to the JSON that a human approves: decimals, dates, times, UUIDs and enums as text, models
    as objects."""
    if depth > _MAX_DEPTH:
        raise TypeError(f"inputs{at}: nested too deeply")
    if isinstance(value, Enum):
        return to_json_form(value.value, at, depth + 1)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise TypeError(f"inputs{at}: {value} is not a JSON value")
        return format(value, "f")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    members = _read_fields(value)
    if isinstance(members, (list, tuple)):
        items = cast("list[object]", members)
        return [to_json_form(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(items)]
    if type(members) is dict:
        named = cast("dict[object, object]", members)
        members = {name: to_json_form(member, f"{at}.{name}", depth + 1) for name, member in named.items()}
    return _to_json(members, at, depth)


def _read_fields(value: object) -> object:
    """Reads a dataclass or a Pydantic model field by field: its own dump could leave some out, or show others."""
    if isinstance(value, type):
        return value
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    names = getattr(type(value), "model_fields", None)
    if not isinstance(names, dict):
        return value
    extra = cast("dict[str, object]", getattr(value, "model_extra", None) or {})
    return {**{name: getattr(value, name) for name in cast("dict[str, object]", names)}, **extra}


def _to_json(value: object, at: str, depth: int) -> Json:
    """Reads every member once, so that hash and copy are of the same values."""
    if depth > _MAX_DEPTH:
        raise TypeError(f"inputs{at}: nested too deeply")
    # Exactly these types: a subclass may say one thing to whoever hashes it and another to whoever uses it.
    kind = type(value)
    if value is None or kind is bool:
        return cast("bool | None", value)
    if kind is str:
        return _require_text(cast("str", value), at)
    if kind is int or kind is float:
        return _require_number(cast("int | float", value), at)
    if kind is list:
        items = list(cast("list[object]", value))
        return [_to_json(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(items)]
    if kind is dict:
        return _to_object(dict(cast("dict[object, object]", value)), at, depth)
    raise TypeError(f"inputs{at}: {kind.__name__} is not a JSON value")


def _to_object(value: dict[object, object], at: str, depth: int) -> dict[str, Json]:
    copy: dict[str, Json] = {}
    for name, member in value.items():
        if type(name) is not str:
            raise TypeError(f"inputs{at}: a name is not text")
        if name == "__proto__":
            raise TypeError(f"inputs{at}: a name is __proto__")
        copy[_require_text(name, at)] = _to_json(member, f"{at}.{name}", depth + 1)
    return copy


def _require_text(text: str, at: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TypeError(f"inputs{at}: text with a lone surrogate") from None
    return text


def _require_number(number: int | float, at: str) -> int | float:
    if isinstance(number, float) and not math.isfinite(number):
        raise TypeError(f"inputs{at}: {number} is not a JSON value")
    try:
        canonical_number(number)
    except (ValueError, OverflowError):
        raise TypeError(f"inputs{at}: it would become another number: give it as text") from None
    return 0 if number == 0 else number
