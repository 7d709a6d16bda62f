"""Shared by the files for frameworks: a tool that runs only through the gate. Nothing of a framework is imported here.

Every framework keeps "approved" in a place that the agent's side can write. So none of it is believed: when the tool is
about to run, the gate asks the service.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from ._async_client import AsyncCountersign
from ._decorate import Describe, Target
from ._gate import Approval
from ._gate_options import GateOptions
from ._inputs import is_json, to_json_form
from ._session import refuse_generator
from ._wire import AuthorizationRequest
from .errors import (
    AgentFrozenError,
    ApprovalClaimedError,
    ApprovalMismatchError,
    ApprovalRevokedError,
    ApprovalUsedError,
    CountersignError,
    NotApprovedError,
    NotDecidedError,
)


class ToolContext(Protocol):
    """Part of the context that a framework passes to a tool."""

    @property
    def tool_call_id(self) -> str | None: ...


RunId: TypeAlias = "str | Callable[[Any], str]"
"""Id of the conversation or thread, as your program keeps it: the same when a run is resumed. Or a function of the
context."""
OnPending: TypeAlias = "Callable[[AuthorizationRequest], Any]"


_NOT_RUN = (
    NotDecidedError,
    ApprovalMismatchError,
    ApprovalUsedError,
    ApprovalClaimedError,
    ApprovalRevokedError,
    AgentFrozenError,
)


def summary_of(asked: AuthorizationRequest) -> dict[str, Any]:
    """For whoever shows it to the human."""
    return {
        "request_id": asked["request_id"],
        "approval_url": asked["approval_url"],
        "confirmation_code": asked["confirmation_code"],
        "expires_at": asked["expires_at"],
    }


async def run_or_refuse(call: Awaitable[Any]) -> Any:
    """The result, or what the model should read instead of trying again: the service's own words to an agent."""
    try:
        return (await call).result
    except CountersignError as error:
        if (words := words_of(error)) is None:
            raise
        return words


def words_of(error: CountersignError) -> str | None:
    """For the model, if nothing ran and it can't help it."""
    if isinstance(error, NotApprovedError):
        return f"Not run: {error}"
    return str(error) if isinstance(error, _NOT_RUN) else None


class CallNumbers:
    """Equal calls of a run, from 1, for frameworks that don't number them. What nobody has decided keeps its number, and is the same call next time."""

    def __init__(self) -> None:
        self._taken: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def take(self, call: str) -> int:
        with self._lock:
            taken = self._taken.setdefault(call, set())
            number = next(n for n in range(1, len(taken) + 2) if n not in taken)
            taken.add(number)
            return number

    def give_back(self, call: str, number: int) -> None:
        with self._lock:
            self._taken[call].discard(number)


def read_defaults(function: Callable[..., Any] | None) -> dict[str, Any]:
    if function is None:
        return {}
    parameters = inspect.signature(function).parameters.values()
    defaults = {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}
    return {name: value if is_json(value) else to_json_form(value, f".{name}") for name, value in defaults.items()}


def require_call_id(call_id: object) -> str:
    """Without it two calls could share one approval."""
    if not isinstance(call_id, str) or call_id == "":
        raise TypeError("the framework names no tool call")
    return call_id


def gate_context_tool(
    client: AsyncCountersign,
    describe: Describe,
    run_id: RunId,
    on_pending: OnPending | None,
    options: GateOptions,
) -> Callable[[Callable[..., Any]], Callable[..., Awaitable[Any]]]:
    """For functions whose first parameter is the framework's context. ``on_pending``: raises instead of waiting."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        target = Target(function, leave_out=1)
        refuse_generator(target.function)

        @functools.wraps(function)
        async def gated(context: ToolContext, *args: Any, **kwargs: Any) -> Any:
            call = target.bind(context, *args, **kwargs)
            inputs = call.inputs
            ids = {
                "run_id": run_id(context) if callable(run_id) else run_id,
                "call_id": require_call_id(context.tool_call_id),
            }
            request = describe(inputs) if callable(describe) else describe
            checked = call.checked(options)
            if on_pending is not None:
                asked = await client.ask(request, inputs, **ids, **checked)
                if asked["status"] == "pending":
                    on_pending(asked)

            async def run(copy: dict[str, Any], _approval: Approval) -> Any:
                result = target.function(context, **call.arguments(copy))
                return await result if inspect.isawaitable(result) else result

            more: GateOptions = checked if on_pending is None else {**checked, "wait": False}
            return await run_or_refuse(client.gate(request, inputs, run, **ids, **more))

        return gated

    return decorate
