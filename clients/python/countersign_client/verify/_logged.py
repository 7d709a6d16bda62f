"""A leaf with its proof and checkpoint against the trusted keys, which every kind of evidence has in common, and the
service's statements, each signed twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._json import JsonObject
from ._dsse import Envelope, Leaf, dsse_key_id, leaf_of, parse_leaf
from ._ed25519 import verify_strict
from ._note import Checkpoint, leaf_hash, verify_checkpoint, verify_inclusion
from ._outcome import Check, fail, passed
from ._reading import decode_base64, require_object, require_text
from ._receipt import LogEvidence, read_log_evidence
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


@dataclass(frozen=True)
class Statement:
    payload: bytes
    signature: bytes
    envelope_signature: bytes
    key_id: str

    def _envelope(self, key: TrustedKey) -> Envelope:
        return Envelope(self.payload, self.envelope_signature, dsse_key_id(key.public_key))

    def is_signed_by(self, key: TrustedKey) -> bool:
        """Both forms."""
        is_signed = verify_strict(self.signature, self.payload, key.public_key)
        return is_signed and self._envelope(key).is_signed_by(key.public_key)

    def leaf(self, key: TrustedKey) -> bytes:
        return leaf_of(self._envelope(key), key.public_key)

    def find_maker(self, trust: Trust) -> TrustedKey | None:
        """The service's key, even if it was revoked since: enough to count the statement, not to believe it."""
        own = (key for key in trust.keys if key.key_id == self.key_id)
        return next((key for key in own if self.is_signed_by(key)), None)

    def find_signer(self, origin: str, index: int, trust: Trust) -> TrustedKey | None:
        """The trusted key that signs for this place of the log."""
        own = (key for key in trust.keys if key.key_id == self.key_id and key.log_origin in (None, origin))
        key = next((key for key in own if key.signs_for(index)), None)
        return key if key is not None and self.is_signed_by(key) else None


def read_statement(given: JsonObject) -> Statement:
    return Statement(
        require_text(given, "payload").encode(errors="replace"),
        decode_base64(require_text(given, "signature"), "signature", 64),
        decode_base64(require_text(given, "envelope_signature"), "envelope_signature", 64),
        require_text(given, "key_id"),
    )


def read_logged(given: JsonObject) -> tuple[Statement, LogEvidence, str]:
    """A statement, its place in the log, and which log that is."""
    log = require_object(given, "log")
    return read_statement(given), read_log_evidence(log), require_text(log, "origin")


def is_logged(given: JsonObject, trust: Trust) -> bool:
    """Signed by a trusted key, and its leaf under a trusted checkpoint of the log that it names."""
    statement, log, origin = read_logged(given)
    key = statement.find_signer(origin, log.index, trust)
    checks, _, checkpoint = check_log_entry(log.index, log.entry, log.inclusion_proof, log.checkpoint, trust)
    return (
        key is not None
        and statement.leaf(key) == log.entry
        and all(check.status == "pass" for check in checks)
        and checkpoint is not None
        and (checkpoint.origin, checkpoint.size) == (origin, log.tree_size)
    )
