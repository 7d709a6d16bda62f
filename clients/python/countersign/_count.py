"""An instance that counts its attestations (docs/wire.md, Attest), so that one that never arrives shows in the next."""

from __future__ import annotations

from ._wire import AttestRequest


class Counter:
    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._last: dict[str, int] = {}

    def count(self, request: AttestRequest) -> AttestRequest:
        agent = request["agent_slug"].lower()
        sequence = self._last.get(agent, 0) + 1
        self._last[agent] = sequence
        counted = request.copy()
        counted["client"] = {"instance": self._instance, "sequence": sequence}
        return counted
