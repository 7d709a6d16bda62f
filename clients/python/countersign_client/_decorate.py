"""A function's call as inputs that a human can approve: by name, defaults and all."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ._gate_options import GateOptions, Gating
from ._inputs import is_json, to_json_form
from ._session import require_gateable
from ._wire import AuthorizeRequest
from .errors import ApprovalMismatchError

Describe: TypeAlias = "AuthorizeRequest | Callable[[dict[str, Any]], AuthorizeRequest]"
"""Request to the human, or a function that builds it from the inputs."""
Name: TypeAlias = "str | Callable[[], str]"


@dataclass(frozen=True)
class Bound:
    """A call of a function, as a human can approve it."""

    function: Callable[..., Any]
    inputs: dict[str, Any]
    """In the form that JSON has."""
    typed: dict[str, Any]
    """Copies of the arguments that JSON has no type for, which the function gets."""
    before: tuple[Any, ...]
    """Leading arguments that are no inputs: ``self``, a framework's context."""

    def arguments(self, approved: dict[str, Any]) -> dict[str, Any]:
        self.require_unchanged(approved)
        return {**approved, **self.typed}

    def require_unchanged(self, approved: dict[str, Any]) -> None:
        """Rejects a change of what only the caller's own value can stand for: a Decimal, a date, a model."""
        if any(approved[name] != self.inputs[name] for name in self.typed):
            raise ApprovalMismatchError("inputs_hash", "are of types that JSON doesn't have")

    def checked(self, options: GateOptions) -> GateOptions:
        """The options with a schema that knows that too, by the function's own annotations if none is given."""
        given = options.get("schema")

        def check(approved: dict[str, Any]) -> None:
            self.require_unchanged(approved)
            if given is None:
                check_by_hints(self.function, {name: approved[name] for name in approved.keys() - self.typed.keys()})
            else:
                getattr(given, "model_validate", given)(approved)

        return {**options, "schema": check}


_PLAIN: dict[Any, tuple[type, ...]] = {str: (str,), bool: (bool,), int: (int,), float: (int, float)}


def check_by_hints(function: Callable[..., Any], approved: dict[str, Any]) -> None:
    """Checks arguments by the function's annotations, as frameworks check a model's; other than plain types need Pydantic."""
    hints = typing.get_type_hints(function, include_extras=True)
    for name, value in approved.items():
        if name not in hints:
            raise TypeError(f"{name} has no annotation")
        plain = _PLAIN.get(hints[name])
        if plain is None:
            importlib.import_module("pydantic").TypeAdapter(hints[name]).validate_python(value)
        elif not isinstance(value, plain) or (isinstance(value, bool) and bool not in plain):
            raise TypeError(f"{name} is no {hints[name].__name__}")


class Target:
    """A function, a method, a partial or an object with ``__call__``, whose calls are bound to names."""

    def __init__(self, given: Callable[..., Any], leave_out: int = 0) -> None:
        """Raises TypeError for parameters that have no name of their own. ``leave_out``: how many come first that are no inputs."""
        if not callable(given):
            raise TypeError(f"a {type(given).__name__} can't be called: gate the function itself, below the other decorator")
        self.function, self._args, self._kwargs = _unwrap(given)
        self.name = str(getattr(self.function, "__qualname__", type(self.function).__qualname__))
        parameters = list(inspect.signature(self.function).parameters.values())
        is_method = _is_method(self.function, parameters)
        if is_method and leave_out:
            raise TypeError("a method can't be a tool of this framework: gate a function")
        if self._args and (is_method or leave_out):
            raise TypeError("a partial that gives what is no input, as self or a context: gate the function")
        self._leave_out = leave_out or int(is_method)
        self._signature = inspect.Signature(parameters[self._leave_out :])
        for name, parameter in self._signature.parameters.items():
            if parameter.kind in _NAMELESS:
                raise TypeError(f"{name} can't be shown to a human by its name")

    def bind(self, *args: Any, **kwargs: Any) -> Bound:
        before, args = args[: self._leave_out], args[self._leave_out :]
        bound = self._signature.bind(*self._args, *args, **{**self._kwargs, **kwargs})
        bound.apply_defaults()
        inputs: dict[str, Any] = {}
        typed: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if is_json(value):
                inputs[name] = value
            else:
                # A copy, so that nobody changes what is approved.
                typed[name] = copy.deepcopy(value)
                inputs[name] = to_json_form(typed[name], f".{name}")
        return Bound(self.function, inputs, typed, before)


_NAMELESS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)


def _unwrap(given: Callable[..., Any]) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Splits a partial into the function and the arguments that it adds to each call, which the human sees too."""
    if not isinstance(given, functools.partial):
        return given, (), {}
    # Through object: mypy calls the cast redundant, and pyright does not know the type without it.
    partial = cast("functools.partial[Any]", cast("object", given))
    function, args, kwargs = _unwrap(partial.func)
    return function, (*args, *partial.args), {**kwargs, **partial.keywords}


def _is_method(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> bool:
    """True if it was defined in a class and is not bound to an object yet."""
    if not inspect.isfunction(function) or not parameters:
        return False
    scope = function.__qualname__.rpartition(".")[0]
    return scope != "" and not scope.endswith("<locals>") and parameters[0].name in ("self", "cls")


def describe_call(
    request: Describe, run_id: Name, call_id: Name | None, options: GateOptions, inputs: Any, function_name: str
) -> tuple[AuthorizeRequest, Gating]:
    """Without a ``call_id`` equal calls of the function in one run are one call."""
    described = request(inputs) if callable(request) else request
    require_gateable(described)
    given = function_name if call_id is None else call_id
    return described, Gating(_read(run_id), _read(given), options)


def _read(name: Name) -> str:
    text = cast("object", name() if callable(name) else name)
    if not isinstance(text, str) or text == "":
        raise TypeError("run_id and call_id: expected text")
    return text
