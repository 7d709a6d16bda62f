"""An instance that counts its attestations (docs/wire.md, Attest), so that one that never arrives shows in the next."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from ._wire import AttestRequest
from .errors import ApiError


class Counter:
    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._last: dict[str, int] = {}
        self._unanswered: dict[tuple[str, str], int] = {}

    @contextmanager
    def count(self, request: AttestRequest, key: str | None) -> Generator[AttestRequest]:
        """For one try. A call that is repeated under its key keeps its number until it is answered.

        A forked process counts under a name of its own, or each would give its parent's next numbers.
        """
        if os.getpid() != self._process:
            self._begin()
            self._instance += f"-{self._process}"
        agent = request["agent_slug"].lower()
        kept = None if key is None else self._unanswered.get((agent, key))
        sequence = self._last.get(agent, 0) + 1 if kept is None else kept
        self._last[agent] = max(sequence, self._last.get(agent, 0))
        if key is not None:
            self._unanswered[agent, key] = sequence
        counted = request.copy()
        counted["client"] = {"instance": self._instance, "sequence": sequence}
        try:
            yield counted
        except BaseException as error:
            if isinstance(error, ApiError) and not error.retryable:
                self._forget(agent, key)
            raise
        self._forget(agent, key)

    def _forget(self, agent: str, key: str | None) -> None:
        if key is not None:
            self._unanswered.pop((agent, key), None)
