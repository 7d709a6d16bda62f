"""Shows an action's inputs to the human: all of them, or nothing is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ._json import Json, canonical_json, parse_strict
from ._wire import AuthorizationState, Details
from .errors import ApprovalMismatchError

# Limits of AuthorizeRequest (docs/wire.md, Authorization requests).
_MAX_ENTRIES, _MAX_NAME, _MAX_VALUE = 32, 64, 1_024
_MAX_FIELD = _MAX_NAME - 20
"""Room for what is added to tell fields apart and to number their parts."""


_NUMBER = re.compile(r"0|-?([1-9][0-9]{0,13}(\.[0-9]{0,3}[1-9])?|0\.[0-9]{0,3}[1-9])")
"""Numbers as rules hold them."""


class Field(NamedTuple):
    name: str
    text: str
    type: str | None
    """None for a value that only its text shows."""


class Shown(NamedTuple):
    context: dict[str, str]
    details: Details


def show_inputs(inputs: Json, beside: Mapping[str, str]) -> Shown:
    """``beside``: what else the human should see, which no input can take the place of.

    The details are complete unless a value is split, renamed or folded into a text of several, or has no type that rules
    know.
    """
    own = [Field(name, text, "string") for name, text in beside.items()]
    for fields in (_list_fields(inputs), [Field("arguments", canonical_json(inputs), None)]):
        named = [one._replace(name=f"{one.name} (argument)") if one.name in beside else one for one in fields]
        shown = [part for one in named for part in _split(one)]
        # A title begins with the first detail, which says what runs only if it is an argument.
        entries = [*shown, *own]
        context = {one.name: one.text for one in entries}
        if not fields or len(entries) > _MAX_ENTRIES or len(context) < len(entries):
            continue
        is_whole = shown == fields and all(one.type for one in fields)
        types = {one.name: cast("Any", one.type) for one in entries if one.type not in (None, "null")}
        return Shown(context, {"complete": is_whole or inputs == {}, "types": types})
    raise ValueError("the arguments are too long to be shown to a human, so they can't be approved")


def amend_inputs(inputs: Json, state: AuthorizationState) -> Json:
    """The inputs with an approver's changes, each of the type that it had; the hash of all of them is compared afterwards."""
    amends = state.get("amends")
    if amends is None:
        return inputs
    context = state.get("context")
    if context is None or not isinstance(inputs, dict):
        raise ApprovalMismatchError("inputs_hash")
    changed = dict(inputs)
    for field in amends["fields"]:
        if field == "amount":
            continue
        name = field.removeprefix("context.")
        if name not in context or name not in changed:
            raise ApprovalMismatchError("inputs_hash")
        changed[name] = context[name] if isinstance(changed[name], str) else parse_strict(context[name])
    return changed


def _list_fields(inputs: Json) -> list[Field]:
    """Each member under its name; none if they have no names that fit."""
    fields = inputs if isinstance(inputs, dict) else {}
    if not all(0 < len(name) <= _MAX_FIELD for name in fields):
        return []
    return [_show(name, value) for name, value in fields.items()]


def _show(name: str, value: Json) -> Field:
    text = value if isinstance(value, str) else canonical_json(value)
    if value is None or isinstance(value, (str, bool)):
        return Field(name, text, "null" if value is None else "string" if isinstance(value, str) else "boolean")
    is_number = isinstance(value, (int, float)) and _NUMBER.fullmatch(text)
    return Field(name, text, "number" if is_number else None)


def _split(field: Field) -> list[Field]:
    count = -(-len(field.text) // _MAX_VALUE)
    if count <= 1:
        return [field]
    parts = (field.text[at * _MAX_VALUE : (at + 1) * _MAX_VALUE] for at in range(count))
    return [Field(f"{field.name} ({at:02}/{count})", part, None) for at, part in enumerate(parts, 1)]
