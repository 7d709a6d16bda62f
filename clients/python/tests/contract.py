"""Guarantees of every adapter. Each framework's module imports these tests and brings ``run``, with a model that calls ``pay``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from conftest import Counted, Human, Losing


def run_beside(file: str, code: str, *args: str) -> Any:
    """Runs what a module has before its tests, and this code, in a process of its own. Returns the JSON that it prints last."""
    before = re.split(r"\n(?=@pytest|def test_)", Path(file).read_text())[0]
    command = [sys.executable, "-c", f"{before}\n{code}", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(file).parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().split("\n")[-1])


def _paid(request: pytest.FixtureRequest, *calls: tuple[int, int]) -> list[Any]:
    before = getattr(request.module, "BEFORE", ())
    return [(*before, invoice, cents, "EUR") for invoice, cents in calls]


def test_runs_what_was_approved_and_shows_its_defaults(
    request: pytest.FixtureRequest, mode: dict[str, Any], human: Human, count: Any, new_agent: Any
) -> None:
    name, paid = new_agent(), []
    assert request.module.run(name, paid, human, **mode) == "paid 100"
    assert paid == _paid(request, (1042, 100))
    assert human.asked[0]["context"] == {"invoice": "1042", "cents": "100", "currency": "EUR"}
    assert count(name) == Counted(1, 1)


def test_tells_the_model_what_was_denied_and_asks_once(
    request: pytest.FixtureRequest, mode: dict[str, Any], human: Human, count: Any, new_agent: Any
) -> None:
    name, paid = new_agent(), []
    human.decision = "deny"
    told = request.module.run(name, paid, human, **mode)
    assert "Do not retry" in told
    assert "try again" not in told
    assert paid == []
    assert count(name) == Counted(1, 0)


def test_runs_what_an_approver_changed_if_the_tool_takes_it(
    request: pytest.FixtureRequest, mode: dict[str, Any], human: Human, count: Any, new_agent: Any
) -> None:
    if not getattr(request.module, "TAKES_CHANGES", False):
        return
    name, paid = new_agent(), []
    human.decision, human.changes = "amend", {"context.cents": "50"}
    assert request.module.run(name, paid, human, **mode) == "paid 50"
    assert paid == _paid(request, (1042, 50))
    assert count(name) == Counted(2, 1)
    human.changes = {"context.cents": "50.5"}
    assert "the tool's schema" in _end(lambda: request.module.run(f"{name}-refused", paid, human, **mode))
    assert paid == _paid(request, (1042, 50))


def test_asks_for_each_of_parallel_calls(
    request: pytest.FixtureRequest, human: Human, count: Any, new_agent: Any
) -> None:
    name, paid = new_agent(), []
    calls = [{"invoice": 1, "cents": 1}, {"invoice": 1, "cents": 1}, {"invoice": 2, "cents": 2}]
    assert request.module.run(name, paid, human, calls=calls) == "paid 1 | paid 1 | paid 2"
    assert sorted(paid) == _paid(request, (1, 1), (1, 1), (2, 2))
    assert count(name) == Counted(3, 3)


def _end(run: Callable[[], Any]) -> str:
    """End of a run: the model's last words, or the error that the framework passes on or wraps."""
    try:
        return str(run())
    except Exception as error:
        return str(error)


@pytest.mark.usefixtures("no_pauses")
def test_runs_nothing_while_the_service_is_away(request: pytest.FixtureRequest, human: Human, new_agent: Any) -> None:
    paid: list[Any] = []
    said = _end(lambda: request.module.run(new_agent(), paid, human, base="http://127.0.0.1:1"))
    assert getattr(request.module, "AWAY", "/v1/authorize: no answer") in said
    assert paid == []


@pytest.mark.usefixtures("no_pauses")
def test_says_that_what_ran_could_not_be_attested(
    request: pytest.FixtureRequest, human: Human, count: Any, new_agent: Any
) -> None:
    name, paid = new_agent(), []
    losing = getattr(request.module, "LOSING", lambda path: httpx2.AsyncClient(transport=Losing(path)))
    said = _end(lambda: request.module.run(name, paid, human, http=losing("/v1/attest")))
    assert "Don't run the action again" in said
    assert len(paid) == 1
    assert count(name) == Counted(1, 0)
