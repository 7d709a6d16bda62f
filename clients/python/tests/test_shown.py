"""Texts of the gate about the arguments that it shows."""

from __future__ import annotations

import pytest

from countersign_client._json import Json
from countersign_client._preview import show_inputs


def test_says_the_type_of_each_argument() -> None:
    inputs: Json = {"payee": "false", "dry_run": False, "limit": 10, "price": 10.5, "note": None}
    context, details = show_inputs(inputs, {"project": "x"})
    assert context == {
        "project": "x",
        "payee": "false",
        "dry_run": "false",
        "limit": "10",
        "price": "10.5",
        "note": "null",
    }
    assert details == {
        "complete": True,
        "types": {
            "project": "string",
            "payee": "string",
            "dry_run": "boolean",
            "limit": "number",
            "price": "number",
        },
    }
    assert show_inputs({}, {}).details == {"complete": True, "types": {}}


@pytest.mark.parametrize(
    ("inputs", "beside"),
    [
        ({"command": "x" * 1_025, "dry_run": True}, {}),
        ({f"n{at}": "x" for at in range(33)}, {}),
        ({"n" * 60: "x"}, {}),
        ({"": "x"}, {}),
        ({"payee": {"name": "x"}}, {}),
        ({"payees": ["x"]}, {}),
        ({"limit": 1e300}, {}),
        ({"limit": 0.00001}, {}),
        ({"payee": "x"}, {"payee": "y"}),
        (["x"], {}),
    ],
)
def test_says_that_something_is_not_shown_by_itself(inputs: Json, beside: dict[str, str]) -> None:
    assert show_inputs(inputs, beside).details["complete"] is False
