"""Tools of LangChain's agents. A graph is resumed with a value that can be anybody's: it is ignored, and the service asked.

The gate is around the execution itself, as a call that a human rejected may reach the tools node another way.

.. code-block:: python

    agent = create_agent(model, tools, middleware=[gate_tools(countersign, {"pay": describe}, run_id="thread-1")])
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._async_client import AsyncCountersign
from ._decorate import Describe
from ._frameworks import RunId, read_defaults, require_call_id, run_or_refuse, summary_of
from ._gate import Approval
from ._gate_options import GateOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["gate_tools"]

Handler = Callable[[Any], Awaitable[Any]]


def gate_tools(
    client: AsyncCountersign,
    tools: Mapping[str, Describe],
    *,
    run_id: RunId | None = None,
    interrupt: bool = False,
    **options: Unpack[GateOptions],
) -> Any:
    """A middleware: the named tools run only through the gate. Use the agent with ``ainvoke`` or ``astream``.

    ``run_id``: default: the ``thread_id`` of the call's configuration. ``interrupt``: pauses the graph, which needs a
    checkpointer, until it is resumed with any value; the value of the interrupt has the link.
    """
    middleware = importlib.import_module("langchain.agents.middleware").AgentMiddleware
    gate = _Gate(client, tools, run_id, interrupt, options)

    async def awrap_tool_call(_self: Any, request: Any, handler: Handler) -> Any:
        return await gate.call(request, handler)

    made = type("CountersignGate", (middleware,), {"awrap_tool_call": awrap_tool_call})
    return made()


def _read_defaults(tool: Any) -> dict[str, Any]:
    """The human sees what the function gets."""
    defaults = read_defaults(getattr(tool, "coroutine", None) or getattr(tool, "func", None))
    return {name: value for name, value in defaults.items() if name in tool.args}


def _find_invalid(tool: Any, given: dict[str, Any]) -> str | None:
    """Reason why the tool would refuse these arguments: nobody is asked about what can't run."""
    schema = getattr(tool, "tool_call_schema", None)
    if not callable(validate := getattr(schema, "model_validate", None)):
        return None
    try:
        validate(given)
    except ValueError as error:
        return str(error)
    return None


def _require_valid(tool: Any, given: Any) -> None:
    if (wrong := _find_invalid(tool, given)) is not None:
        raise ValueError(wrong)


def _answer(call: Any, content: str) -> Any:
    message = importlib.import_module("langchain_core.messages").ToolMessage
    return message(content=content, tool_call_id=call["id"], name=call["name"], status="error")


class _Gate:
    def __init__(
        self,
        client: AsyncCountersign,
        tools: Mapping[str, Describe],
        run_id: RunId | None,
        interrupt: bool,
        options: GateOptions,
    ) -> None:
        self._client, self._tools, self._run_id, self._interrupt = client, dict(tools), run_id, interrupt
        self._options: GateOptions = {**options, "wait": False} if interrupt else options

    async def call(self, request: Any, handler: Handler) -> Any:
        call = request.tool_call
        describe = self._tools.get(call["name"])
        if describe is None:
            return await handler(request)
        ids = {"run_id": self._read_run_id(request), "call_id": require_call_id(call["id"])}
        if (wrong := _find_invalid(request.tool, call["args"])) is not None:
            return _answer(call, f"Not run: {wrong}")
        inputs = {**_read_defaults(request.tool), **call["args"]}
        asked = describe(inputs) if callable(describe) else describe
        options: GateOptions = {"schema": functools.partial(_require_valid, request.tool), **self._options}
        if self._interrupt:
            await self._pause(asked, inputs, ids, options)

        async def run(copy: Any, _approval: Approval) -> Any:
            return await handler(request.override(tool_call={**call, "args": copy}))

        answer = await run_or_refuse(self._client.gate(asked, inputs, run, **ids, **options))
        if not isinstance(answer, str):
            return answer
        return _answer(call, answer)

    async def _pause(self, asked: Any, inputs: Any, ids: dict[str, str], options: GateOptions) -> None:
        interrupt = importlib.import_module("langgraph.types").interrupt
        # The node runs again from its first line when it is resumed, and the same call is asked for once. If it was resumed
        # too early, the human has yet to see the request that is pending now.
        status = "pending"
        while status == "pending":
            made = await self._client.ask(asked, inputs, **ids, **options)
            status = made["status"]
            by = made["decided_by"]
            if by is not None and by["kind"] != "people":
                return
            # Also after the decision: LangGraph counts interrupts, and a question of the tool's own would get this answer.
            interrupt(summary_of(made))

    def _read_run_id(self, request: Any) -> str:
        if self._run_id is not None:
            return self._run_id(request) if callable(self._run_id) else self._run_id
        config: dict[str, Any] = getattr(request.runtime, "config", None) or {}
        configurable: dict[str, Any] = config.get("configurable") or {}
        found = configurable.get("thread_id")
        if not isinstance(found, str):
            raise TypeError("config.configurable.thread_id: expected text")
        return found
