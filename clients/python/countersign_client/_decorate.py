"""A function's call as inputs that a human can approve: by name, defaults and all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from ._gate_options import GateOptions, Gating
from ._open import require_gateable
from ._wire import AuthorizeRequest

Describe: TypeAlias = "AuthorizeRequest | Callable[[dict[str, Any]], AuthorizeRequest]"
"""What the human is asked, or a function that says it of the inputs."""
Name: TypeAlias = "str | Callable[[], str]"


def bind_inputs(function: Callable[..., Any], leave_out: int = 0) -> Callable[..., dict[str, Any]]:
    """Raises TypeError for parameters that have no name of their own. ``leave_out``: how many come first that are no inputs."""
    signature = inspect.signature(function)
    signature = signature.replace(parameters=list(signature.parameters.values())[leave_out:])
    nameless = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    )
    for name, parameter in signature.parameters.items():
        if parameter.kind in nameless:
            raise TypeError(f"{name} can't be shown to a human by its name")

    def bind(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    return bind


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
