"""The signed snapshot of all records, with the row that counts this one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .._iso_time import parse_time
from .._json import JsonObject, is_object, parse_canonical
from ..errors import UnreadableError
from ._bytes import base64_decode, sha256
from ._logged import is_logged, read_logged
from ._note import leaf_hash, verify_inclusion
from ._outcome import Check, fail, not_run, passed, skip
from ._reading import decode_base64, is_count, require_index, require_object, require_text, require_texts
from ._record_pages import Entry, Page
from ._statement import AGENT_HEADS, STATEMENT_TYPE
from ._sum import ROW_BYTES, SumSource, check_sum, read_statement_list
from ._trust import Trust

_TAG_LABEL = b"countersign/agent-tag/v1\n"
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
        number = int.from_bytes(self.row[32:40], "big") if len(self.row) == ROW_BYTES else 0
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
    read_logged(statement)
    return _Snapshot(
        row=decode_base64(require_text(shown, "row"), "row"),
        row_index=require_index(shown, "row_index"),
        proof=[decode_base64(one, "inclusion_proof", 32) for one in require_texts(shown, "inclusion_proof")],
        salt=decode_base64(require_text(shown, "salt"), "snapshot.salt", 16),
        statement=statement,
    )


def parse_heads(payload: bytes) -> JsonObject | None:
    """The predicate of a snapshot's statement with the ``digest`` of its rows; None for other bytes."""
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
    return {**predicate, "digest": digest["sha256"]} if is_heads and is_object(digest) else None


def _read_heads(statement: JsonObject, trust: Trust) -> JsonObject | Check:
    """The statement under a trusted key, and its leaf under a trusted checkpoint, not before what it covers."""
    signed, log, origin = read_logged(statement)
    heads = parse_heads(signed.payload)
    if heads is None:
        return fail("snapshot_malformed")
    is_late = origin == heads["log_origin"] and log.index >= number_of(heads, "covers_size")
    return heads if is_logged(statement, trust) and is_late else fail("snapshot_unsigned")


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


def show_utc(iso: str) -> str:
    return re.sub(r"(?:\.\d+)?Z$", " UTC", iso.replace("T", " ", 1))


def check_snapshot(
    first: Page,
    entries: list[Entry],
    links: Sequence[bytes],
    trust: Trust,
    now: float | None,
    source: SumSource | None = None,
) -> dict[str, Check]:
    """Checks ``snapshot``, ``sum`` and ``counted``."""
    head = first.head[0]
    shown = read_snapshot(first)
    if shown is None:
        hidden = None if source is None else _find_hidden(entries, source, trust)
        if hidden is not None:
            return not_counted(hidden)
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
    miscounted = _find_miscounted(entries, heads, counted)
    if miscounted is not None:
        return not_counted(miscounted)
    words = f"number {counted} is in the snapshot of {show_utc(at)}, at {size} leaves"
    summed = skip("sum_not_run")
    if source is not None:
        statement, log, _ = read_logged(shown.statement)
        summed = check_sum(heads, statement, str(origin), log.index, source, trust)
    return {"snapshot": passed(words), "sum": summed, "counted": _check_head(head, counted, at, now)}


def _find_miscounted(entries: list[Entry], heads: JsonObject, counted: int) -> Check | None:
    """An entry that the snapshot should have counted and has not, or the other way round."""
    size, origin = number_of(heads, "covers_size"), heads["log_origin"]
    own = (entry for entry in entries if entry.log_origin == origin)
    wrong = next((one for one in own if (one.log_index < size) != (one.sequence <= counted)), None)
    return None if wrong is None else fail("snapshot_count_mismatch", counted=counted, number=wrong.sequence)


def _find_hidden(entries: list[Entry], source: SumSource, trust: Trust) -> Check | None:
    """The fault of a record that leaves out the snapshot which would show what is missing."""
    found = read_statement_list(source.statements)
    if isinstance(found, Check):
        return found
    newest = next((one for one in reversed(found) if one.kind == AGENT_HEADS), None)
    heads = None if newest is None else parse_heads(newest.statement.payload)
    if newest is None or heads is None:
        return None
    if newest.statement.find_signer(newest.origin, newest.index, trust) is None:
        return fail("snapshot_unsigned")
    return _find_miscounted(entries, heads, 0)


def not_counted(snapshot: Check) -> dict[str, Check]:
    return {"snapshot": snapshot, "sum": not_run(), "counted": not_run()}


def _check_head(head: int, counted: int, at: str, now: float | None) -> Check:
    """Checks that the newest signed count ends with the head, and is fresh."""
    if counted < head:
        return skip("record_tail_not_counted", counted=counted, number=head, time=show_utc(at))
    age = 0.0 if now is None else now - parse_time(at) / 1000
    if not -_AHEAD_SECONDS < age <= _FRESH_HOURS * 3600:
        return skip("count_not_fresh", time=show_utc(at), hours=_FRESH_HOURS)
    return passed(f"to number {head} of {head}, as of {show_utc(at)}")
