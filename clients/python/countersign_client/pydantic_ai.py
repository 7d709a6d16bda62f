"""Tools of Pydantic AI. It keeps "approved" in messages and results, which a client can write: the tool asks the service itself.

.. code-block:: python

    @agent.tool
    @gate_tool(countersign, describe, run_id=lambda context: context.deps.thread)
    async def pay(context: RunContext[Deps], invoice: int, cents: int) -> str: ...
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ._async_client import AsyncCountersign
from ._decorate import Describe
from ._frameworks import RunId, gate_context_tool, summary_of
from ._gate_options import GateOptions
from ._wire import AuthorizationRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["gate_tool", "gate_tool_across_runs"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Awaitable[Any]]]


def gate_tool(
    client: AsyncCountersign, describe: Describe, *, run_id: RunId, **options: Unpack[GateOptions]
) -> Decorator:
    """Waits for the human inside the tool, in one run."""
    return gate_context_tool(client, describe, run_id, None, _with_pauses(options))


def gate_tool_across_runs(
    client: AsyncCountersign, describe: Describe, *, run_id: RunId, **options: Unpack[GateOptions]
) -> Decorator:
    """The run ends with ``DeferredToolRequests``, whose ``metadata`` has the link.

    Continue it after the decision with any ``DeferredToolResults``: what they say is not believed.
    """
    return gate_context_tool(client, describe, run_id, _defer, _with_pauses(options))


def _with_pauses(options: GateOptions) -> GateOptions:
    pydantic_ai = importlib.import_module("pydantic_ai")
    return {"pauses": (pydantic_ai.ApprovalRequired, pydantic_ai.CallDeferred), **options}


def _defer(asked: AuthorizationRequest) -> None:
    required = importlib.import_module("pydantic_ai").ApprovalRequired
    raise required(metadata=summary_of(asked))
