"""An interceptor for AGENT-HOOKS 0.1 (``agent-hooks-sdk``, Microsoft Agent Framework): a human approves exactly a tool's arguments
before it runs, and the run is attested after it.

.. code-block:: python

    emitter = InterceptionEmitter(timeout=None)
    emitter.register(ToolInterceptor(countersign, {"pay": describe}))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._async_client import AsyncCountersign
from ._decorate import Describe
from ._frameworks import RunId
from ._gate_options import GateOptions
from .claude_agent_sdk import ToolHooks

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ToolInterceptor"]


class ToolInterceptor:
    """The named tools run only through the gate; all others are allowed.

    The host ends an interceptor after five seconds, and denies then: give it ``timeout=None``, or more than ``timeout`` here
    (default: one hour). ``run_id``: default: the session's id.
    """

    def __init__(
        self,
        client: AsyncCountersign,
        tools: Mapping[str, Describe],
        *,
        run_id: RunId | None = None,
        **options: Unpack[GateOptions],
    ) -> None:
        self._hooks = ToolHooks(client, tools, run_id, options)

    async def intercept(self, context: dict[str, Any], /) -> dict[str, Any]:
        point = context["interception_point"]
        if point not in ("pre_tool_call", "post_tool_call"):
            return {"decision": "allow"}
        call = context["tool_call"]
        given = {
            "session_id": context["session"]["id"],
            "tool_name": call["name"],
            "tool_use_id": call["id"],
            "tool_input": call["args"],
        }
        if point == "post_tool_call":
            return await self._after(given, context["tool_result"])
        said = (await self._hooks.before(given, None, None)).get("hookSpecificOutput")
        if said is None or said["permissionDecision"] == "allow":
            return {"decision": "allow"}
        return {"decision": "deny", "reason": "countersign:not_approved", "message": said["permissionDecisionReason"]}

    async def _after(self, given: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        """Warns if the run isn't attested: it can't be denied any more, and the next call of a gated tool is."""
        name = "PostToolUseFailure" if result["is_error"] else "PostToolUse"
        ended = {**given, "hook_event_name": name, "tool_response": result["value"]}
        said = (await self._hooks.after(ended, None, None)).get("hookSpecificOutput")
        if said is None:
            return {"decision": "allow"}
        warning = {"reason": "countersign:not_attested", "message": said["additionalContext"]}
        return {"decision": "allow", "warnings": [warning]}
