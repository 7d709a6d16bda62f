"""Tools of Microsoft's Agent Framework. It keeps "approved" in messages, which a client can write: the tool asks the service
itself.

.. code-block:: python

    gate = gate_tools(countersign, {"pay": describe}, run_id="thread-1")
    agent = Agent(client=client, tools=[pay], middleware=[gate])
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._async_client import AsyncCountersign
from ._decorate import Describe
from ._frameworks import RunId, read_defaults, require_call_id, words_of
from ._gate import Approval
from ._gate_options import GateOptions
from ._inputs import hash_inputs
from ._wire import AuthorizationRequest
from .errors import ApprovalMismatchError, CountersignError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["gate_tools"]


def gate_tools(
    client: AsyncCountersign, tools: Mapping[str, Describe], *, run_id: RunId, **options: Unpack[GateOptions]
) -> Any:
    """A function middleware: the named tools run only through the gate.

    Put it last: middleware behind it that changes what was approved ends the run, but only after the tool. For runs that end
    while a human decides: ``wait=False`` here and ``@tool(approval_mode="always_require")``. Call the middleware's
    ``ask(request, tool)`` for each of the result's ``user_input_requests``, and run again after the decision with
    ``to_function_approval_response(approved=True)``. That it was approved there is not believed.
    """
    framework = importlib.import_module("agent_framework")
    gate = _Gate(client, tools, run_id, options, framework)

    async def process(_self: Any, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        await gate.process(context, call_next)

    async def ask(_self: Any, request: Any, tool: Any) -> AuthorizationRequest:
        return await gate.ask(request, tool)

    made = type("CountersignGate", (framework.FunctionMiddleware,), {"process": process, "ask": ask})
    return made()


class _Gate:
    def __init__(
        self,
        client: AsyncCountersign,
        tools: Mapping[str, Describe],
        run_id: RunId,
        options: GateOptions,
        framework: Any,
    ) -> None:
        self._client, self._tools, self._run_id, self._framework = client, dict(tools), run_id, framework
        self._options: GateOptions = {"pauses": (framework.UserInputRequiredException,), **options}

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        describe = self._tools.get(context.function.name)
        if describe is None:
            return await call_next()
        given = dict(context.arguments)
        inputs = _with_defaults(context.function, given)

        async def run(copy: dict[str, Any], _approval: Approval) -> Any:
            # The framework takes an added default for a change after its own approval: the function adds it itself.
            context.arguments = {name: copy[name] for name in copy if name in given or copy[name] != inputs[name]}
            await call_next()
            if _is_changed(copy, {**copy, **dict(context.arguments)}):
                raise ApprovalMismatchError("inputs_hash")
            return context.result

        ids = {
            "run_id": self._run_id(context) if callable(self._run_id) else self._run_id,
            "call_id": require_call_id(context.metadata.get("call_id")),
        }
        request = describe(inputs) if callable(describe) else describe
        options: GateOptions = {"schema": functools.partial(_require_valid, context.function), **self._options}
        try:
            context.result = (await self._client.gate(request, inputs, run, **ids, **options)).result
        except CountersignError as error:
            words = words_of(error)
            if words is not None and not isinstance(error, ApprovalMismatchError):
                context.result = words
                return
            # The framework turns any other exception into a tool's answer, and goes on.
            raise self._framework.MiddlewareFailure(str(error)) from error

    async def ask(self, request: Any, tool: Any) -> AuthorizationRequest:
        """Asks a human about an approval request of the run, once, and returns the link and the status of now."""
        if callable(self._run_id):
            raise TypeError("run_id: expected text, to ask outside of a run")
        call = request.function_call
        describe, inputs = self._tools[tool.name], _with_defaults(tool, call.parse_arguments() or {})
        asked = describe(inputs) if callable(describe) else describe
        call_id = require_call_id(call.call_id)
        options: GateOptions = {"schema": functools.partial(_require_valid, tool), **self._options}
        return await self._client.ask(asked, inputs, run_id=self._run_id, call_id=call_id, **options)


def _with_defaults(tool: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The human sees what the function gets."""
    shown: dict[str, Any] = tool.parameters().get("properties") or {}
    return {**{name: value for name, value in read_defaults(tool.func).items() if name in shown}, **given}


def _require_valid(tool: Any, changed: Any) -> None:
    """For arguments that an approver changed. After its own approval the framework runs none but those that it asked for."""
    if tool.approval_mode == "always_require":
        raise TypeError("approval_mode: the framework takes no changed arguments after its own approval")
    model = tool.input_model
    if model is None:
        raise TypeError("amendable needs schema: the tool has no model of its arguments")
    model.model_validate(changed)


def _is_changed(approved: object, ran: object) -> bool:
    try:
        return hash_inputs(approved) != hash_inputs(ran)
    except TypeError:
        # The framework made of them what the function takes, which JSON doesn't hold.
        return False
