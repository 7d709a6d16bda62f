"""What an action acts on, as the human reads it: all of it, or nothing is asked."""

from __future__ import annotations

from collections.abc import Mapping

from ._json import Json, canonical_json

# Of AuthorizeRequest (docs/wire.md, Authorization requests).
_MAX_ENTRIES, _MAX_NAME, _MAX_VALUE = 32, 64, 1_024
_MAX_FIELD = _MAX_NAME - 20
"""Room for what is added to tell fields apart and to number their parts."""


def show_inputs(inputs: Json, beside: Mapping[str, str]) -> dict[str, str]:
    """``beside``: what else the human should see, which no input can take the place of."""
    for fields in (_list_fields(inputs), [("arguments", canonical_json(inputs))]):
        entries = list(beside.items())
        for name, text in fields:
            entries += _split(f"{name} (argument)" if name in beside else name, text)
        shown = dict(entries)
        if fields and len(entries) <= _MAX_ENTRIES and len(shown) == len(entries):
            return shown
    raise ValueError("the arguments are too long to be shown to a human, so they can't be approved")


def _list_fields(inputs: Json) -> list[tuple[str, str]]:
    """Each member under its name; none if they have no names that fit."""
    fields = inputs if isinstance(inputs, dict) else {}
    if not all(0 < len(name) <= _MAX_FIELD for name in fields):
        return []
    return [
        (name, value if isinstance(value, str) else canonical_json(value)) for name, value in fields.items()
    ]


def _split(name: str, text: str) -> list[tuple[str, str]]:
    count = -(-len(text) // _MAX_VALUE)
    if count <= 1:
        return [(name, text)]
    parts = (text[at * _MAX_VALUE : (at + 1) * _MAX_VALUE] for at in range(count))
    return [(f"{name} ({at:02}/{count})", part) for at, part in enumerate(parts, 1)]
