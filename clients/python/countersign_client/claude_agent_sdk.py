"""Tools of the Claude Agent SDK, its built-in ones too. ``can_use_tool`` isn't called for tools that are allowed anyway, so
the gate is in the hooks: before a tool runs a human approves exactly its input, and after it the run is attested.

.. code-block:: python

    options = ClaudeAgentOptions(hooks=gate_hooks(countersign, {"Bash": describe}))
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._async_client import AsyncCountersign
from ._decorate import Describe
from ._outcome import Outcome, read_outcome
from ._facts import describe_unasked
from ._frameworks import CallNumbers, RunId, require_call_id
from ._gate_options import GateOptions, Gating
from ._two_phase import Begun
from ._inputs import hash_inputs
from ._json import canonical_hash
from ._wire import AuthorizationState, AuthorizeRequest
from .errors import (
    ApprovalClaimedError,
    ApprovalUsedError,
    NotApprovedError,
    NotAttestedError,
    WaitTimeoutError,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["gate_hooks"]

_log = logging.getLogger("countersign_client")
_USUAL_TIMEOUT_SECONDS = 3600.0
_GRACE_SECONDS = 60.0
"""For what comes after the wait: Claude Code ends a hook that takes longer than its own timeout, and then blocks the tool."""


def gate_hooks(
    client: AsyncCountersign,
    tools: Mapping[str, Describe],
    *,
    run_id: RunId | None = None,
    **options: Unpack[GateOptions],
) -> dict[str, list[Any]]:
    """The ``hooks`` of ``ClaudeAgentOptions``: the named tools (``Bash``, ``mcp__bank__pay``) run only through the gate.

    ``run_id``: default: the session's id, which a resumed session keeps. ``timeout``: default: one hour. For runs that end
    while a human decides: ``wait=False``. The call is refused then, and an equal one runs after the decision. Hooks of yours
    must not answer ``defer``: a resumed session runs a deferred call before it has its hooks, this gate's too.
    """
    matcher = importlib.import_module("claude_agent_sdk").HookMatcher
    # Claude Code checks what a hook changes by the tool's own schema.
    gate = ToolHooks(client, tools, run_id, {"schema": _leave_to_agent, **options}, takes_changes=True)
    limit = gate.timeout + _GRACE_SECONDS
    # For every tool: a pattern that doesn't match as meant would let a tool pass. A hook that fails blocks.
    before = matcher(hooks=[gate.before], timeout=limit, on_failure="block")
    after = matcher(hooks=[gate.after], timeout=limit)
    return {"PreToolUse": [before], "PostToolUse": [after], "PostToolUseFailure": [after]}


class ToolHooks:
    """The two hooks of an agent, in this process; ``agent_hooks`` has them in another form."""

    def __init__(
        self,
        client: AsyncCountersign,
        tools: Mapping[str, Describe],
        run_id: RunId | None,
        options: GateOptions,
        *,
        takes_changes: bool = False,
    ) -> None:
        self._client, self._tools, self._run_id, self._takes_changes = client, dict(tools), run_id, takes_changes
        timeout = options.get("timeout")
        self.timeout = _USUAL_TIMEOUT_SECONDS if timeout is None else timeout
        self._options: GateOptions = {**options, "timeout": self.timeout}
        self._numbers = CallNumbers()
        self._begun: dict[str, Begun] = {}
        self._unattested: list[tuple[Begun, Any, Outcome]] = []

    async def before(self, given: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        describe = self._tools.get(given["tool_name"])
        if describe is None:
            return {}
        try:
            await self._attest_left()
            call_id, inputs = require_call_id(given["tool_use_id"]), given["tool_input"]
            request = describe(inputs) if callable(describe) else describe
            if request.get("amendable") and not self._takes_changes:
                raise TypeError("amendable: the interceptor isn't given the tool's schema, which changed arguments have to fit")
            begun = await self._begin(given, call_id, request, inputs)
        except WaitTimeoutError:
            return _decide("deny", "Not run: no human decided in time. Stop and report to your operator.")
        except Exception as error:  # noqa: BLE001
            return _decide("deny", str(error) or type(error).__name__)
        self._begun[call_id] = begun
        return {**_decide("allow", _why_allowed(begun.authorization), begun.copy)}

    async def _begin(self, given: Any, call_id: str, request: AuthorizeRequest, inputs: Any) -> Begun:
        run_id = self._read_run_id(given)
        if self._options.get("wait", True):
            return await self._client.begin(request, Gating(run_id, call_id, self._options), inputs)
        # In a resumed session the model calls again, under another id: it means the first equal call that hasn't run.
        call = canonical_hash([run_id, given["tool_name"], hash_inputs(inputs)])
        options: GateOptions = {**self._options, "asks_again": False}
        while True:
            number = self._numbers.take(call)
            try:
                gating = Gating(run_id, f"equal-{number}", options)
                return await self._client.begin(request, gating, inputs)
            except (ApprovalUsedError, ApprovalClaimedError):
                continue
            except BaseException as error:
                if isinstance(error, NotApprovedError) and error.status != "denied":
                    continue
                self._numbers.give_back(call, number)
                raise

    async def after(self, given: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        begun = self._begun.pop(given["tool_use_id"], None)
        if begun is None:
            return {}
        self._unattested.append((begun, given["tool_input"], _read_outcome(given)))
        try:
            await self._attest_left()
        except NotAttestedError as error:
            _log.exception("a gated tool ran and isn't attested")
            said = {"hookEventName": given["hook_event_name"], "additionalContext": str(error)}
            return {"hookSpecificOutput": said}
        return {}

    async def _attest_left(self) -> None:
        """Before anything else runs, what ran is attested."""
        while self._unattested:
            begun, inputs, outcome = self._unattested[0]
            try:
                await self._client.end(begun, inputs, outcome)
            except Exception as error:
                raise NotAttestedError(begun.authorization["request_id"], None) from error
            # Another hook may have attested it meanwhile, under the same key.
            self._unattested = [left for left in self._unattested if left[0] is not begun]

    def _read_run_id(self, given: Any) -> str:
        if self._run_id is None:
            return require_call_id(given["session_id"])
        return self._run_id(given) if callable(self._run_id) else self._run_id


def _decide(decision: str, reason: str, updated_input: Any = None) -> dict[str, Any]:
    said = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": said if updated_input is None else {**said, "updatedInput": updated_input}}


def _leave_to_agent(_changed: Any) -> None: ...


def _why_allowed(authorization: AuthorizationState) -> str:
    """Rules, standing approvals and tests are never called a human's approval."""
    is_test = authorization["environment"] != "production"
    by = authorization.get("decided_by")
    unasked = None if by is None else describe_unasked(by)
    if unasked is not None:
        sentence = unasked if unasked.endswith(".") else f"{unasked}."
        return f"{sentence} This is a TEST instance." if is_test else sentence
    is_changed = authorization.get("amends") is not None
    if is_test:
        return f"A TEST approval, not a real person's, of {'the call as changed' if is_changed else 'exactly this call'}."
    if is_changed:
        return "A human changed the call, and approved what runs."
    return "A human approved exactly this call."


def _read_outcome(given: Any) -> Outcome:
    if given["hook_event_name"] == "PostToolUseFailure":
        return "unknown" if given.get("is_interrupt") is True else "failed"
    answer: Any = given.get("tool_response")
    if isinstance(answer, dict):
        # The tool goes on in the background.
        if answer.get("backgroundTaskId"):  # pyright: ignore
            return "started"
        if answer.get("interrupted") is True:  # pyright: ignore
            return "unknown"
    return read_outcome(given.get("tool_response"))
