"""All checkpoints in an evidence pack: each signed by its log, and each log the same, only larger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .._json import Json, JsonObject, is_list, is_object
from ._bytes import base64_decode, sha256
from ._dsse import require_string
from ._note import verify_checkpoint
from ._outcome import Check, counted, fail, passed
from ._trust import Trust


def verify_consistency(old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """RFC 9162, 2.1.4.2: that the tree of ``size`` begins with that of ``old_size``."""
    if not 0 <= old_size <= size or any(len(one) != 32 for one in proof):
        return False
    if old_size == size or old_size == 0:
        return not proof and (old_root == root if old_size == size else old_root == sha256())
    first, last = old_size - 1, size - 1
    while first % 2:
        first, last = first >> 1, last >> 1
    # A whole subtree of the old tree's size is its own first node.
    nodes = list(proof) if first else [old_root, *proof]
    if not nodes:
        return False
    old = new = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if first % 2 or first == last:
            old, new = sha256(b"\1", node, old), sha256(b"\1", node, new)
            while first and not first % 2:
                first, last = first >> 1, last >> 1
        else:
            new = sha256(b"\1", new, node)
        first, last = first >> 1, last >> 1
    return (old, new, last) == (old_root, root, 0)


@dataclass
class Checkpoints:
    trust: Trust
    _notes: set[str] = field(default_factory=set[str])
    _logs: dict[str, dict[int, bytes]] = field(default_factory=dict[str, dict[int, bytes]])
    """Origin → size → root."""

    def add(self, file: str, notes: Sequence[str]) -> Check | None:
        """The fault of the first that is none of this log."""
        for note in notes:
            if note in self._notes:
                continue
            self._notes.add(note)
            signed = verify_checkpoint(note, self.trust.choose_log_key(note))
            if isinstance(signed, Check):
                return fail("checkpoint_invalid", file=file, problem=signed.detail)
            found = signed.checkpoint
            if self._logs.setdefault(found.origin, {}).setdefault(found.size, found.root) != found.root:
                return fail("checkpoints_differ", origin=found.origin, size=found.size)
        return None

    def judge(self, given: JsonObject) -> Check:
        """``given``: log.json, which has a proof from each size to the next."""
        listed = given.get("consistency")
        proofs = dict[tuple[Json, Json, Json], Json]()
        for one in listed if is_list(listed) else []:
            if is_object(one) and not any(isinstance(one.get(name), (list, dict, bool)) for name in ("origin", "from", "to")):
                proofs[one.get("origin"), one.get("from"), one.get("to")] = one.get("proof")
        for origin, roots in self._logs.items():
            sizes = sorted(roots)
            for old, size in zip(sizes, sizes[1:], strict=False):
                proof = _read_proof(proofs.get((origin, old, size)))
                if proof is None or not verify_consistency(old, roots[old], size, roots[size], proof):
                    return fail("consistency_unproven", **{"origin": origin, "from": old, "to": size})
        count = sum(map(len, self._logs.values()))
        return passed(f"{counted(count, 'checkpoint')} of {counted(len(self._logs), 'log')}, each extends the one before")


def _read_proof(shown: Json) -> list[bytes] | None:
    try:
        return [base64_decode(require_string(one)) for one in shown] if is_list(shown) else None
    except ValueError:
        return None
