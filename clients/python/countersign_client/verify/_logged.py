"""A leaf with its proof and checkpoint against the trusted keys: what every kind of evidence has in common."""

from __future__ import annotations

from collections.abc import Sequence

from ._dsse import Leaf, parse_leaf
from ._note import Checkpoint, leaf_hash, verify_checkpoint, verify_inclusion
from ._outcome import Check, fail, passed
from ._trust import Trust, TrustedKey


def check_log_entry(
    index: int, entry: bytes, proof: Sequence[bytes], checkpoint: str, trust: Trust
) -> tuple[list[Check], Leaf | None, Checkpoint | None]:
    """Checks ``checkpoint_signature``, ``log_inclusion`` and ``entry_key``; leaf and checkpoint if they are such."""
    signed = verify_checkpoint(checkpoint, trust.choose_log_key(checkpoint))
    found = None if isinstance(signed, Check) else signed.checkpoint
    is_in = found is not None and verify_inclusion(leaf_hash(entry), index, found.size, proof, found.root)
    try:
        leaf = parse_leaf(entry)
    except ValueError:
        leaf = None
    key = None if leaf is None else _find_key(leaf, index, "" if found is None else found.origin, trust)
    key_words = "" if key is None else f"the entry names key {key.key_id}, which signs for this index"
    checks = [
        (signed if isinstance(signed, Check) else passed("the log's key signed the checkpoint")).named("checkpoint_signature"),
        (passed(f"leaf {index}") if is_in else fail("inclusion_proof_invalid")).named("log_inclusion"),
        (passed(key_words) if key else fail("entry_key_unknown")).named("entry_key"),
    ]
    return checks, leaf, found


def _find_key(leaf: Leaf, index: int, origin: str, trust: Trust) -> TrustedKey | None:
    for key in trust.keys:
        if key.public_key == leaf.public_key and key.log_origin in (None, origin) and key.signs_for(index):
            return key
    return None
