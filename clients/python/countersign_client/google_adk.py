"""Tools of Google's Agent Development Kit. It keeps "confirmed" in the session's events, which a client can write: the tool
asks the service itself.

.. code-block:: python

    agent = LlmAgent(name="payer", model=model, tools=[gate_tool(countersign, pay, describe)])
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any, cast

from ._async_client import AsyncCountersign
from ._decorate import Describe, check_by_hints
from ._frameworks import RunId, read_defaults, require_call_id, run_or_refuse, summary_of
from ._gate import Approval
from ._gate_options import GateOptions
from ._wire import AuthorizationRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["gate_tool"]


def gate_tool(
    client: AsyncCountersign,
    tool: Any,
    describe: Describe,
    *,
    run_id: RunId | None = None,
    confirm: bool = False,
    **options: Unpack[GateOptions],
) -> Any:
    """A tool that runs ``tool`` (a function, or any of ADK's tools) only through the gate.

    ``run_id``: default: the session's id. ``confirm``: requests ADK's confirmation, whose hint and payload have the link,
    and ends the run meanwhile. Continue it after the decision with any confirmation: what it says is not believed.
    """
    tools = importlib.import_module("google.adk.tools")
    inner = tool if isinstance(tool, tools.BaseTool) else tools.FunctionTool(tool)
    if getattr(inner, "_require_confirmation", False):
        raise ValueError("require_confirmation: give the gate confirm=True instead")
    gate = _Gate(client, inner, describe, run_id, confirm, options)

    async def run_async(_self: Any, *, args: dict[str, Any], tool_context: Any) -> Any:
        return await gate.run(args, tool_context)

    def declare(_self: Any) -> Any:
        return inner._get_declaration()

    made = type("CountersignGate", (tools.BaseTool,), {"run_async": run_async, "_get_declaration": declare})
    return made(name=inner.name, description=inner.description, is_long_running=inner.is_long_running)


class _ToolError(Exception):
    """ADK's tools answer their errors."""

    def __init__(self, answer: Any) -> None:
        super().__init__("the tool answered an error")
        self.answer = answer


class _Gate:
    def __init__(
        self,
        client: AsyncCountersign,
        tool: Any,
        describe: Describe,
        run_id: RunId | None,
        confirm: bool,
        options: GateOptions,
    ) -> None:
        self._client, self._tool, self._describe = client, tool, describe
        self._run_id, self._confirm = run_id, confirm
        self._options: GateOptions = {**options, "wait": False} if confirm else options
        function = getattr(tool, "func", None)
        self._defaults = read_defaults(function)
        # ADK itself checks only that nothing is missing.
        if function is not None:
            self._options = {"schema": functools.partial(check_by_hints, function), **self._options}

    async def run(self, args: dict[str, Any], context: Any) -> Any:
        # The human sees what the function gets: its defaults too.
        inputs = {**self._defaults, **args}
        ids = {"run_id": self._read_run_id(context), "call_id": require_call_id(context.function_call_id)}
        request = self._describe(inputs) if callable(self._describe) else self._describe
        if self._confirm:
            asked = await self._client.ask(request, inputs, **ids, **self._options)
            if asked["status"] == "pending":
                return _request_confirmation(asked, context)

        async def run(copy: dict[str, Any], _approval: Approval) -> Any:
            answer = await self._tool.run_async(args=copy, tool_context=context)
            if "error" in (cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}):
                raise _ToolError(answer)
            return cast("Any", answer)

        try:
            return await run_or_refuse(self._client.gate(request, inputs, run, **ids, **self._options))
        except _ToolError as error:
            return error.answer

    def _read_run_id(self, context: Any) -> str:
        if self._run_id is None:
            return str(context.session.id)
        return self._run_id(context) if callable(self._run_id) else self._run_id


def _request_confirmation(asked: AuthorizationRequest, context: Any) -> dict[str, str]:
    summary = summary_of(asked)
    hint = f"A human decides at {summary['approval_url']} (code {summary['confirmation_code']})."
    context.request_confirmation(hint=hint, payload=summary)
    context.actions.skip_summarization = True
    return {"error": "Not run: no human has decided yet."}
