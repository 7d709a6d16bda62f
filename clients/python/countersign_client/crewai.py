"""Tools of CrewAI. Its hooks fail open: whatever one of them raises but ``HookAborted`` lets the tool run. So the gate is
around the tool itself, and a hook refuses what isn't gated.

.. code-block:: python

    pay = gate_tool(countersign, pay, describe, run_id="run-7")
    refuse_ungated(pay)
    agent = Agent(role="payer", tools=[pay], …)
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._client import Countersign
from ._decorate import Describe
from ._frameworks import CallNumbers, words_of
from ._gate import Approval
from ._gate_options import GateOptions
from ._json import canonical_hash
from .errors import CountersignError, NotDecidedError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["gate_tool", "refuse_ungated"]

_log = logging.getLogger("countersign_client")


def gate_tool(
    client: Countersign,
    tool: Any,
    describe: Describe,
    *,
    run_id: str | Callable[[], str],
    **options: Unpack[GateOptions],
) -> Any:
    """A tool that runs ``tool`` only through the gate. CrewAI doesn't number its calls, so the gate numbers equal ones.

    ``run_id``: of this run of the crew; another in the next.
    """
    base = importlib.import_module("crewai.tools").BaseTool
    gate = _Gate(client, tool, describe, run_id, options)

    def _run(_self: Any, *_: Any, **given: Any) -> Any:
        return gate.run(given)

    made = type("CountersignGate", (base,), {"_run": _run, "__module__": __name__})
    return made(
        name=tool.name,
        description=tool.description,
        args_schema=tool.args_schema,
        result_as_answer=tool.result_as_answer,
        # A stored answer would pass for another run.
        cache_function=_never,
    )


def refuse_ungated(*gated: Any) -> Callable[[], None]:
    """Blocks calls of tools that have a gated one's name and aren't it, wherever in the process. Returns how to undo it."""
    hooks = importlib.import_module("crewai.hooks.dispatch")
    name_of = importlib.import_module("crewai.utilities.string_utils").sanitize_tool_name
    # Classes of their own: a crew may copy its agents and their tools.
    known: dict[str, Any] = {name_of(tool.name): type(tool) for tool in gated}

    def refuse(context: Any) -> None:
        try:
            kind = known.get(name_of(context.tool_name))
            is_refused = kind is not None and type(_original_of(context.tool)) is not kind
        except Exception as error:
            # CrewAI would take it for a broken hook, and run the tool.
            raise hooks.HookAborted(str(error), "countersign") from error
        if is_refused:
            raise hooks.HookAborted("The tool isn't gated.", "countersign")

    point = hooks.InterceptionPoint.PRE_TOOL_CALL
    hooks.register(point, refuse)
    return lambda: hooks.unregister(point, refuse) and None


def _original_of(tool: Any) -> Any:
    return getattr(tool, "_original_tool", tool)


def _never(*_: Any) -> bool:
    return False


class _Gate:
    def __init__(
        self,
        client: Countersign,
        tool: Any,
        describe: Describe,
        run_id: str | Callable[[], str],
        options: GateOptions,
    ) -> None:
        self._client, self._tool, self._describe = client, tool, describe
        self._run_id = run_id
        self._options: GateOptions = {"schema": tool.args_schema, **options}
        self._numbers = CallNumbers()

    def run(self, given: dict[str, Any]) -> Any:
        inputs = self._tool.args_schema.model_validate(given).model_dump(mode="json")
        request = self._describe(inputs) if callable(self._describe) else self._describe
        run_id = self._run_id() if callable(self._run_id) else self._run_id
        call = canonical_hash([run_id, inputs])
        number = self._numbers.take(call)

        def run(copy: dict[str, Any], _approval: Approval) -> Any:
            return self._tool.run(**copy)

        try:
            call_id = f"{self._tool.name}-{number}"
            return self._client.gate(request, inputs, run, run_id=run_id, call_id=call_id, **self._options).result
        except CountersignError as error:
            # CrewAI calls a tool that raises again.
            if isinstance(error, NotDecidedError):
                self._numbers.give_back(call, number)
            if (words := words_of(error)) is None:
                _log.exception("a gated tool")
                return f"Stop and report to your operator: {error}"
            return words
