"""The signed snapshot of all records, with the row that counts this one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .._json import JsonObject, is_object, parse_canonical
from ..errors import UnreadableError
from ._bytes import base64_decode, sha256
from ._dsse import Envelope, dsse_key_id, leaf_of
from ._ed25519 import verify_strict
from ._iso_time import parse_time
from ._logged import check_log_entry
from ._note import leaf_hash, verify_inclusion
from ._outcome import Check, fail, not_run, passed, skip
from ._reading import decode_base64, is_count, require_index, require_object, require_text, require_texts
from ._receipt import LogEvidence, read_log_evidence
from ._record_pages import Entry, Page
from ._statement import AGENT_HEADS, STATEMENT_TYPE
from ._trust import Trust, TrustedKey

_TAG_LABEL = b"countersign/agent-tag/v1\n"
_ROW_BYTES = 72
_FRESH_HOURS = 2
_AHEAD_SECONDS = 300


@dataclass(frozen=True)
class _Snapshot:
    row: bytes
    row_index: int
    proof: list[bytes]
    salt: bytes
    statement: JsonObject

    @property
    def counted(self) -> int | None:
        number = int.from_bytes(self.row[32:40], "big") if len(self.row) == _ROW_BYTES else 0
        return number if number >= 1 and is_count(number) else None


def read_snapshot(page: Page) -> _Snapshot | None:
    if not page.has_snapshot:
        return None
    if not is_object(page.snapshot):
        raise UnreadableError("snapshot: expected an object")
    shown = page.snapshot
    address = r"https?://[^?#]+/log/(?:[0-9]+/)?agent-heads/[0-9]+"
    if re.fullmatch(address, require_text(shown, "rows_url")) is None:
        raise UnreadableError("rows_url: not the address of a snapshot")
    statement = require_object(shown, "statement")
    _read_statement(statement)
    return _Snapshot(
        row=decode_base64(require_text(shown, "row"), "row"),
        row_index=require_index(shown, "row_index"),
        proof=[decode_base64(one, "inclusion_proof", 32) for one in require_texts(shown, "inclusion_proof")],
        salt=decode_base64(require_text(shown, "salt"), "snapshot.salt", 16),
        statement=statement,
    )


def _read_statement(statement: JsonObject) -> tuple[bytes, LogEvidence, str]:
    """Its payload, its place in the log, and which log that is."""
    payload = require_text(statement, "payload").encode(errors="replace")
    decode_base64(require_text(statement, "signature"), "signature", 64)
    decode_base64(require_text(statement, "envelope_signature"), "envelope_signature", 64)
    require_text(statement, "key_id")
    log = require_object(statement, "log")
    return payload, read_log_evidence(log), require_text(log, "origin")


def _parse_heads(payload: bytes) -> JsonObject | None:
    """The predicate of a snapshot's statement; None for bytes that are not the canonical form of one."""
    statement = parse_canonical(payload)
    predicate = statement and statement.get("predicate")
    if statement is None or not is_object(predicate) or statement.get("_type") != STATEMENT_TYPE:
        return None
    counts = ("covers_size", "agents", "entries", "statements", "earlier_size")
    texts = ("log_origin", "root", "at", "signed_by")
    is_whole = all(is_count(predicate.get(name)) for name in counts)
    is_whole = is_whole and all(isinstance(predicate.get(name), str) for name in texts)
    subject = statement.get("subject")
    named = subject[0] if isinstance(subject, list) and len(subject) == 1 else None
    digest = named.get("digest") if is_object(named) and named.get("name") == "agent-heads" else None
    has_digest = is_object(digest) and isinstance(digest.get("sha256"), str)
    is_heads = statement.get("predicateType") == AGENT_HEADS and is_whole and has_digest
    return predicate if is_heads else None


def _find_signer(statement: JsonObject, payload: bytes, origin: str, index: int, trust: Trust) -> TrustedKey | None:
    """The trusted key that signs for this place of the log and has signed both forms."""
    signature = decode_base64(require_text(statement, "signature"), "signature", 64)
    key_id = require_text(statement, "key_id")
    fitting = (
        key
        for key in trust.keys
        if key.key_id == key_id and key.log_origin in (None, origin) and key.signs_for(index)
    )
    key = next(fitting, None)
    if key is None or not verify_strict(signature, payload, key.public_key):
        return None
    return key if _envelope_of(statement, payload, key).is_signed_by(key.public_key) else None


def _envelope_of(statement: JsonObject, payload: bytes, key: TrustedKey) -> Envelope:
    signature = decode_base64(require_text(statement, "envelope_signature"), "envelope_signature", 64)
    return Envelope(payload, signature, dsse_key_id(key.public_key))


def _read_heads(statement: JsonObject, trust: Trust) -> JsonObject | Check:
    """The statement under a trusted key, and its leaf under a trusted checkpoint, not before what it covers."""
    payload, evidence, origin = _read_statement(statement)
    heads = _parse_heads(payload)
    if heads is None:
        return fail("snapshot_malformed")
    key = _find_signer(statement, payload, origin, evidence.index, trust)
    checks, _, checkpoint = check_log_entry(evidence.index, evidence.entry, evidence.inclusion_proof, evidence.checkpoint, trust)
    is_signed = (
        key is not None
        and leaf_of(_envelope_of(statement, payload, key), key.public_key) == evidence.entry
        and all(check.status == "pass" for check in checks)
        and checkpoint is not None
        and checkpoint.origin == origin == heads["log_origin"]
        and checkpoint.size == evidence.tree_size
        and evidence.index >= number_of(heads, "covers_size")
    )
    return heads if is_signed else fail("snapshot_unsigned")


def number_of(value_of: JsonObject, name: str) -> int:
    value = value_of[name]
    return value if isinstance(value, int) else 0


def _check_row(shown: _Snapshot, heads: JsonObject, agent_id: str) -> Check | None:
    if shown.row[:32] != sha256(_TAG_LABEL, shown.salt, agent_id.encode()) or shown.counted is None:
        return fail("snapshot_malformed")
    try:
        root = base64_decode(str(heads["root"]))
    except ValueError:
        root = b""
    is_in = verify_inclusion(leaf_hash(shown.row), shown.row_index, number_of(heads, "agents"), shown.proof, root)
    return None if is_in else fail("snapshot_proof_invalid")


def _show(iso: str) -> str:
    return re.sub(r"(?:\.\d+)?Z$", " UTC", iso.replace("T", " ", 1))


def check_snapshot(first: Page, entries: list[Entry], links: Sequence[bytes], trust: Trust, now: float | None) -> dict[str, Check]:
    """Checks ``snapshot``, ``sum`` and ``counted``."""
    head = first.head[0]
    shown = read_snapshot(first)
    if shown is None:
        made = skip("snapshot_not_made")
        return {"snapshot": made, "sum": made, "counted": skip("record_not_counted", number=head)}
    heads = _read_heads(shown.statement, trust)
    broken = heads if isinstance(heads, Check) else _check_row(shown, heads, first.agent_id)
    if broken is not None or isinstance(heads, Check):
        return not_counted(broken or fail("snapshot_malformed"))
    counted = shown.counted or 0
    if counted >= len(links) or links[counted] != shown.row[40:]:
        return not_counted(fail("snapshot_mismatch", number=counted))
    size, origin, at = number_of(heads, "covers_size"), heads["log_origin"], str(heads["at"])
    own = (entry for entry in entries if entry.log_origin == origin)
    wrong = next((one for one in own if (one.log_index < size) != (one.sequence <= counted)), None)
    if wrong is not None:
        return not_counted(fail("snapshot_count_mismatch", counted=counted, number=wrong.sequence))
    words = f"number {counted} is in the snapshot of {_show(at)}, at {size} leaves"
    return {"snapshot": passed(words), "sum": skip("sum_not_run"), "counted": _check_head(head, counted, at, now)}


def not_counted(snapshot: Check) -> dict[str, Check]:
    return {"snapshot": snapshot, "sum": not_run(), "counted": not_run()}


def _check_head(head: int, counted: int, at: str, now: float | None) -> Check:
    """Checks that the newest signed count ends with the head, and is fresh."""
    if counted < head:
        return skip("record_tail_not_counted", counted=counted, number=head, time=_show(at))
    age = 0.0 if now is None else now - parse_time(at) / 1000
    if not -_AHEAD_SECONDS < age <= _FRESH_HOURS * 3600:
        return skip("count_not_fresh", time=_show(at), hours=_FRESH_HOURS)
    return passed(f"to number {head} of {head}, as of {_show(at)}")
