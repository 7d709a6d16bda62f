"""Tools of the OpenAI Agents SDK. Its run state keeps "approved", and whoever stores the state can write it: the tool asks
the service itself.

.. code-block:: python

    gate = ToolGate(countersign, describe, run_id="thread-1")

    @function_tool
    @gate.tool
    async def pay(context: ToolContext[Any], invoice: int, cents: int) -> str: ...
"""

from __future__ import annotations

import functools
import importlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ._async_client import AsyncCountersign
from ._decorate import Describe, Target
from ._frameworks import gate_context_tool, require_call_id
from ._gate_options import GateOptions
from ._wire import AuthorizationRequest
from .errors import NotAttestedError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ToolGate"]

_log = logging.getLogger("countersign_client")


class ToolGate:
    """Gate of one tool, which waits for the human in one run.

    For runs that end while a human decides: ``wait=False`` here and ``needs_approval=True`` at ``function_tool``. Ask for
    each interruption of the result, and run the approved state after the decision. That it was approved there is not
    believed.
    """

    def __init__(
        self, client: AsyncCountersign, describe: Describe, *, run_id: str, **options: Unpack[GateOptions]
    ) -> None:
        self._client, self._describe, self._run_id, self._options = client, describe, run_id, options
        self._read: Callable[[str], dict[str, Any]] | None = None

    def tool(self, function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        """The function's first parameter is the SDK's ``ToolContext``."""
        target = Target(function, leave_out=1)
        gated = gate_context_tool(self._client, self._describe, self._run_id, None, self._options)(function)

        @functools.wraps(function)
        async def run_once(*args: Any, **kwargs: Any) -> Any:
            try:
                return await gated(*args, **kwargs)
            except NotAttestedError as error:
                # The SDK tells the model to try again after any exception of a tool.
                _log.exception("a gated tool ran and isn't attested")
                return str(error)

        # Arguments as the SDK reads them: validated, converted, with defaults.
        schema = importlib.import_module("agents.function_schema").function_schema(run_once, strict_json_schema=False)

        def read(arguments: str) -> dict[str, Any]:
            given = schema.params_pydantic_model(**json.loads(arguments or "{}"))
            args, kwargs = schema.to_call_args(given)
            return target.bind(None, *args, **kwargs).inputs

        self._read = read
        return run_once

    async def ask(self, interruption: Any) -> AuthorizationRequest:
        """Asks a human about an interruption of the run, once, and returns the link and the status of now.

        Raises ``pydantic.ValidationError`` for arguments that the SDK will refuse: nobody is asked about them.
        """
        if self._read is None:
            raise TypeError("a gate without a tool")
        call = interruption.raw_item
        inputs = self._read(call.arguments)
        request = self._describe(inputs) if callable(self._describe) else self._describe
        call_id = require_call_id(call.call_id)
        # The tool itself, once it runs, checks what an approver changed.
        options: GateOptions = {"schema": self._read_changed, **self._options}
        return await self._client.ask(request, inputs, run_id=self._run_id, call_id=call_id, **options)

    def _read_changed(self, inputs: dict[str, Any]) -> None:
        if self._read is not None:
            self._read(json.dumps(inputs))
