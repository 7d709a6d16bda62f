"""JSON that no two readers read differently: strict parsing, and the canonical form of RFC 8785."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from hashlib import sha256
from typing import Any, NoReturn, TypeAlias, TypeGuard, cast

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
JsonObject: TypeAlias = "dict[str, Json]"

MAX_SAFE_INTEGER = 2**53 - 1
_MAX_DEPTH = 32
_MAX_CHARACTERS = 1024 * 1024


def is_object(value: object) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def canonical_number(value: int | float) -> str:
    """Prints a number like ECMAScript. An int that it would print as another is refused: people and the hash would have that one."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    text = _print_number(number)
    if isinstance(value, int) and not _is_same_decimal(str(value), text):
        raise ValueError(f"{value} would become {text}: send it as a string")
    return text


def _print_number(number: float) -> str:
    if number == 0:
        return "0"
    # Arithmetic of decimal would round as the caller's context says.
    sign, digit_tuple, exponent = Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, digit_tuple))
    point = len(digits) + cast("int", exponent)
    return ("-" if sign else "") + _place_point(digits.rstrip("0"), point)


def _place_point(digits: str, point: int) -> str:
    """``0.digits × 10^point``, by the rules of Number::toString."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def canonical_json(value: Json) -> str:
    """Raises ValueError for what RFC 8785 has no form for."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, (int, float)):
        return canonical_number(value)
    if isinstance(value, str):
        return _canonical_string(value)
    if isinstance(value, list):
        return f"[{','.join(map(canonical_json, value))}]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return f"{{{','.join(f'{_canonical_string(name)}:{canonical_json(value[name])}' for name in names)}}}"


def _canonical_string(text: str) -> str:
    text.encode()
    return json.dumps(text, ensure_ascii=False)


def canonical_bytes(value: Json) -> bytes:
    return canonical_json(value).encode()


def canonical_hash(value: Json) -> str:
    """Hex SHA-256 of the canonical JSON."""
    return sha256(canonical_bytes(value)).hexdigest()


def depth_of(value: Json) -> int:
    """Depth of nested lists and objects; 0 for anything else."""
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)


def equal(a: Json, b: Json) -> bool:
    """Compares as JSON: unlike ``==``, True is not 1."""
    return canonical_json(a) == canonical_json(b)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number


def _read_exactly(token: str) -> int | float:
    """The number, if a double keeps its value (its shortest decimal is the one that was written)."""
    number = float(token)
    if math.isinf(number) or not _is_same_decimal(token, canonical_number(number)):
        raise ValueError(f"the number {token[:40]} would become another: send it as a string")
    return _whole(number)


def _read_int(token: str) -> int | float:
    # Every double keeps 15 digits.
    return int(token) if len(token) <= 15 else _read_exactly(token)


def _read_nearest(token: str) -> int | float:
    return _whole(float(token))


def _is_same_decimal(sent: str, kept: str) -> bool:
    return _parse_decimal(sent) == _parse_decimal(kept)


def _parse_decimal(text: str) -> tuple[bool, str, int]:
    """±0.digits × 10^exponent without outer zeros; in linear time, whatever the exponent."""
    mantissa, _, exponent = text.lower().removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if digits == "":
        return False, "", 0
    leading = len(whole + fraction) - len(digits)
    return text.startswith("-"), digits.rstrip("0"), len(whole) - leading + _read_exponent(exponent)


def _read_exponent(text: str) -> int:
    # Longer ones are as far from every double's as this one.
    negative = text.startswith("-")
    digits = text.lstrip("+-").lstrip("0")
    value = int(digits[:9] or "0") if len(digits) < 9 else 10**9
    return -value if negative else value


def _unique_names(pairs: list[tuple[str, Any]]) -> JsonObject:
    value: JsonObject = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    if "__proto__" in value:
        raise ValueError("a name is __proto__")
    return value


def parse_strict(text: str, max_characters: int = _MAX_CHARACTERS) -> Json:
    """Raises ValueError for duplicate names, lone surrogates, numbers that a double changes, and deep nesting."""
    if len(text) > max_characters or len(text.encode("utf-16-le")) > 2 * max_characters:
        raise ValueError(f"longer than {max_characters:,} characters")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_names,
            parse_int=_read_int,
            parse_float=_read_exactly,
            parse_constant=_refuse_constant,
        )
        _check(value, _MAX_DEPTH)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return cast("Json", value)


def _check(value: Json, depth_left: int) -> None:
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, (dict, list)):
        if depth_left == 0:
            raise ValueError("nested too deeply")
        if isinstance(value, dict):
            for name in value:
                name.encode()
        for member in value.values() if isinstance(value, dict) else value:
            _check(member, depth_left - 1)


def parse_canonical(data: bytes) -> JsonObject | None:
    """The object, if these are the one canonical spelling of it."""
    try:
        text = data.decode()
        value = json.loads(text, parse_int=_read_nearest, parse_float=_read_nearest, parse_constant=_refuse_constant)
        return value if is_object(value) and canonical_json(value) == text else None
    except (ValueError, OverflowError, RecursionError):
        return None
